package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/cuda/driver"
	"github.com/likbench/likbench/internal/meter"
	"github.com/likbench/likbench/internal/pool"
)

// minFree is the memory a device must have left to be worth opening: the objects, a few streams' staging and the
// smallest of benchmarks fit.
const minFree = 128 << 20

// pooledShare is the part of the device's memory that may be kept after Free: enough for the temporaries of a
// pipeline, little enough not to starve others on a shared card.
const pooledShare = 8

// device is one context. The fields above mu do not change while it is open.
type device struct {
	backend *cuda
	api     driver.API
	card    card
	ctx     driver.Context
	release func() driver.Status // of the context; nil where it is the caller's
	poison  bool
	memory  *meter.Meter[driver.Pointer]
	pool    *pool.Pool[driver.Pointer]
	lost    atomic.Pointer[error] // the failure that made the device unusable

	mu     sync.RWMutex // held for reading during every call, for writing by Close
	closed bool

	capturing atomic.Int32 // streams that record a graph

	tables   sync.Mutex // guards what follows
	buffers  map[*buffer]struct{}
	streams  map[*stream]struct{}
	modules  map[string]*module
	programs map[[2]string]*program
	tagged   []*program // by tag, from 1
	pinned   []*hostBuffer
	flush    driver.Pointer // FlushCaches
}

func newDevice(b *cuda, api driver.API, c card, ctx driver.Context, cfg backend.OpenConfig) *device {
	d := &device{backend: b, api: api, card: c, ctx: ctx, poison: cfg.Poison, buffers: map[*buffer]struct{}{},
		streams: map[*stream]struct{}{}, modules: map[string]*module{}, programs: map[[2]string]*program{},
		tagged: []*program{nil}}
	d.pool = pool.New[driver.Pointer](source{d}, c.info.Memory/pooledShare)
	d.memory = meter.New[driver.Pointer](name, d.pool, cfg.Budget, c.info.Memory)
	return d
}

// enter makes the context current on the calling thread and keeps goroutine and thread together until leave.
// Entries do not nest.
func (d *device) enter() error {
	d.mu.RLock()
	if err := d.state(); err != nil {
		d.mu.RUnlock()
		return err
	}
	runtime.LockOSThread()
	if s := d.api.Push(d.ctx); s != driver.Success {
		runtime.UnlockOSThread()
		d.mu.RUnlock()
		return d.check("cuCtxPushCurrent", s)
	}
	return nil
}

// state is the error of a device that is closed or lost.
func (d *device) state() error {
	if d.closed {
		return closed("device")
	}
	if lost := d.lost.Load(); lost != nil {
		return *lost
	}
	return nil
}

// leave puts back what was current on the thread.
func (d *device) leave() {
	if s := d.api.Pop(); s != driver.Success {
		err := driver.Check("cuCtxPopCurrent", s)
		d.lost.CompareAndSwap(nil, &err) // the thread is not ours to use any more
	}
	runtime.UnlockOSThread()
	d.mu.RUnlock()
}

// roomy refuses a device whose memory others have taken.
func (d *device) roomy() error {
	if err := d.enter(); err != nil {
		return unusable(d.card.info.Ordinal, "context not usable", err)
	}
	defer d.leave()
	free, total, s := d.api.MemInfo()
	if s != driver.Success {
		return unusable(d.card.info.Ordinal, s.Words(), d.check("cuMemGetInfo", s))
	}
	if free < minFree {
		return unusable(d.card.info.Ordinal, fmt.Sprintf("%s free of %s, needs %s", backend.FormatBytes(free),
			backend.FormatBytes(total), backend.FormatBytes(minFree)), nil)
	}
	return nil
}

// Backend is the backend that opened it.
func (d *device) Backend() backend.Backend { return d.backend }

// Info describes it.
func (d *device) Info() backend.Info { return d.card.info }

// Memory counts its memory.
func (d *device) Memory() backend.MemoryStats { return d.memory.Stats() }

// PeakScope implements backend.PeakScoper.
func (d *device) PeakScope() (end func() int64) { return d.memory.PeakScope() }

// source is the driver's memory. Its methods run inside enter.
type source struct{ d *device }

// Allocate takes memory from the driver.
func (m source) Allocate(bytes int64) (driver.Pointer, error) {
	p, s := m.d.api.MemAlloc(bytes)
	if s == driver.OutOfMemory {
		return 0, backend.ErrOutOfMemory
	}
	return p, m.d.check("cuMemAlloc", s)
}

// Release gives memory back to the driver; that of a lost device is gone already.
func (m source) Release(p driver.Pointer, _ int64) error {
	if m.d.lost.Load() != nil {
		return nil
	}
	return m.d.check("cuMemFree", m.d.api.MemFree(p))
}

// Alloc takes memory; it is not cleared.
func (d *device) Alloc(bytes int64) (backend.Buffer, error) {
	if d.capturing.Load() > 0 {
		return nil, capturing("alloc")
	}
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	p, t, err := d.memory.Allocate(bytes)
	if err != nil {
		return nil, err
	}
	b := &buffer{device: d, address: p, bytes: bytes, ticket: t}
	d.tables.Lock()
	d.buffers[b] = struct{}{}
	d.tables.Unlock()
	return b, nil
}

// free gives a buffer back once work in flight is done: the pool may hand it to another stream at once. The memory
// of a lost device is gone already, and only the count goes down.
func (d *device) free(b *buffer) error {
	if b.freed.Swap(true) {
		return closed("buffer")
	}
	err := d.enter()
	switch {
	case errors.Is(err, backend.ErrClosed):
		return err
	case err == nil:
		defer d.leave()
		err = d.quiesce()
	case d.lost.Load() != nil:
		err = nil
	}
	d.tables.Lock()
	delete(d.buffers, b)
	d.tables.Unlock()
	if b.borrowed {
		return err
	}
	return errors.Join(err, d.memory.Release(b.address, b.ticket))
}

// quiesce waits for every stream that has work, except those that record a graph, which have none.
func (d *device) quiesce() error {
	d.tables.Lock()
	defer d.tables.Unlock()
	for s := range d.streams {
		if !s.busy.Load() || s.capturing.Load() {
			continue
		}
		if st := d.api.StreamSync(s.handle); st != driver.Success {
			return d.check("cuStreamSynchronize", st)
		}
	}
	return nil
}

// Close waits for calls in progress, then gives everything back. Buffers still live are listed in the error.
func (d *device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return closed("device")
	}
	d.closed = true
	leak := d.memory.Leak()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var errs []error
	if d.lost.Load() == nil {
		if s := d.api.Push(d.ctx); s != driver.Success {
			errs = append(errs, d.check("cuCtxPushCurrent", s))
		} else {
			errs = append(errs, d.dispose(), d.check("cuCtxPopCurrent", d.api.Pop()))
		}
	}
	d.forget()
	if d.release != nil {
		// Of a lost device the status tells nothing new, and its context goes all the same.
		if s := d.release(); d.lost.Load() == nil {
			errs = append(errs, d.check("cuDevicePrimaryCtxRelease", s))
		}
	}
	return errors.Join(append(errs, leak)...)
}

// dispose gives back everything in the context, which is current.
func (d *device) dispose() error {
	d.tables.Lock()
	defer d.tables.Unlock()
	var errs []error
	for s := range d.streams {
		errs = append(errs, s.dispose())
	}
	for b := range d.buffers {
		if !b.borrowed {
			errs = append(errs, d.memory.Release(b.address, b.ticket))
		}
	}
	errs = append(errs, d.pool.Trim())
	for _, h := range d.pinned {
		errs = append(errs, d.check("cuMemFreeHost", d.api.HostFree(unsafe.Pointer(unsafe.SliceData(h.data)))))
	}
	if d.flush != 0 {
		errs = append(errs, d.check("cuMemFree", d.api.MemFree(d.flush)))
	}
	for _, m := range d.modules {
		errs = append(errs, d.check("cuModuleUnload", d.api.ModuleUnload(m.handle)))
	}
	return errors.Join(errs...)
}

// forget makes everything that hung on the device unusable.
func (d *device) forget() {
	d.tables.Lock()
	defer d.tables.Unlock()
	for b := range d.buffers {
		b.freed.Store(true)
	}
	for _, h := range d.pinned {
		h.data = nil
	}
	d.streams, d.buffers, d.modules, d.pinned = nil, nil, nil, nil
}

// FlushCaches implements backend.CacheFlusher: it fills twice the level-2 cache.
func (d *device) FlushCaches(to backend.Stream) error {
	s, ok := to.(*stream)
	if !ok || s.d != d {
		return foreign("flush", "stream")
	}
	if err := s.outsideCapture("flush"); err != nil {
		return err
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	bytes := 2 * max(d.card.l2, 1<<20)
	d.tables.Lock()
	defer d.tables.Unlock()
	if d.flush == 0 {
		p, st := d.api.MemAlloc(bytes)
		if err := d.check("cuMemAlloc", st); err != nil {
			return err
		}
		d.flush = p
	}
	s.busy.Store(true)
	return d.check("cuMemsetD8Async", d.api.Fill(d.flush, 0, bytes, s.handle))
}
