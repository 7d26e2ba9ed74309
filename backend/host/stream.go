package host

import (
	"time"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// stream runs each operation before it returns.
type stream struct {
	d      *device
	closed bool
	fault  error // first data error since the last Sync
}

func (s *stream) Device() backend.Device { return s.d }

// span checks a range of a buffer of this device and returns its bytes.
func (s *stream) span(b backend.Buffer, off, n int64) ([]byte, error) {
	h, ok := b.(*buffer)
	if !ok || h.d != s.d {
		return nil, &backend.ArgumentError{Kernel: "transfer", Operand: "buffer", Why: "belongs to another device"}
	}
	if s.closed || h.off {
		return nil, backend.ErrClosed
	}
	if off < 0 || n < 0 || off > h.Len()-n {
		return nil, &backend.ArgumentError{Kernel: "transfer", Operand: "buffer", Why: "range past its end", Want: h.Len(), Got: off + n}
	}
	return h.mem[off : off+n], nil
}

func (s *stream) Upload(dst backend.Buffer, off int64, src []byte) error {
	m, err := s.span(dst, off, int64(len(src)))
	copy(m, src)
	return err
}

func (s *stream) Download(dst []byte, src backend.Buffer, off int64) error {
	m, err := s.span(src, off, int64(len(dst)))
	copy(dst, m)
	return err
}

func (s *stream) Copy(dst backend.Buffer, dstOff int64, src backend.Buffer, srcOff, n int64) error {
	to, err := s.span(dst, dstOff, n)
	if err != nil {
		return err
	}
	from, err := s.span(src, srcOff, n)
	copy(to, from)
	return err
}

// Launch runs the reference.
func (s *stream) Launch(p backend.Program, c *backend.Call) error {
	if s.closed {
		return backend.ErrClosed
	}
	pr, ok := p.(*program)
	if !ok {
		return &backend.ArgumentError{Kernel: p.Kernel(), Why: "program of another backend"}
	}
	r := kernel.NewRef(pr.k, kernel.StreamMemory(s))
	if err := pr.k.Reference(r, c.Args); err != nil {
		return err
	}
	if r.Err() != nil {
		return r.Err()
	}
	if w := r.Status(); w != 0 && s.fault == nil {
		s.fault = kernel.StatusError(pr.k, w)
	}
	return nil
}

// Sync returns the first data error since the last Sync.
func (s *stream) Sync() error {
	if s.closed {
		return backend.ErrClosed
	}
	err := s.fault
	s.fault = nil
	return err
}

func (s *stream) Close() error {
	if s.closed {
		return backend.ErrClosed
	}
	s.closed = true
	return nil
}

// event is a wall-clock time: operations are finished when they return.
type event struct{ at time.Time }

func (s *stream) Record() (backend.Event, error) {
	if s.closed {
		return nil, backend.ErrClosed
	}
	return event{time.Now()}, nil
}

func (s *stream) Wait(backend.Event) error {
	if s.closed {
		return backend.ErrClosed
	}
	return nil
}

func (e event) Elapsed(since backend.Event) (time.Duration, error) {
	from, ok := since.(event)
	if !ok {
		return 0, &backend.ArgumentError{Kernel: "event", Operand: "since", Why: "of another device"}
	}
	return e.at.Sub(from.at), nil
}

func (e event) Close() error { return nil }
