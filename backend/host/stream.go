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

// usable is ErrClosed once the stream or its device is closed.
func (s *stream) usable() error {
	if s.closed {
		return closed("stream")
	}
	return s.d.check()
}

// foreign is an object of another device or backend.
func foreign(call, operand string) error {
	return &backend.ArgumentError{Kernel: call, Operand: operand, Why: "belongs to another device"}
}

// span checks a range of a buffer of this device and returns its bytes.
func (s *stream) span(b backend.Buffer, off, n int64) ([]byte, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	h, ok := b.(*buffer)
	if !ok || h.d != s.d {
		return nil, foreign("transfer", "buffer")
	}
	mem, live := h.bytes()
	if !live {
		return nil, closed("buffer")
	}
	if off < 0 || n < 0 || off > h.Len()-n {
		return nil, &backend.ArgumentError{Kernel: "transfer", Operand: "buffer", Why: "range past its end", Want: h.Len(), Got: off + n}
	}
	return mem[off : off+n], nil
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
	if err != nil {
		return err
	}
	if dst == src && dstOff < srcOff+n && srcOff < dstOff+n && n > 0 {
		return &backend.ArgumentError{Kernel: "transfer", Operand: "buffer", Why: "the ranges of a copy overlap"}
	}
	copy(to, from)
	return nil
}

// Launch runs the reference.
func (s *stream) Launch(p backend.Program, c *backend.Call) error {
	if err := s.usable(); err != nil {
		return err
	}
	pr, ok := p.(*program)
	if !ok || pr.d != s.d {
		return foreign("launch", "program")
	}
	if err := s.live(pr, c); err != nil {
		return err
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

// live refuses operands of another device and those that were freed since their view was made.
func (s *stream) live(p *program, c *backend.Call) error {
	for i, o := range p.k.Operands() {
		m := c.Operands[i].Buf
		if m == nil {
			continue
		}
		b, ok := m.(*buffer)
		if !ok || b.d != s.d {
			return foreign("launch "+p.instance, o.Name)
		}
		if _, live := b.bytes(); !live {
			return closed(p.instance + ": buffer of operand " + o.Name)
		}
	}
	return nil
}

// Sync returns the first data error since the last Sync.
func (s *stream) Sync() error {
	if err := s.usable(); err != nil {
		return err
	}
	err := s.fault
	s.fault = nil
	return err
}

func (s *stream) Close() error {
	if s.closed {
		return closed("stream")
	}
	s.closed = true
	return nil
}

// event is a wall-clock time: operations are finished when they return.
type event struct {
	d      *device
	at     time.Time
	closed bool
}

func (s *stream) Record() (backend.Event, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	return &event{d: s.d, at: time.Now()}, nil
}

func (s *stream) Wait(e backend.Event) error {
	if err := s.usable(); err != nil {
		return err
	}
	v, ok := e.(*event)
	if !ok || v.d != s.d {
		return foreign("wait", "event")
	}
	if v.closed {
		return closed("event")
	}
	return nil
}

func (e *event) Elapsed(since backend.Event) (time.Duration, error) {
	from, ok := since.(*event)
	switch {
	case !ok || from.d != e.d:
		return 0, foreign("elapsed", "event")
	case e.closed || from.closed:
		return 0, closed("event")
	}
	return e.at.Sub(from.at), nil
}

func (e *event) Close() error {
	if e.closed {
		return closed("event")
	}
	e.closed = true
	return nil
}
