package simd

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/internal/meter"
)

type ticket = meter.Ticket

// device is the processor at one level. Its workers serve all of its streams.
type device struct {
	backend *simd
	info    backend.Info
	workers int // goroutines of a launch, the caller's included
	poison  bool
	memory  *meter.Meter[[]byte]
	jobs    chan *job
	done    chan struct{} // closed by Close: the workers leave

	mu        sync.Mutex
	programs  map[[2]string]*program
	started   bool           // workers are running
	crew      sync.WaitGroup // the workers
	closed    atomic.Bool
	capturing atomic.Int32 // streams that record a graph
	flush     []byte       // FlushCaches
}

func open(b *simd, workers int, cfg backend.OpenConfig) *device {
	info := b.info(workers)
	return &device{
		backend: b, info: info, workers: workers, poison: cfg.Poison,
		memory:   meter.New[[]byte](name, heap{}, cfg.Budget, info.Memory),
		jobs:     make(chan *job, 4*workers),
		done:     make(chan struct{}),
		programs: map[[2]string]*program{},
	}
}

func (d *device) Backend() backend.Backend    { return d.backend }
func (d *device) Info() backend.Info          { return d.info }
func (d *device) Memory() backend.MemoryStats { return d.memory.Stats() }

// PeakScope implements backend.PeakScoper.
func (d *device) PeakScope() (end func() int64) { return d.memory.PeakScope() }

// Alloc returns zeroed memory at a cache line.
func (d *device) Alloc(n int64) (backend.Buffer, error) {
	if d.closed.Load() {
		return nil, closed("device")
	}
	if d.capturing.Load() > 0 {
		return nil, capturing("alloc")
	}
	data, t, err := d.memory.Allocate(n)
	if err != nil {
		return nil, err
	}
	return &buffer{d: d, size: n, data: data, ticket: t}, nil
}

func (d *device) NewStream() (backend.Stream, error) {
	if d.closed.Load() {
		return nil, closed("device")
	}
	return newStream(d), nil
}

// Load looks a variant up; *UnsupportedError names the feature that the device lacks.
func (d *device) Load(instance, variant string) (backend.Program, error) {
	if d.closed.Load() {
		return nil, closed("device")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	key := [2]string{instance, variant}
	if p := d.programs[key]; p != nil {
		return p, nil
	}
	for _, v := range variants() {
		if v.binding.Kernel != instance || v.binding.Variant != variant {
			continue
		}
		if m := d.info.Missing(v.binding.Requires); m != "" {
			return nil, &backend.UnsupportedError{Backend: name, Kernel: instance, Variant: variant,
				Reason: fmt.Sprintf("needs %s, the device has level %v", m, d.backend.level)}
		}
		p := &program{d: d, v: v}
		d.programs[key] = p
		return p, nil
	}
	return nil, &backend.UnsupportedError{Backend: name, Kernel: instance, Variant: variant, Reason: "not compiled in"}
}

// Close stops the workers and returns when they have left. Buffers still live are listed
// in the error; they stay readable, since they are Go memory.
func (d *device) Close() error {
	d.mu.Lock()
	was := d.closed.Swap(true)
	d.mu.Unlock()
	if was {
		return closed("device")
	}
	close(d.done)
	d.crew.Wait()
	return d.memory.Leak()
}

// help asks up to n workers to join j, and starts them at the first call.
func (d *device) help(j *job, n int) {
	d.mu.Lock()
	if !d.started && !d.closed.Load() {
		d.started = true
		for w := 1; w < d.workers; w++ {
			d.crew.Go(func() { d.work(w) })
		}
	}
	d.mu.Unlock()
	for range n {
		select {
		case d.jobs <- j:
		default: // all are busy: the caller does it alone
			return
		}
	}
}

// work is the life of worker w; the caller of a launch is worker 0.
func (d *device) work(w int) {
	for {
		select {
		case j := <-d.jobs:
			if j.enter() {
				j.run(w)
				j.leave()
			}
		case <-d.done:
			return
		}
	}
}

// flushSize is twice the largest last-level cache in use, for one core's share of it.
const flushSize = 256 << 20

// FlushCaches implements backend.CacheFlusher: it writes more memory than the caches hold.
func (d *device) FlushCaches(s backend.Stream) error {
	if d.closed.Load() {
		return closed("device")
	}
	if s.Device() != backend.Device(d) {
		return foreign("flush", "stream")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.flush == nil {
		d.flush = make([]byte, flushSize)
	}
	for i := 0; i < len(d.flush); i += lineSize {
		d.flush[i]++
	}
	runtime.KeepAlive(d.flush)
	return nil
}

// program is a variant on a device.
type program struct {
	d *device
	v *variant
}

func (p *program) Kernel() string  { return p.v.binding.Kernel }
func (p *program) Variant() string { return p.v.binding.Variant }

// operand is the name of operand i.
func (p *program) operand(i int) string { return p.v.kernel.Operands()[i].Name }

// Workspace is the shared scratch and each worker's own.
func (p *program) Workspace(c *backend.Call) int64 {
	shared, local := p.v.sizes(c)
	return shared + local*int64(p.d.workers)
}

// sizes are the bytes of shared scratch and of one worker's, rounded up to cache lines.
func (v *variant) sizes(c *backend.Call) (shared, local int64) {
	if v.workspace != nil {
		shared = align64(v.workspace(c))
	}
	if v.local != nil {
		local = align64(v.local(c))
	}
	return shared, local
}
