// Package meter is the accounting that every backend shares: live and peak bytes, buffer
// count, budget, scopes, and the list of what is still live. It wraps a source of memory;
// the source may itself be a pool.
package meter

import (
	"fmt"
	"sort"
	"strings"
	"sync"

	"github.com/likbench/likbench/backend"
)

// Source hands out memory of kind M: a Go slice, a device address, a Metal buffer.
type Source[M any] interface {
	Allocate(bytes int64) (M, error)
	Release(m M, bytes int64) error
	// Pooled is the bytes kept for reuse.
	Pooled() int64
}

// Meter counts what a Source hands out. It is safe for concurrent use.
type Meter[M any] struct {
	name   string
	source Source[M]
	budget int64
	total  int64

	mu      sync.Mutex
	live    int64
	peak    int64
	scratch int64
	buffers int
	next    uint64
	held    map[uint64]int64 // ticket to bytes, of buffers
	scopes  map[*scope]struct{}
}

type scope struct{ start, peak int64 }

// Ticket identifies an allocation.
type Ticket struct {
	id      uint64
	bytes   int64
	scratch bool
}

// New returns a meter over source for the backend called name. budget 0 is no ceiling, a
// negative one allows nothing; total 0 is unknown.
func New[M any](name string, source Source[M], budget, total int64) *Meter[M] {
	return &Meter[M]{name: name, source: source, budget: budget, total: total,
		held: map[uint64]int64{}, scopes: map[*scope]struct{}{}}
}

// Allocate takes bytes for a buffer. It fails with *backend.AllocError.
func (m *Meter[M]) Allocate(bytes int64) (M, Ticket, error) { return m.allocate(bytes, false) }

// AllocateScratch takes bytes for a stream's arena.
func (m *Meter[M]) AllocateScratch(bytes int64) (M, Ticket, error) { return m.allocate(bytes, true) }

func (m *Meter[M]) allocate(bytes int64, scratch bool) (M, Ticket, error) {
	var zero M
	if bytes < 0 {
		return zero, Ticket{}, &backend.ArgumentError{Kernel: "alloc", Operand: "bytes", Why: "negative", Got: bytes}
	}
	m.mu.Lock()
	var refused error
	switch {
	case m.budget != 0 && bytes > m.budget-m.live:
		refused = backend.ErrBudget
	case m.total > 0 && bytes > m.total:
		refused = backend.ErrTooLarge
	}
	if refused != nil {
		defer m.mu.Unlock()
		return zero, Ticket{}, m.fail(bytes, refused)
	}
	m.live += bytes // reserved before the source is asked, so that two callers cannot both fit
	m.mu.Unlock()

	mem, err := m.source.Allocate(bytes)

	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.live -= bytes
		return zero, Ticket{}, m.fail(bytes, err)
	}
	m.peak = max(m.peak, m.live)
	for s := range m.scopes {
		s.peak = max(s.peak, m.live)
	}
	m.next++
	t := Ticket{m.next, bytes, scratch}
	if scratch {
		m.scratch += bytes
	} else {
		m.buffers++
		m.held[t.id] = bytes
	}
	return mem, t, nil
}

// fail wraps a refusal; an error that is typed already passes through.
func (m *Meter[M]) fail(bytes int64, err error) error {
	switch err {
	case backend.ErrBudget, backend.ErrTooLarge, backend.ErrOutOfMemory:
		return &backend.AllocError{Backend: m.name, Requested: bytes, Live: m.live, Budget: m.budget, Total: m.total, Err: err}
	}
	return err
}

// Release gives an allocation back to the source.
func (m *Meter[M]) Release(mem M, t Ticket) error {
	err := m.source.Release(mem, t.bytes)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.live -= t.bytes
	if t.scratch {
		m.scratch -= t.bytes
	} else {
		m.buffers--
		delete(m.held, t.id)
	}
	return err
}

// Stats reports the counts.
func (m *Meter[M]) Stats() backend.MemoryStats {
	pooled := m.source.Pooled()
	m.mu.Lock()
	defer m.mu.Unlock()
	return backend.MemoryStats{Live: m.live, Peak: m.peak, Pooled: pooled, Scratch: m.scratch,
		Budget: m.budget, Total: m.total, Buffers: m.buffers}
}

// PeakScope starts a scope; the function returned ends it and gives the largest live bytes
// inside it, less those live at its start. A second call gives 0.
func (m *Meter[M]) PeakScope() func() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &scope{start: m.live, peak: m.live}
	m.scopes[s] = struct{}{}
	return func() int64 {
		m.mu.Lock()
		defer m.mu.Unlock()
		if _, open := m.scopes[s]; !open {
			return 0
		}
		delete(m.scopes, s)
		return s.peak - s.start
	}
}

// Leak lists the buffers that are still live, largest first, or is nil.
func (m *Meter[M]) Leak() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.held) == 0 {
		return nil
	}
	var sizes []int64
	for _, n := range m.held {
		sizes = append(sizes, n)
	}
	sort.Slice(sizes, func(i, j int) bool { return sizes[i] > sizes[j] })
	var list []string
	for i, n := range sizes {
		if i == 8 {
			list = append(list, fmt.Sprintf("and %d more", len(sizes)-i))
			break
		}
		list = append(list, backend.FormatBytes(n))
	}
	return &LeakError{Backend: m.name, Buffers: len(sizes), List: strings.Join(list, ", ")}
}

// LeakError is what Device.Close returns when buffers were still live.
type LeakError struct {
	Backend string
	Buffers int
	List    string
}

func (e *LeakError) Error() string {
	return fmt.Sprintf("%s: close: %d buffers still live: %s", e.Backend, e.Buffers, e.List)
}
