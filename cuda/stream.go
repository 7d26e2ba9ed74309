package cuda

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/cuda/driver"
	"github.com/likbench/likbench/internal/arena"
	"github.com/likbench/likbench/internal/meter"
)

// stream is one queue of the device. Everything a launch needs lies in it, so that a launch allocates nothing.
type stream struct {
	d       *device
	handle  driver.Stream
	scratch *arena.Arena[scratch]
	status  *uint64        // page-locked and mapped: kernels set it, Sync reads it without a copy
	mapped  driver.Pointer // the device's address of status
	staging staging
	launch  launch
	last    *program // for the text of a failure that shows up later

	busy      atomic.Bool // work since the last wait of the owner
	capturing atomic.Bool
	recording *graph
	replayed  []*graph // graphs of other streams whose status words are ours to report
	closed    bool
}

// scratch is one block of an arena.
type scratch struct {
	address driver.Pointer
	ticket  meter.Ticket
}

// NewStream makes a queue.
func (d *device) NewStream() (backend.Stream, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	h, st := d.api.StreamCreate()
	if err := d.check("cuStreamCreate", st); err != nil {
		return nil, err
	}
	s := &stream{d: d, handle: h}
	if err := s.mapStatus(); err != nil {
		return nil, errors.Join(err, d.check("cuStreamDestroy", d.api.StreamDestroy(h)))
	}
	s.scratch = arena.New(
		func(n int64) (scratch, error) {
			p, t, err := d.memory.AllocateScratch(n)
			return scratch{p, t}, err
		},
		s.freeScratch)
	s.launch.init(d)
	d.tables.Lock()
	d.streams[s] = struct{}{}
	d.tables.Unlock()
	return s, nil
}

// mapStatus makes the status word.
func (s *stream) mapStatus() error {
	p, st := s.d.api.HostAlloc(int64(unsafe.Sizeof(*s.status)))
	if err := s.d.check("cuMemHostAlloc", st); err != nil {
		return err
	}
	s.status = (*uint64)(p)
	*s.status = 0
	s.mapped, st = s.d.api.HostPointer(p)
	if err := s.d.check("cuMemHostGetDevicePointer", st); err != nil {
		return errors.Join(err, s.d.check("cuMemFreeHost", s.d.api.HostFree(p)))
	}
	return nil
}

// freeScratch gives an outgrown or unpinned block back, after the work that may use it.
func (s *stream) freeScratch(m scratch, _ int64) error {
	var err error
	if s.busy.Load() && s.d.lost.Load() == nil && !s.capturing.Load() {
		err = s.d.check("cuStreamSynchronize", s.d.api.StreamSync(s.handle))
	}
	return errors.Join(err, s.d.memory.Release(m.address, m.ticket))
}

// Device is where it runs.
func (s *stream) Device() backend.Device { return s.d }

// outsideCapture refuses operations that a graph cannot hold.
func (s *stream) outsideCapture(what string) error {
	if s.closed {
		return closed("stream")
	}
	if s.recording != nil {
		return capturing(what)
	}
	return nil
}

// Copy moves bytes on the device.
func (s *stream) Copy(dst backend.Buffer, dstOff int64, src backend.Buffer, srcOff, n int64) error {
	if s.closed {
		return closed("stream")
	}
	to, err := s.d.part("copy", "dst", dst, dstOff, n)
	if err != nil {
		return err
	}
	from, err := s.d.part("copy", "src", src, srcOff, n)
	if err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	if to < from+driver.Pointer(n) && from < to+driver.Pointer(n) {
		return &backend.ArgumentError{Kernel: "cuda copy", Operand: "dst",
			Why: fmt.Sprintf("%d bytes at %d overlap those at %d", n, dstOff, srcOff)}
	}
	if err := s.d.enter(); err != nil {
		return err
	}
	defer s.d.leave()
	s.busy.Store(true)
	return s.d.check("cuMemcpyDtoDAsync", s.d.api.Copy(to, from, n, s.handle))
}

// Sync waits for the work enqueued. A failure names the kernel launched last, since the driver does not say which
// of those in flight it was.
func (s *stream) Sync() error {
	if err := s.outsideCapture("sync"); err != nil {
		return err
	}
	if err := s.d.enter(); err != nil {
		return err
	}
	defer s.d.leave()
	return s.wait()
}

// wait is Sync inside enter.
func (s *stream) wait() error {
	st := s.d.api.StreamSync(s.handle)
	if st != driver.Success {
		call := "cuStreamSynchronize"
		if s.last != nil {
			call += " after " + s.last.Kernel() + "/" + s.last.Variant()
		}
		return s.d.check(call, st)
	}
	s.busy.Store(false)
	s.staging.rest()
	word := atomic.SwapUint64(s.status, 0)
	for _, g := range s.replayed {
		if !g.home.closed {
			word = max(word, atomic.SwapUint64(g.home.status, 0))
		}
	}
	s.replayed = s.replayed[:0]
	if word == 0 {
		return nil
	}
	return s.d.dataError(word)
}

// dataError is what a status word stands for.
func (d *device) dataError(word uint64) error {
	d.tables.Lock()
	defer d.tables.Unlock()
	tag := kernel.StatusTag(word)
	if tag < 1 || tag >= len(d.tagged) {
		return fmt.Errorf("cuda: status word %#x names variant %d of %d", word, tag, len(d.tagged)-1)
	}
	return kernel.StatusError(d.tagged[tag].v.kernel, word)
}

// ReserveScratch implements backend.ScratchReserver.
func (s *stream) ReserveScratch(n int64) (release func(), err error) {
	if err := s.outsideCapture("growth of scratch"); err != nil {
		return nil, err
	}
	if err := s.d.enter(); err != nil {
		return nil, err
	}
	defer s.d.leave()
	m, err := s.scratch.Take(n)
	if err != nil {
		return nil, err
	}
	return s.unpin(s.scratch.Pin(m)), nil
}

// unpin makes the release of a pinned block callable from outside: it may give memory back. Where the device cannot
// be entered the block stays until the stream's Close, and with a closed device it is gone.
func (s *stream) unpin(release func()) func() {
	return func() {
		if s.d.enter() == nil {
			defer s.d.leave()
			release()
		}
	}
}

// Close waits for the work and gives the stream's memory back.
func (s *stream) Close() error {
	if err := s.outsideCapture("close"); err != nil {
		return err
	}
	s.closed = true
	err := s.d.enter()
	if err != nil {
		if s.d.lost.Load() != nil && !errors.Is(err, backend.ErrClosed) {
			return nil // a lost device has nothing to give back
		}
		return err
	}
	defer s.d.leave()
	s.d.tables.Lock()
	delete(s.d.streams, s)
	s.d.tables.Unlock()
	return s.dispose()
}

// dispose gives everything back; the context is current.
func (s *stream) dispose() error {
	d := s.d
	err := d.check("cuStreamSynchronize", d.api.StreamSync(s.handle))
	s.busy.Store(false)
	return errors.Join(err, s.scratch.Close(), s.staging.dispose(d),
		d.check("cuMemFreeHost", d.api.HostFree(unsafe.Pointer(s.status))),
		d.check("cuStreamDestroy", d.api.StreamDestroy(s.handle)))
}

// event is a point in a stream.
type event struct {
	d      *device
	handle driver.Event
	closed bool
}

// Record puts an event behind the work so far.
func (s *stream) Record() (backend.Event, error) {
	if err := s.outsideCapture("record"); err != nil {
		return nil, err
	}
	if err := s.d.enter(); err != nil {
		return nil, err
	}
	defer s.d.leave()
	h, st := s.d.api.EventCreate(true)
	if err := s.d.check("cuEventCreate", st); err != nil {
		return nil, err
	}
	if err := s.d.check("cuEventRecord", s.d.api.EventRecord(h, s.handle)); err != nil {
		return nil, errors.Join(err, s.d.check("cuEventDestroy", s.d.api.EventDestroy(h)))
	}
	return &event{d: s.d, handle: h}, nil
}

// Wait orders this stream after an event of the same device.
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
	if err := s.d.enter(); err != nil {
		return err
	}
	defer s.d.leave()
	s.busy.Store(true)
	return s.d.check("cuStreamWaitEvent", s.d.api.StreamWait(s.handle, v.handle))
}

// Elapsed waits for both events and reads the device's clock, which steps by half a microsecond.
func (e *event) Elapsed(since backend.Event) (time.Duration, error) {
	o, ok := since.(*event)
	switch {
	case !ok || o.d != e.d:
		return 0, foreign("elapsed", "event")
	case e.closed || o.closed:
		return 0, closed("event")
	}
	if err := e.d.enter(); err != nil {
		return 0, err
	}
	defer e.d.leave()
	for _, h := range []driver.Event{o.handle, e.handle} {
		if err := e.d.check("cuEventSynchronize", e.d.api.EventSync(h)); err != nil {
			return 0, err
		}
	}
	ms, st := e.d.api.EventElapsed(o.handle, e.handle)
	return time.Duration(float64(ms) * float64(time.Millisecond)), e.d.check("cuEventElapsedTime", st)
}

// Close ends the event; a second call returns ErrClosed.
func (e *event) Close() error {
	if e.closed {
		return closed("event")
	}
	e.closed = true
	if err := e.d.enter(); err != nil {
		if e.d.lost.Load() != nil && !errors.Is(err, backend.ErrClosed) {
			return nil
		}
		return err
	}
	defer e.d.leave()
	return e.d.check("cuEventDestroy", e.d.api.EventDestroy(e.handle))
}
