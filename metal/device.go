package metal

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/internal/meter"
	"github.com/likbench/likbench/internal/pool"
	"github.com/likbench/likbench/metal/mtl"
)

// device is one GPU. It is safe for concurrent use.
type device struct {
	backend *Backend
	dev     mtl.Device
	limits  mtl.Info
	info    backend.Info
	poison  bool
	memory  *meter.Meter[mtl.Buffer]
	pool    *pool.Pool[mtl.Buffer]
	working atomic.Int64          // streams with work that has not been waited for
	lost    atomic.Pointer[error] // once the device is unusable

	mu       sync.Mutex
	closed   bool
	buffers  map[*buffer]struct{}
	streams  map[*stream]struct{}
	programs map[[2]string]*program
	library  map[string]mtl.Library // by family
}

func newDevice(b *Backend, f found, ordinal int, c backend.OpenConfig) (*device, error) {
	d := &device{backend: b, dev: f.dev, limits: f.dev.Info(), info: info(f, ordinal, b.driver.Name()), poison: c.Poison,
		buffers: map[*buffer]struct{}{}, streams: map[*stream]struct{}{}, programs: map[[2]string]*program{}, library: map[string]mtl.Library{}}
	d.pool = pool.New(allocator{f.dev}, poolLimit(d.limits.WorkingSet))
	d.memory = meter.New(name, source{d, d.pool}, budgetOf(c.Budget, d.limits, b.available()), d.limits.WorkingSet)
	return d, nil
}

func (d *device) Backend() backend.Backend    { return d.backend }
func (d *device) Info() backend.Info          { return d.info }
func (d *device) Memory() backend.MemoryStats { return d.memory.Stats() }

// PeakScope implements backend.PeakScoper.
func (d *device) PeakScope() func() int64 { return d.memory.PeakScope() }

func (d *device) check() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.checkLocked()
}

func (d *device) checkLocked() error {
	if d.closed {
		return closed("device")
	}
	if e := d.lost.Load(); e != nil {
		return *e
	}
	return nil
}

// Alloc implements backend.Device.
func (d *device) Alloc(bytes int64) (backend.Buffer, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	mem, ticket, err := d.memory.Allocate(bytes)
	if err != nil {
		return nil, err
	}
	b := &buffer{d: d, n: bytes, mem: mem, ticket: ticket}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.buffers[b] = struct{}{}
	return b, nil
}

func (d *device) forget(b *buffer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.buffers, b)
}

// Load implements backend.Device: the family's source is compiled when its first program is loaded.
func (d *device) Load(instance, variantName string) (backend.Program, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.checkLocked(); err != nil {
		return nil, err
	}
	key := [2]string{instance, variantName}
	if p := d.programs[key]; p != nil {
		return p, nil
	}
	v := findVariant(instance, variantName)
	if v == nil {
		return nil, &backend.UnsupportedError{Backend: name, Kernel: instance, Variant: variantName, Reason: "not compiled in"}
	}
	if f := d.info.Missing(v.binding.Requires); f != "" {
		return nil, v.unsupported("needs %s: %s", f, lacking[f])
	}
	p, err := d.loadProgram(v)
	if err != nil {
		return nil, err
	}
	d.programs[key] = p
	return p, nil
}

// Close implements backend.Device. Streams still open are closed, buffers still live released and listed.
func (d *device) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return closed("device")
	}
	d.closed = true
	var streams []*stream
	for s := range d.streams {
		streams = append(streams, s)
	}
	var left []*buffer
	for b := range d.buffers {
		left = append(left, b)
	}
	programs, libraries := d.programs, d.library
	d.mu.Unlock()

	var errs []error
	for _, s := range streams {
		errs = append(errs, s.Close())
	}
	errs = append(errs, d.memory.Leak())
	for _, b := range left {
		errs = append(errs, b.Free())
	}
	errs = append(errs, d.pool.Trim())
	for _, p := range programs {
		p.release()
	}
	for _, l := range libraries {
		l.Release()
	}
	d.dev.Release()
	return errors.Join(errs...)
}
