// Package host is the reference backend: Go memory and the float64 references of the
// declarations. It runs every kernel everywhere, slowly, and defines the right answer.
package host

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/internal/meter"
	"github.com/likbench/likbench/internal/sysmem"
)

// rank puts the reference behind every other backend in auto.
const rank = 40

func init() { backend.Register(rank, Backend{}) }

// variant is the one variant of every kernel.
const variant = "reference"

// Backend is the host backend.
type Backend struct{}

// Name implements backend.Backend.
func (Backend) Name() string { return "host" }

// Bindings lists every declared instance: the reference takes everything.
func (Backend) Bindings() []backend.Binding {
	var out []backend.Binding
	for _, k := range kernel.All() {
		for _, i := range k.Instances() {
			out = append(out, backend.Binding{Kernel: i.Name, Variant: variant, Class: variant, Note: "float64, three loops"})
		}
	}
	return out
}

func info() backend.Info {
	return backend.Info{Backend: "host", Name: "float64 reference on " + runtime.GOARCH, Shared: true, Units: 1}
}

// Probe implements backend.Backend; there is always one device.
func (Backend) Probe() ([]backend.Info, error) { return []backend.Info{info()}, nil }

// Open implements backend.Backend.
func (Backend) Open(ordinal int, opts ...backend.Option) (backend.Device, error) {
	if ordinal != 0 {
		return nil, &backend.UnavailableError{Backend: "host", Reason: "there is only device 0"}
	}
	d := &device{programs: map[string]*program{}}
	d.memory = meter.New("host", source{}, backend.Configure(opts).Budget, 0)
	return d, nil
}

// source is Go memory.
type source struct{}

// askFirst is the size from which an allocation asks the system what is free: the
// question costs about as much as clearing this much.
const askFirst = 16 << 20

func (source) Allocate(n int64) ([]byte, error) {
	if n > 1<<46 {
		return nil, backend.ErrTooLarge // beyond any address space: make would panic
	}
	if n >= askFirst {
		if free := sysmem.Available(); free > 0 && n > free {
			return nil, backend.ErrOutOfMemory
		}
	}
	return make([]byte, n), nil
}
func (source) Release([]byte, int64) error { return nil }
func (source) Pooled() int64               { return 0 }

type device struct {
	memory *meter.Meter[[]byte]

	mu       sync.Mutex
	closed   bool
	programs map[string]*program
}

func (d *device) Backend() backend.Backend    { return Backend{} }
func (d *device) Info() backend.Info          { return info() }
func (d *device) Memory() backend.MemoryStats { return d.memory.Stats() }
func (d *device) PeakScope() func() int64     { return d.memory.PeakScope() }

func (d *device) check() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return closed("device")
	}
	return nil
}

// closed is the error of using something after its Close or Free.
func closed(what string) error { return fmt.Errorf("host: %s: %w", what, backend.ErrClosed) }

// Close reports the buffers that are still live.
func (d *device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return closed("device")
	}
	d.closed = true
	return d.memory.Leak()
}

func (d *device) Alloc(n int64) (backend.Buffer, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	mem, t, err := d.memory.Allocate(n)
	if err != nil {
		return nil, err
	}
	return &buffer{d: d, size: n, mem: mem, ticket: t}, nil
}

func (d *device) NewStream() (backend.Stream, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	return &stream{d: d}, nil
}

// Load finds the declaration of an instance.
func (d *device) Load(instance, v string) (backend.Program, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.programs[instance]; p != nil && v == variant {
		return p, nil
	}
	k, in := kernel.Find(instance)
	if k == nil || v != variant {
		return nil, &backend.UnsupportedError{Backend: "host", Kernel: instance, Variant: v, Reason: "not declared"}
	}
	p := &program{d: d, k: k, instance: in.Name}
	d.programs[instance] = p
	return p, nil
}

type program struct {
	d        *device
	k        kernel.Info
	instance string
}

func (p *program) Kernel() string                { return p.instance }
func (p *program) Variant() string               { return variant }
func (p *program) Workspace(*backend.Call) int64 { return 0 }

type buffer struct {
	d      *device
	size   int64
	ticket meter.Ticket

	mu  sync.Mutex
	mem []byte
	off bool
}

func (b *buffer) Len() int64             { return b.size }
func (b *buffer) Device() backend.Device { return b.d }

// Bytes is the memory, nil after Free.
func (b *buffer) Bytes() []byte { mem, _ := b.bytes(); return mem }

func (b *buffer) bytes() (mem []byte, live bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mem, !b.off
}

func (b *buffer) Free() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.off {
		return closed("buffer")
	}
	b.off = true
	err := b.d.memory.Release(b.mem, b.ticket)
	b.mem = nil
	return err
}
