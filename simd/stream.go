package simd

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/internal/arena"
)

// stream runs every operation before it returns, on the caller's goroutine and, for
// launches of several tiles, the device's workers.
type stream struct {
	d        *device
	scratch  *arena.Arena[scratch]
	status   statusWord
	job      job
	recorded *graph // while capturing
	closed   bool
}

// scratch is one block of an arena.
type scratch struct {
	data   []byte
	ticket ticket
}

func newStream(d *device) *stream {
	s := &stream{d: d}
	s.scratch = arena.New(
		func(n int64) (scratch, error) {
			data, t, err := d.memory.AllocateScratch(n)
			return scratch{data, t}, err
		},
		func(m scratch, _ int64) error { return d.memory.Release(m.data, m.ticket) })
	s.job.init(d.workers)
	return s
}

func (s *stream) Device() backend.Device { return s.d }

// usable is the error of a stream or device that is closed.
func (s *stream) usable() error {
	switch {
	case s.closed:
		return closed("stream")
	case s.d.closed.Load():
		return closed("device")
	}
	return nil
}

// bytes is the range [off, off+n) of an operand of a transfer.
func (s *stream) bytes(call, operand string, b backend.Buffer, off, n int64) ([]byte, error) {
	m, ok := b.(*buffer)
	if !ok || m.d != s.d {
		return nil, foreign(call, operand)
	}
	if m.freed {
		return nil, closed(call + ": buffer " + operand)
	}
	if off < 0 || n < 0 || off > m.Len() || n > m.Len()-off {
		return nil, &backend.ArgumentError{Kernel: "simd " + call, Operand: operand,
			Why: fmt.Sprintf("%d bytes at %d do not fit", n, off), Want: m.Len(), Got: off + n}
	}
	return m.data[off : off+n], nil
}

func (s *stream) Upload(dst backend.Buffer, off int64, src []byte) error {
	if err := s.outsideCapture("upload"); err != nil {
		return err
	}
	to, err := s.bytes("upload", "dst", dst, off, int64(len(src)))
	if err == nil {
		copy(to, src)
	}
	return err
}

func (s *stream) Download(dst []byte, src backend.Buffer, off int64) error {
	if err := s.outsideCapture("download"); err != nil {
		return err
	}
	from, err := s.bytes("download", "src", src, off, int64(len(dst)))
	if err == nil {
		copy(dst, from)
	}
	return err
}

func (s *stream) Copy(dst backend.Buffer, dstOff int64, src backend.Buffer, srcOff, n int64) error {
	if err := s.usable(); err != nil {
		return err
	}
	to, err := s.bytes("copy", "dst", dst, dstOff, n)
	if err != nil {
		return err
	}
	from, err := s.bytes("copy", "src", src, srcOff, n)
	if err != nil {
		return err
	}
	if dst == src && dstOff < srcOff+n && srcOff < dstOff+n && n > 0 {
		return &backend.ArgumentError{Kernel: "simd copy", Operand: "dst",
			Why: fmt.Sprintf("%d bytes at %d overlap those at %d", n, dstOff, srcOff)}
	}
	if s.recorded != nil {
		s.recorded.nodes = append(s.recorded.nodes, node{dst: dst, src: src, dstOff: dstOff, srcOff: srcOff, n: n})
		return nil
	}
	copy(to, from)
	return nil
}

// outsideCapture is usable for operations that a graph cannot hold.
func (s *stream) outsideCapture(what string) error {
	if err := s.usable(); err != nil {
		return err
	}
	if s.recorded != nil {
		return capturing(what)
	}
	return nil
}

func (s *stream) Launch(p backend.Program, c *backend.Call) error {
	if err := s.usable(); err != nil {
		return err
	}
	g, ok := p.(*program)
	if !ok || g.d != s.d {
		return foreign("launch", "program")
	}
	if err := s.live(g, c); err != nil {
		return err
	}
	shared, local := g.v.sizes(c)
	need := shared + local*int64(s.d.workers)
	if s.recorded != nil && !s.scratch.Fits(need) {
		return capturing("growth of scratch")
	}
	m, err := s.scratch.Take(need)
	if err != nil {
		return err
	}
	if s.recorded != nil {
		s.recorded.add(s, g, c, m)
		return nil
	}
	s.run(g, c, m, shared, local)
	return nil
}

// live refuses operands of another device, whose memory a body cannot find, and those that
// were freed since their view was made.
func (s *stream) live(p *program, c *backend.Call) error {
	for i := range c.Operands[:c.NOperand] {
		if c.Operands[i].Buf == nil {
			continue
		}
		b, ok := c.Operands[i].Buf.(*buffer)
		switch {
		case !ok || b.d != s.d:
			return foreign("launch "+p.Kernel(), p.operand(i))
		case b.freed:
			return closed(fmt.Sprintf("%s: buffer of operand %s", p.Kernel(), p.operand(i)))
		}
	}
	return nil
}

// run does the stages of a launch in scratch block m, nil for none, of which the launch
// takes shared bytes and local bytes for each worker.
func (s *stream) run(p *program, c *backend.Call, m *arena.Memory[scratch], shared, local int64) {
	j := &s.job
	var data []byte
	if m != nil {
		data = m.M.data[:shared+local*int64(s.d.workers)]
	}
	if s.d.poison {
		for i := range data {
			data[i] = 0xff
		}
	}
	j.prepare(p.v, c, &s.status, data, shared, local)
	todo := j.whole()
	if p.v.start != nil {
		p.v.start(todo)
	}
	switch {
	case todo.Lo == todo.Hi: // start has done them, or there are none
	case j.tiles > 1 && s.d.workers > 1:
		j.open()
		s.d.help(j, int(min(j.tiles, int64(s.d.workers))-1))
		j.run(0)
		j.wait()
	default:
		j.run(0)
	}
	if p.v.finish != nil {
		p.v.finish(j.whole())
	}
	j.forget()
}

// Record implements backend.Stream: work before it is done, so the event is the time.
func (s *stream) Record() (backend.Event, error) {
	if err := s.outsideCapture("record"); err != nil {
		return nil, err
	}
	return &event{d: s.d, at: time.Now()}, nil
}

// Wait has nothing to wait for: an event exists only after the work before it.
func (s *stream) Wait(e backend.Event) error {
	if err := s.outsideCapture("wait"); err != nil {
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

func (s *stream) Sync() error {
	if err := s.outsideCapture("sync"); err != nil {
		return err
	}
	return s.status.take()
}

func (s *stream) Close() error {
	if s.closed {
		return closed("stream")
	}
	s.closed = true
	return s.scratch.Close()
}

// ReserveScratch implements backend.ScratchReserver.
func (s *stream) ReserveScratch(n int64) (release func(), err error) {
	if err := s.outsideCapture("growth of scratch"); err != nil {
		return nil, err
	}
	m, err := s.scratch.Take(n)
	if err != nil {
		return nil, err
	}
	return s.scratch.Pin(m), nil
}

// event is a point in time.
type event struct {
	d      *device
	at     time.Time
	closed bool
}

func (e *event) Elapsed(since backend.Event) (time.Duration, error) {
	o, ok := since.(*event)
	switch {
	case !ok || o.d != e.d:
		return 0, foreign("elapsed", "event")
	case e.closed || o.closed:
		return 0, closed("event")
	}
	return e.at.Sub(o.at), nil
}

func (e *event) Close() error {
	if e.closed {
		return closed("event")
	}
	e.closed = true
	return nil
}

// statusWord is the data error of a stream, as kernel.StatusWord encodes it; 0 is none.
type statusWord struct{ word atomic.Uint64 }

// raise keeps the larger word.
func (w *statusWord) raise(code, operand int, tag int, index int64) {
	word := kernel.StatusWord(code, operand, tag, index)
	for {
		old := w.word.Load()
		if old >= word || w.word.CompareAndSwap(old, word) {
			return
		}
	}
}

// take clears the word and returns what it stood for.
func (w *statusWord) take() error {
	word := w.word.Swap(0)
	if word == 0 {
		return nil
	}
	return kernel.StatusError(tagged(kernel.StatusTag(word)), word)
}
