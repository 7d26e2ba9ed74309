// Package arena is the scratch memory of a stream: one block that grows, and that stays in
// place for whoever pinned it.
package arena

import "errors"

// Memory is one block of scratch.
type Memory[M any] struct {
	M     M
	Bytes int64
	pins  int
	old   bool
}

// Arena hands the current block to each launch of one stream. It is not safe for
// concurrent use, as a stream is not.
type Arena[M any] struct {
	alloc func(bytes int64) (M, error)
	free  func(m M, bytes int64) error
	cur   *Memory[M]
	kept  []*Memory[M] // outgrown blocks that are still pinned
	err   error        // of freeing an outgrown block
}

// New returns an empty arena.
func New[M any](alloc func(bytes int64) (M, error), free func(m M, bytes int64) error) *Arena[M] {
	return &Arena[M]{alloc: alloc, free: free}
}

// Fits reports whether Take(bytes) would need no allocation.
func (a *Arena[M]) Fits(bytes int64) bool {
	return bytes <= 0 || a.cur != nil && a.cur.Bytes >= bytes
}

// Take returns the current block, grown to at least bytes. For 0 bytes it may be nil.
func (a *Arena[M]) Take(bytes int64) (*Memory[M], error) {
	if a.Fits(bytes) {
		return a.cur, nil
	}
	m, err := a.alloc(bytes)
	if err != nil {
		return nil, err
	}
	if was := a.cur; was != nil {
		was.old = true
		if was.pins > 0 {
			a.kept = append(a.kept, was)
		} else {
			a.err = errors.Join(a.err, a.free(was.M, was.Bytes))
		}
	}
	a.cur = &Memory[M]{M: m, Bytes: bytes}
	return a.cur, nil
}

// Pin keeps a block in place until the function returned is called; a second call of it
// does nothing.
func (a *Arena[M]) Pin(m *Memory[M]) (release func()) {
	if m == nil {
		return func() {}
	}
	m.pins++
	return func() {
		if m == nil {
			return
		}
		if m.pins--; m.pins == 0 && m.old {
			a.err = errors.Join(a.err, a.free(m.M, m.Bytes))
			for i, k := range a.kept {
				if k == m {
					a.kept = append(a.kept[:i], a.kept[i+1:]...)
					break
				}
			}
		}
		m = nil
	}
}

// Close frees every block.
func (a *Arena[M]) Close() error {
	err := a.err
	for _, m := range append(a.kept, a.cur) {
		if m != nil {
			err = errors.Join(err, a.free(m.M, m.Bytes))
			m.old = false // a late release must not free again
		}
	}
	a.cur, a.kept, a.err = nil, nil, nil
	return err
}
