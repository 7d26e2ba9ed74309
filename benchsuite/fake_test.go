package benchsuite

import (
	"context"
	"time"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	_ "github.com/likbench/likbench/backend/kernels"
)

// fake is a backend in Go memory whose variants of topk behave in stated ways. Its clock
// moves only by the cost of launches.
type fake struct {
	variants []string // of topk; what a name does is in stream.Launch
	info     backend.Info
	clock    *steps
	launched func(variant string)
	traffic  error // what NewTraffic answers
	moved    int64 // bytes of plain moves
}

func newFake(variants ...string) *fake {
	return &fake{variants: variants, clock: &steps{step: 100 * time.Nanosecond, read: 20 * time.Nanosecond},
		info: backend.Info{Backend: "fake", Name: "fake device", Memory: 1 << 30, Units: 1, Cache: 1 << 10}}
}

func (f *fake) Name() string                                        { return "fake" }
func (f *fake) Probe() ([]backend.Info, error)                      { return []backend.Info{f.info}, nil }
func (f *fake) Open(int, ...backend.Option) (backend.Device, error) { return &fakeDevice{f}, nil }

func (f *fake) Bindings() []backend.Binding {
	var out []backend.Binding
	for _, v := range f.variants {
		b := backend.Binding{Kernel: "topk", Variant: v}
		if v == "refusing" {
			b.Accept = func(*backend.Call) error {
				return &backend.UnsupportedError{Backend: "fake", Kernel: "topk", Variant: v, Reason: "not today"}
			}
		}
		out = append(out, b)
	}
	return out
}

type fakeDevice struct{ f *fake }

func (d *fakeDevice) Backend() backend.Backend           { return d.f }
func (d *fakeDevice) Info() backend.Info                 { return d.f.info }
func (d *fakeDevice) NewStream() (backend.Stream, error) { return &fakeStream{d: d}, nil }
func (d *fakeDevice) Memory() backend.MemoryStats        { return backend.MemoryStats{} }
func (d *fakeDevice) Close() error                       { return nil }

func (d *fakeDevice) Alloc(n int64) (backend.Buffer, error) {
	return &fakeBuffer{d: d, b: make([]byte, n)}, nil
}

func (d *fakeDevice) Load(instance, variant string) (backend.Program, error) {
	return fakeProgram{instance, variant}, nil
}

// NewTraffic makes plain moves that take half a launch.
func (d *fakeDevice) NewTraffic(_ backend.Stream, read, write int64, _ int) (backend.Traffic, error) {
	return fakeTraffic{d.f, read + write}, d.f.traffic
}

// Ceilings make every row bound by reading.
func (d *fakeDevice) Ceilings(context.Context) ([]backend.Ceiling, error) {
	return []backend.Ceiling{{Name: "read", Unit: "B/s", Value: 1e9}}, nil
}

type fakeTraffic struct {
	f     *fake
	bytes int64
}

func (t fakeTraffic) Close() error { return nil }
func (t fakeTraffic) Launch() error {
	t.f.clock.now += launchCost / 2
	t.f.moved += t.bytes
	return nil
}

type fakeProgram struct{ instance, variant string }

func (p fakeProgram) Kernel() string                { return p.instance }
func (p fakeProgram) Variant() string               { return p.variant }
func (p fakeProgram) Workspace(*backend.Call) int64 { return 0 }

type fakeBuffer struct {
	d       *fakeDevice
	b       []byte
	written bool // uploaded to since the last launch that used it as last operand
}

func (b *fakeBuffer) Len() int64             { return int64(len(b.b)) }
func (b *fakeBuffer) Device() backend.Device { return b.d }
func (b *fakeBuffer) Free() error            { return nil }

type fakeStream struct{ d *fakeDevice }

func (s *fakeStream) Device() backend.Device { return s.d }

func (s *fakeStream) Upload(dst backend.Buffer, off int64, src []byte) error {
	b := dst.(*fakeBuffer)
	copy(b.b[off:], src)
	b.written = true
	return nil
}

func (s *fakeStream) Download(dst []byte, src backend.Buffer, off int64) error {
	copy(dst, src.(*fakeBuffer).b[off:])
	return nil
}

func (s *fakeStream) Copy(dst backend.Buffer, dstOff int64, src backend.Buffer, srcOff, n int64) error {
	copy(dst.(*fakeBuffer).b[dstOff:], src.(*fakeBuffer).b[srcOff:srcOff+n])
	return nil
}

// launchCost is the time of a fake launch.
const launchCost = 9 * time.Microsecond

// Launch passes time, and runs the reference where the outputs were overwritten.
func (s *fakeStream) Launch(p backend.Program, c *backend.Call) error {
	f := s.d.f
	if f.launched != nil {
		f.launched(p.Variant())
	}
	f.clock.now += launchCost
	last := &c.Operands[c.NOperand-1]
	index := last.Buf.(*fakeBuffer)
	if p.Variant() == "silent" || !index.written {
		return nil
	}
	k, _ := kernel.Find(p.Kernel())
	r := kernel.NewRef(k, kernel.StreamMemory(s))
	if err := k.Reference(r, c.Args); err != nil {
		return err
	}
	if p.Variant() == "broken" {
		index.b[last.Off] ^= 1
	}
	index.written = false
	return r.Err()
}

func (s *fakeStream) Record() (backend.Event, error) { return fakeEvent(s.d.f.clock.now), nil }
func (s *fakeStream) Wait(backend.Event) error       { return nil }
func (s *fakeStream) Sync() error                    { return nil }
func (s *fakeStream) Close() error                   { return nil }

type fakeEvent time.Duration

func (e fakeEvent) Elapsed(since backend.Event) (time.Duration, error) {
	return time.Duration(e - since.(fakeEvent)), nil
}
func (e fakeEvent) Close() error { return nil }

// steps is a clock that shows time in whole steps. Reading it takes time too.
type steps struct {
	now, step, read time.Duration
}

func (c *steps) Now() time.Duration {
	c.now += c.read
	return c.now / c.step * c.step
}
