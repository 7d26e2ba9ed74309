package metal

import (
	"errors"
	"sync"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/internal/meter"
	"github.com/likbench/likbench/internal/pool"
	"github.com/likbench/likbench/metal/mtl"
)

// poolLimit is the freed memory kept for reuse: a share of the working set that leaves the system alone.
func poolLimit(workingSet int64) int64 { return workingSet / 8 }

// budgetOf is the ceiling of a device: what the caller asked for; else, where the memory is the system's, what the
// system has available now and recommends for the GPU.
func budgetOf(asked int64, i mtl.Info, available int64) int64 {
	if asked != 0 || !i.Unified || available <= 0 {
		return asked
	}
	if i.WorkingSet > 0 {
		return min(available, i.WorkingSet)
	}
	return available
}

// allocator takes buffers from Metal; it stands below the pool.
type allocator struct{ dev mtl.Device }

func (a allocator) Allocate(bytes int64) (mtl.Buffer, error) {
	if limit := a.dev.Info().MaxBuffer; limit > 0 && bytes > limit {
		return nil, backend.ErrTooLarge
	}
	b, err := a.dev.NewBuffer(bytes)
	var e *mtl.Error
	if errors.As(err, &e) {
		return nil, backend.ErrOutOfMemory
	}
	return b, err
}

func (a allocator) Release(b mtl.Buffer, _ int64) error {
	b.Release()
	return nil
}

// source stands between the meter and the pool. Memory freed while the device works is not pooled: the work in flight
// keeps a released Metal buffer until it has completed, whereas a pooled one would be handed out under it.
type source struct {
	d    *device
	pool *pool.Pool[mtl.Buffer]
}

func (s source) Allocate(bytes int64) (mtl.Buffer, error) { return s.pool.Allocate(bytes) }
func (s source) Pooled() int64                            { return s.pool.Pooled() }

func (s source) Release(b mtl.Buffer, bytes int64) error {
	if s.d.working.Load() > 0 {
		b.Release()
		return nil
	}
	return s.pool.Release(b, bytes)
}

// buffer is memory that GPU and CPU share.
type buffer struct {
	d      *device
	n      int64
	ticket meter.Ticket

	mu      sync.Mutex
	mem     mtl.Buffer
	adopted bool // of the application: not metered, not released
	freed   bool
}

func (b *buffer) Len() int64             { return b.n }
func (b *buffer) Device() backend.Device { return b.d }

// Bytes is the memory itself. Work of a stream that writes it must have been waited for.
func (b *buffer) Bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.freed {
		return nil
	}
	return b.mem.Bytes()[:b.n]
}

// Free gives the memory back. Work in flight may still use it.
func (b *buffer) Free() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.freed {
		return closed("buffer")
	}
	b.freed = true
	b.d.forget(b)
	if b.adopted {
		return nil
	}
	return b.d.memory.Release(b.mem, b.ticket)
}

// metal returns the Metal buffer of an operand of this device.
func (d *device) metal(b backend.Buffer, call, operand string) (*buffer, error) {
	m, ok := b.(*buffer)
	if !ok || m.d != d {
		return nil, foreign(call, operand)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.freed {
		return nil, closed(call + ": buffer " + operand)
	}
	return m, nil
}

// Adopt makes a buffer of an application's own Metal object usable as an operand. The object stays the application's:
// Free forgets it, and it must outlive the work that uses it. dev must be a device of this backend.
func Adopt(dev backend.Device, b mtl.Buffer) (backend.Buffer, error) {
	d, ok := dev.(*device)
	if !ok {
		return nil, foreign("adopt", "device")
	}
	if err := d.check(); err != nil {
		return nil, err
	}
	return &buffer{d: d, n: int64(len(b.Bytes())), mem: b, adopted: true}, nil
}
