package kernel

import (
	"errors"
	"time"

	"github.com/likbench/likbench/backend"
)

// The toy backend keeps operands in Go memory. Its programs do what the field run says,
// and it answers for as many variants as a test gives it.
type toy struct {
	bindings []backend.Binding
	features []string
}

func (b *toy) Name() string                { return "toy" }
func (b *toy) Bindings() []backend.Binding { return b.bindings }
func (b *toy) Probe() ([]backend.Info, error) {
	return []backend.Info{{Backend: "toy", Features: b.features}}, nil
}
func (b *toy) Open(int, ...backend.Option) (backend.Device, error) { return &toyDevice{b: b}, nil }

type toyDevice struct {
	b         *toy
	workspace int64
	loadErr   error
}

func (d *toyDevice) Backend() backend.Backend { return d.b }
func (d *toyDevice) Info() backend.Info       { return backend.Info{Backend: "toy", Features: d.b.features} }
func (d *toyDevice) Alloc(n int64) (backend.Buffer, error) {
	return &toyBuffer{d: d, mem: make([]byte, n)}, nil
}
func (d *toyDevice) NewStream() (backend.Stream, error) { return &toyStream{d: d}, nil }
func (d *toyDevice) Memory() backend.MemoryStats        { return backend.MemoryStats{} }
func (d *toyDevice) Close() error                       { return nil }

func (d *toyDevice) Load(instance, variant string) (backend.Program, error) {
	if d.loadErr != nil {
		return nil, d.loadErr
	}
	i := d.Info()
	for _, b := range d.b.bindings {
		if b.Kernel != instance || b.Variant != variant {
			continue
		}
		if m := i.Missing(b.Requires); m != "" {
			return nil, &backend.UnsupportedError{Backend: "toy", Kernel: instance, Variant: variant, Reason: "needs " + m}
		}
		return &toyProgram{instance, variant, d.workspace}, nil
	}
	return nil, &backend.UnsupportedError{Backend: "toy", Kernel: instance, Variant: variant, Reason: "not compiled in"}
}

type toyProgram struct {
	instance, variant string
	workspace         int64
}

func (p *toyProgram) Kernel() string                { return p.instance }
func (p *toyProgram) Variant() string               { return p.variant }
func (p *toyProgram) Workspace(*backend.Call) int64 { return p.workspace }

type toyBuffer struct {
	d   *toyDevice
	mem []byte
	n   int64 // claimed length where it is not that of mem
}

func (b *toyBuffer) Len() int64             { return max(b.n, int64(len(b.mem))) }
func (b *toyBuffer) Device() backend.Device { return b.d }
func (b *toyBuffer) Free() error            { return nil }

// toyStream counts what it is asked for.
type toyStream struct {
	d                           *toyDevice
	launches, reserved, release int
	reserveErr, syncErr         error
	last                        backend.Call
}

var errRange = errors.New("toy: range")

func (s *toyStream) bytes(b backend.Buffer, off int64, n int) ([]byte, error) {
	m := b.(*toyBuffer).mem
	if off < 0 || off+int64(n) > int64(len(m)) {
		return nil, errRange
	}
	return m[off : off+int64(n)], nil
}

func (s *toyStream) Device() backend.Device { return s.d }
func (s *toyStream) Upload(dst backend.Buffer, off int64, src []byte) error {
	m, err := s.bytes(dst, off, len(src))
	copy(m, src)
	return err
}
func (s *toyStream) Download(dst []byte, src backend.Buffer, off int64) error {
	m, err := s.bytes(src, off, len(dst))
	copy(dst, m)
	return err
}
func (s *toyStream) Copy(backend.Buffer, int64, backend.Buffer, int64, int64) error { return nil }
func (s *toyStream) Launch(p backend.Program, c *backend.Call) error {
	s.launches++
	s.last = *c
	return nil
}
func (s *toyStream) Record() (backend.Event, error) { return toyEvent{}, nil }
func (s *toyStream) Wait(backend.Event) error       { return nil }
func (s *toyStream) Sync() error                    { return s.syncErr }
func (s *toyStream) Close() error                   { return nil }

func (s *toyStream) ReserveScratch(n int64) (func(), error) {
	if s.reserveErr != nil {
		return nil, s.reserveErr
	}
	s.reserved++
	return func() { s.release++ }, nil
}

type toyEvent struct{}

func (toyEvent) Elapsed(backend.Event) (time.Duration, error) { return 0, nil }
func (toyEvent) Close() error                                 { return nil }

// view is a dense view on a new buffer of just its size.
func view(d *toyDevice, t backend.DType, dims ...int64) backend.View {
	v := backend.NewView(nil, 0, t, dims...)
	v.Buf = &toyBuffer{d: d, mem: make([]byte, v.Bytes())}
	return v
}

// toyMode is an enumeration attribute.
type toyMode uint8

// toyArgs has one of everything that the grammar knows.
type toyArgs struct {
	X      backend.View `kernel:"in T rows,n strided"`
	Off    Offsets      `kernel:"in i64 parts+1 offsets=rows"`
	Weight backend.View `kernel:"in W n opt"`
	Live   backend.View `kernel:"in i64 parts opt count=n"`
	State  backend.View `kernel:"inout i32 -"`
	Y      backend.View `kernel:"out T rows,n alias=X"`
	Sum    backend.View `kernel:"out acc(T) rows opt"`
	Gain   float64      `kernel:"attr"`
	Shift  int64        `kernel:"attr"`
	Flag   bool         `kernel:"attr"`
	Mode   toyMode      `kernel:"attr"`
}

func toySpec(name string) Spec[toyArgs] {
	return Spec[toyArgs]{
		Name: name, Family: "toys", Source: "definition", Doc: "y = gain·x", Vars: []string{"T", "W"},
		Instances: [][]backend.DType{{backend.F32, backend.F32}, {backend.BF16, backend.BF16}, {backend.BF16, backend.F32}, {backend.F64, backend.F64}},
		Faults:    []string{"first fault", "second fault"},
		Check: func(a *toyArgs) error {
			if a.Gain < 0 {
				return &backend.ArgumentError{Kernel: name, Operand: "Gain", Why: "negative"}
			}
			return nil
		},
		Reference: func(r *Ref, a *toyArgs) error {
			x := r.Read(&a.X)
			for i := range x {
				if x[i] == 13 {
					r.Fault(2, "X", int64(i))
				}
				x[i] *= a.Gain
			}
			r.Write(&a.Y, x)
			return nil
		},
		Tolerance:   map[string]Tolerance{"State": Exact{}, "Y": ULP(1), "Sum": Rounding[toyArgs]{Terms: "n", Slack: 1}},
		Independent: "rows",
		Cost:        func(c *backend.Call) Cost { return Cost{FLOP: float64(c.Axes[0] * c.Axes[1])} },
		Derive:      func(c *Case) { c.Dims["parts"] = 1 },
		Cases:       []Case{{Name: "one"}}, Bench: []Case{{Name: "large"}},
	}
}

var toyKernel = Declare(toySpec("toy_gain"))

// good is a call that resolves: rows 4, n 3, parts 2.
func good(d *toyDevice) *toyArgs {
	s := &toyStream{d: d}
	off := view(d, backend.I64, 3)
	o, err := NewOffsets(s, off.Buf, []int64{0, 1, 4})
	if err != nil {
		panic(err)
	}
	return &toyArgs{X: view(d, backend.F32, 4, 3), Off: o, Weight: view(d, backend.F32, 3), Live: view(d, backend.I64, 2),
		State: view(d, backend.I32), Y: view(d, backend.F32, 4, 3), Sum: view(d, backend.F32, 4), Gain: 2, Shift: -1, Flag: true, Mode: 3}
}
