// Package pool keeps freed device memory for reuse in size classes. Driver allocations
// cost from tens of microseconds to milliseconds and may synchronise the device.
package pool

import (
	"errors"
	"math/bits"
	"sync"

	"github.com/likbench/likbench/backend"
)

// Source is where the pool's memory comes from; bytes is always a class size.
type Source[M any] interface {
	Allocate(bytes int64) (M, error)
	Release(m M, bytes int64) error
}

// Pool is a caching source. It is safe for concurrent use. Memory is handed out again
// without being cleared.
type Pool[M any] struct {
	source Source[M]
	limit  int64

	mu     sync.Mutex
	free   map[int64][]M // by class size
	pooled int64
}

// New returns a pool that keeps at most limit bytes.
func New[M any](source Source[M], limit int64) *Pool[M] {
	return &Pool[M]{source: source, limit: limit, free: map[int64][]M{}}
}

// ClassSize is the bytes really taken for a request: a multiple of an eighth of the next
// lower power of two, so that at most 1/8 is wasted, and of 512 bytes, the alignment that
// drivers give anyway.
func ClassSize(bytes int64) int64 {
	step := int64(512)
	if bytes > 4096 {
		step = max(step, int64(1)<<(bits.Len64(uint64(bytes-1))-1)/8)
	}
	return max((bytes+step-1)/step*step, step)
}

// Allocate returns memory of at least bytes. When the source is out of memory it gives
// the cached blocks back and asks once more.
func (p *Pool[M]) Allocate(bytes int64) (M, error) {
	size := ClassSize(bytes)
	p.mu.Lock()
	if l := p.free[size]; len(l) > 0 {
		m := l[len(l)-1]
		p.free[size] = l[:len(l)-1]
		p.pooled -= size
		p.mu.Unlock()
		return m, nil
	}
	p.mu.Unlock()
	m, err := p.source.Allocate(size)
	if errors.Is(err, backend.ErrOutOfMemory) && p.Pooled() > 0 {
		if terr := p.Trim(); terr != nil {
			return m, terr
		}
		m, err = p.source.Allocate(size)
	}
	return m, err
}

// Release keeps m for reuse, or gives it back where the limit is reached.
func (p *Pool[M]) Release(m M, bytes int64) error {
	size := ClassSize(bytes)
	p.mu.Lock()
	if p.pooled+size <= p.limit {
		p.free[size] = append(p.free[size], m)
		p.pooled += size
		p.mu.Unlock()
		return nil
	}
	p.mu.Unlock()
	return p.source.Release(m, size)
}

// Pooled is the bytes kept.
func (p *Pool[M]) Pooled() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pooled
}

// Trim gives every cached block back to the source.
func (p *Pool[M]) Trim() error {
	p.mu.Lock()
	free := p.free
	p.free, p.pooled = map[int64][]M{}, 0
	p.mu.Unlock()
	var errs []error
	for size, l := range free {
		for _, m := range l {
			errs = append(errs, p.source.Release(m, size))
		}
	}
	return errors.Join(errs...)
}
