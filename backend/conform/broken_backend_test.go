package conform

import (
	"errors"
	"time"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// broken is the reference with one fault: two variants of one class of each instance.
type broken struct{ fault string }

func (b *broken) Name() string { return "broken" }

func (b *broken) Bindings() []backend.Binding {
	if b.fault == "no bindings" {
		return nil
	}
	var out []backend.Binding
	for _, in := range toy.Instances() {
		for _, v := range []string{"first", "second"} {
			x := backend.Binding{Kernel: in.Name, Variant: v, Class: "one", Tile: map[string]int64{"n": 4}}
			if b.fault == "accepts nothing" {
				x.Accept = func(*backend.Call) error {
					return &backend.UnsupportedError{Backend: "broken", Kernel: in.Name, Variant: v, Reason: "never"}
				}
			}
			out = append(out, x)
		}
	}
	return out
}

func (b *broken) Probe() ([]backend.Info, error) { return []backend.Info{{Backend: "broken"}}, nil }

func (b *broken) Open(ordinal int, opts ...backend.Option) (backend.Device, error) {
	if b.fault == "no device" {
		return nil, &backend.UnavailableError{Backend: "broken", Reason: "unplugged"}
	}
	if b.fault == "budget" {
		opts = append(opts, backend.WithBudget(0))
	}
	if b.fault == "used budget" {
		opts = append(opts, func(c *backend.OpenConfig) { c.Budget = max(c.Budget, 0) })
	}
	d, err := inner.Open(ordinal, opts...)
	if err != nil {
		return nil, err
	}
	return &brokenDevice{Device: d, b: b}, nil
}

type brokenDevice struct {
	backend.Device
	b      *broken
	closed bool
	runs   int
	lastY  *brokenBuffer // of the last launch
}

// has reports whether the fault is present.
func (d *brokenDevice) has(fault string) bool { return d.b.fault == fault }

func (d *brokenDevice) Backend() backend.Backend { return d.b }

func (d *brokenDevice) Memory() backend.MemoryStats {
	m := d.Device.Memory()
	if d.has("live") {
		m.Live = 0
	}
	if d.has("scratch leak") && d.runs > 0 {
		m.Live += 64
	}
	return m
}

func (d *brokenDevice) PeakScope() func() int64 {
	end := d.Device.(backend.PeakScoper).PeakScope()
	return func() int64 {
		n := end()
		if d.has("peak") {
			n--
		}
		return n
	}
}

func (d *brokenDevice) Alloc(n int64) (backend.Buffer, error) {
	switch {
	case n < 0 && d.has("negative alloc"):
		n = 0
	case n > 1<<40 && d.has("huge alloc"):
		return nil, errors.New("too much")
	case d.closed && d.has("closed alloc"):
		return nil, errors.New("whatever")
	}
	b, err := d.Device.Alloc(n)
	if err != nil {
		var a *backend.AllocError
		if errors.As(err, &a) {
			a.Backend = "broken"
		}
		return nil, err
	}
	return &brokenBuffer{Buffer: b, d: d}, nil
}

func (d *brokenDevice) NewStream() (backend.Stream, error) {
	s, err := d.Device.NewStream()
	return &brokenStream{Stream: s, d: d}, err
}

func (d *brokenDevice) Load(instance, variant string) (backend.Program, error) {
	for _, b := range d.b.Bindings() {
		if b.Kernel == instance && b.Variant == variant && !d.has("load") {
			return &brokenProgram{instance, variant}, nil
		}
	}
	if d.has("load") || d.has("unknown kernel") {
		return nil, errors.New("cannot load")
	}
	return nil, &backend.UnsupportedError{Backend: "broken", Kernel: instance, Variant: variant, Reason: "not compiled in"}
}

func (d *brokenDevice) Close() error {
	if d.closed && d.has("closed device") {
		return nil
	}
	d.closed = true
	err := d.Device.Close()
	if d.has("leak") && !errors.Is(err, backend.ErrClosed) {
		return nil
	}
	return err
}

type brokenProgram struct{ instance, variant string }

func (p *brokenProgram) Kernel() string                { return p.instance }
func (p *brokenProgram) Variant() string               { return p.variant }
func (p *brokenProgram) Workspace(*backend.Call) int64 { return 0 }

type brokenBuffer struct {
	backend.Buffer
	d *brokenDevice
}

func (b *brokenBuffer) Device() backend.Device { return b.d }

func (b *brokenBuffer) Len() int64 {
	if b.d.has("alloc length") {
		return b.Buffer.Len() + 1
	}
	return b.Buffer.Len()
}

func (b *brokenBuffer) Free() error {
	err := b.Buffer.Free()
	if errors.Is(err, backend.ErrClosed) && b.d.has("double free") {
		return nil
	}
	return err
}

type brokenStream struct {
	backend.Stream
	d         *brokenDevice
	fault     error
	capturing bool
	closed    bool
	graph     *brokenGraph
}

func (s *brokenStream) Device() backend.Device { return s.d }

// excuse hides errors that a fault does not report.
func (s *brokenStream) excuse(err error) error {
	if errors.Is(err, backend.ErrArgument) && s.d.has("range") || errors.Is(err, backend.ErrClosed) && !s.closed && s.d.has("freed") {
		return nil
	}
	return err
}

func (s *brokenStream) Upload(dst backend.Buffer, off int64, src []byte) error {
	if s.d.has("event order") && len(src) == 1<<16 {
		src = src[1:]
	}
	return s.excuse(s.Stream.Upload(dst.(*brokenBuffer).Buffer, off, src))
}

func (s *brokenStream) Download(dst []byte, src backend.Buffer, off int64) error {
	return s.excuse(s.Stream.Download(dst, src.(*brokenBuffer).Buffer, off))
}

func (s *brokenStream) Copy(dst backend.Buffer, dstOff int64, src backend.Buffer, srcOff, n int64) error {
	if s.d.has("copy") && n > 1 {
		srcOff--
	}
	err := s.Stream.Copy(dst.(*brokenBuffer).Buffer, dstOff, src.(*brokenBuffer).Buffer, srcOff, n)
	if dst == src && s.d.has("overlap") {
		return nil
	}
	return s.excuse(err)
}

func (s *brokenStream) Record() (backend.Event, error) {
	e, err := s.Stream.Record()
	return &brokenEvent{e, s.d}, err
}

func (s *brokenStream) Wait(e backend.Event) error {
	err := s.Stream.Wait(e.(*brokenEvent).Event)
	if errors.Is(err, backend.ErrClosed) && s.d.has("closed event") || errors.Is(err, backend.ErrArgument) && s.d.has("foreign event") {
		return nil
	}
	return err
}

func (s *brokenStream) Sync() error {
	if s.capturing {
		if s.d.has("graph capture") {
			return nil
		}
		return backend.ErrCapturing
	}
	err := s.Stream.Sync()
	if s.closed && s.d.has("closed stream") || s.d.closed && s.d.has("stream of a closed device") {
		return nil
	}
	if err == nil {
		err, s.fault = s.fault, nil
	}
	return err
}

func (s *brokenStream) Close() error {
	s.closed = true
	return s.Stream.Close()
}

type brokenEvent struct {
	backend.Event
	d *brokenDevice
}

func (e *brokenEvent) Elapsed(since backend.Event) (time.Duration, error) {
	t, err := e.Event.Elapsed(since.(*brokenEvent).Event)
	if e.d.has("clock") {
		return -1, err
	}
	return t, err
}

// Capture records the operand structs of launches.
func (s *brokenStream) Capture(record func() error) (backend.Graph, error) {
	s.capturing, s.graph = true, &brokenGraph{}
	defer func() { s.capturing, s.graph = false, nil }()
	g := s.graph
	if err := record(); err != nil {
		return nil, err
	}
	return g, nil
}

type brokenGraph struct{ args []any }

func (g *brokenGraph) Replay(s backend.Stream) error {
	st := s.(*brokenStream)
	for _, a := range g.args {
		if st.d.has("graph") {
			continue
		}
		if err := st.run("first", a); err != nil {
			return err
		}
	}
	return nil
}

func (g *brokenGraph) Close() error { return nil }

func (s *brokenStream) Launch(p backend.Program, c *backend.Call) error {
	if s.graph != nil {
		s.graph.args = append(s.graph.args, toy.CloneArgs(c.Args))
		return nil
	}
	return s.run(p.Variant(), c.Args)
}

// run is the reference and then the fault.
func (s *brokenStream) run(variant string, args any) error {
	a := args.(*toyArgs)
	r := kernel.NewRef(toy, kernel.StreamMemory(s))
	if !s.d.has("unwritten") {
		if err := errors.Join(toy.Reference(r, a), r.Err()); err != nil {
			if errors.Is(err, backend.ErrClosed) && s.d.has("freed operand") {
				return nil
			}
			return err
		}
	}
	s.status(r.Status())
	s.d.runs++
	return s.spoil(variant, a)
}

func (s *brokenStream) status(word uint64) {
	offsets := word>>60 == kernel.FaultOffsets
	switch {
	case s.d.has("spurious status") && word == 0:
		word = kernel.StatusWord(1, 0, 0, 0)
	case s.d.has("status element") && word != 0:
		word--
	case s.d.has("status") && !offsets || s.d.has("offsets status") && offsets:
		word = 0
	}
	if word != 0 {
		s.fault = kernel.StatusError(toy, word)
	}
}

// spoil changes memory as the fault says.
func (s *brokenStream) spoil(variant string, a *toyArgs) error {
	if a.Y.Bytes() == 0 {
		return nil
	}
	nudge := func(v *backend.View, ulps byte) error { // the last bits of the first element
		raw := make([]byte, 1)
		if err := s.Download(raw, v.Buf, v.Off); err != nil {
			return err
		}
		raw[0] ^= ulps
		return s.Upload(v.Buf, v.Off, raw)
	}
	y := a.Y.Buf.(*brokenBuffer)
	other := s.d.lastY
	s.d.lastY = y
	switch {
	case s.d.has("element"):
		return s.Upload(a.Y.Buf, a.Y.Off+a.Y.DType.Size()-1, []byte{0x55})
	case s.d.has("guard"):
		return s.Upload(a.Y.Buf, a.Y.Off+a.Y.Bytes(), []byte{0x55})
	case s.d.has("input") && a.X.Buf != a.Y.Buf:
		return s.Upload(a.X.Buf, a.X.Off, []byte{0x55})
	case s.d.has("second run") && s.d.runs%2 == 0, s.d.has("class") && variant == "second", s.d.has("neighbours") && a.X.Dims[1] != 6:
		return nudge(&a.Y, 1)
	case s.d.has("streams") && other != nil && other != y && other.Len() == y.Len() && a.X.Dims[1] == 6 && other.Buffer.Len() > 64:
		raw := []byte{0x55}
		return s.excuseFreed(s.Upload(other, a.Y.Off+a.Y.DType.Size()-1, raw))
	}
	return nil
}

// excuseFreed ignores that the other buffer is gone.
func (s *brokenStream) excuseFreed(err error) error {
	if errors.Is(err, backend.ErrClosed) {
		return nil
	}
	return err
}
