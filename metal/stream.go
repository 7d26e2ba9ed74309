package metal

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/internal/arena"
	"github.com/likbench/likbench/internal/meter"
	"github.com/likbench/likbench/metal/mtl"
)

// commitEvery is the launches that are recorded before the command buffer is committed: a commit costs about as much
// host time as ten launches, and the GPU should not wait long for its first.
const commitEvery = 32

// scratch is a stream's workspace with its accounting.
type scratch struct {
	mem    mtl.Buffer
	ticket meter.Ticket
}

// stream is a command queue. One command buffer is being recorded; those before it are in flight.
type stream struct {
	d       *device
	queue   mtl.Queue
	event   *counter // the stream's recorded points
	value   uint64
	arena   *arena.Arena[scratch]
	status  scratch
	tags    []*program // by tag: programs launched since the status was last read
	open    *submission
	flight  []*submission
	busy    bool  // counted in the device's working
	failure error // first since the last Sync
	closed  bool

	block    [maxBlock]byte
	bound    [backend.MaxOperands + 2]mtl.Bound
	dispatch mtl.Dispatch
}

// NewStream implements backend.Device.
func (d *device) NewStream() (backend.Stream, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	s := &stream{d: d}
	s.arena = arena.New(s.allocScratch, func(m scratch, _ int64) error { return s.freeScratch(m) })
	var err error
	if s.queue, err = d.dev.NewQueue(); err != nil {
		return nil, driverError(err, "")
	}
	e, err := d.dev.NewEvent()
	if err != nil {
		s.queue.Release()
		return nil, driverError(err, "")
	}
	s.event = newCounter(e)
	if s.status, err = s.allocScratch(statusBytes); err != nil {
		s.event.release()
		s.queue.Release()
		return nil, err
	}
	clear(s.status.mem.Bytes()[:statusBytes])
	d.mu.Lock()
	defer d.mu.Unlock()
	d.streams[s] = struct{}{}
	return s, nil
}

func (s *stream) allocScratch(bytes int64) (scratch, error) {
	mem, t, err := s.d.memory.AllocateScratch(bytes)
	return scratch{mem, t}, err
}

func (s *stream) freeScratch(m scratch) error { return s.d.memory.Release(m.mem, m.ticket) }

func (s *stream) Device() backend.Device { return s.d }

func (s *stream) check(call string) error {
	if s.closed {
		return closed("stream: " + call)
	}
	return s.d.check()
}

// record returns the open command buffer.
func (s *stream) record() (*submission, error) {
	if s.open != nil {
		return s.open, nil
	}
	cb, err := s.queue.CommandBuffer()
	if err != nil {
		return nil, driverError(err, "")
	}
	if !s.busy {
		s.busy = true
		s.d.working.Add(1)
	}
	s.open = newSubmission(cb)
	return s.open, nil
}

// commit sends the open command buffer off.
func (s *stream) commit() error {
	if s.open == nil {
		return nil
	}
	c := s.open
	s.open = nil
	s.flight = append(s.flight, c)
	c.committed = true
	return driverError(c.cb.Commit(), c.names())
}

// drain waits for everything recorded and keeps the first failure for Sync.
func (s *stream) drain() error {
	err := s.commit()
	for _, c := range s.flight {
		err = errors.Join(err, c.wait())
		c.release()
	}
	s.flight = s.flight[:0]
	if s.busy {
		s.busy = false
		s.d.working.Add(-1)
	}
	if err != nil {
		s.fail(err)
	}
	return err
}

func (s *stream) fail(err error) {
	if s.failure == nil {
		s.failure = err
	}
	if errors.Is(err, backend.ErrDeviceLost) {
		s.d.lost.CompareAndSwap(nil, &err)
	}
}

// span checks a range of a buffer of this device.
func (s *stream) span(b backend.Buffer, off, n int64, call, operand string) (*buffer, error) {
	if err := s.check(call); err != nil {
		return nil, err
	}
	m, err := s.d.metal(b, call, operand)
	if err != nil {
		return nil, err
	}
	if off < 0 || n < 0 || off > m.n-n {
		return nil, &backend.ArgumentError{Kernel: "metal " + call, Operand: operand, Why: "range past its end", Want: m.n, Got: off + n}
	}
	return m, nil
}

// Upload waits for the stream's work and copies: the memory is shared.
func (s *stream) Upload(dst backend.Buffer, off int64, src []byte) error {
	m, err := s.span(dst, off, int64(len(src)), "upload", "dst")
	if err != nil {
		return err
	}
	if err := s.drain(); err != nil {
		return err
	}
	copy(m.mem.Bytes()[off:], src)
	return nil
}

// Download waits for the stream's work and copies.
func (s *stream) Download(dst []byte, src backend.Buffer, off int64) error {
	m, err := s.span(src, off, int64(len(dst)), "download", "src")
	if err != nil {
		return err
	}
	if err := s.drain(); err != nil {
		return err
	}
	copy(dst, m.mem.Bytes()[off:])
	return nil
}

// blitUnit is the alignment that the blit encoder demands of offsets and sizes on macOS.
const blitUnit = 4

// Copy is recorded; ranges that the blit encoder does not take are copied by the CPU once the stream has drained.
func (s *stream) Copy(dst backend.Buffer, dstOff int64, src backend.Buffer, srcOff, n int64) error {
	to, err := s.span(dst, dstOff, n, "copy", "dst")
	if err != nil {
		return err
	}
	from, err := s.span(src, srcOff, n, "copy", "src")
	if err != nil || n == 0 {
		return err
	}
	if to == from && dstOff < srcOff+n && srcOff < dstOff+n {
		return &backend.ArgumentError{Kernel: "metal copy", Operand: "dst",
			Why: fmt.Sprintf("%d bytes at %d overlap those at %d", n, dstOff, srcOff)}
	}
	if (dstOff|srcOff|n)%blitUnit != 0 {
		if err := s.drain(); err != nil {
			return err
		}
		copy(to.mem.Bytes()[dstOff:dstOff+n], from.mem.Bytes()[srcOff:])
		return nil
	}
	c, err := s.record()
	if err != nil {
		return err
	}
	return driverError(c.cb.Copy(to.mem, dstOff, from.mem, srcOff, n), "copy")
}

// ReserveScratch implements backend.ScratchReserver.
func (s *stream) ReserveScratch(bytes int64) (func(), error) {
	if err := s.check("reserve scratch"); err != nil {
		return nil, err
	}
	m, err := s.arena.Take(bytes)
	if err != nil {
		return nil, err
	}
	return s.arena.Pin(m), nil
}

// Sync implements backend.Stream.
func (s *stream) Sync() error {
	if s.closed {
		return closed("stream: sync")
	}
	s.drain()
	if w := statusWord(s.status.mem.Bytes()); w != 0 && s.failure == nil {
		s.failure = kernel.StatusError(s.tags[kernel.StatusTag(w)].v.kernel, w)
	}
	s.tags = s.tags[:0]
	err := s.failure
	s.failure = nil
	return err
}

// tag numbers a program in status words. When the numbers are used up the status is read at once and its error kept.
func (s *stream) tag(p *program) int {
	if i := slices.Index(s.tags, p); i >= 0 {
		return i
	}
	if len(s.tags) == statusTags {
		s.failure = s.Sync()
	}
	s.tags = append(s.tags, p)
	return len(s.tags) - 1
}

// Close waits for the stream's work. Failures that no Sync has returned are returned.
func (s *stream) Close() error {
	if s.closed {
		return closed("stream")
	}
	err := s.Sync()
	if _, data := err.(*backend.ArgumentError); data {
		err = nil // of operands, not of the stream
	}
	s.closed = true
	err = errors.Join(err, s.arena.Close(), s.freeScratch(s.status))
	s.event.release()
	s.queue.Release()
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	delete(s.d.streams, s)
	return err
}

// kernelNames joins the distinct names of programs.
func kernelNames(ps []*program) string {
	var names []string
	for _, p := range ps {
		if n := p.Kernel() + "/" + p.Variant(); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return strings.Join(names, ", ")
}
