package metal

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/metal/mtl"
)

// submission is one command buffer with what was recorded in it. It is shared by its stream and by events.
type submission struct {
	cb        mtl.CommandBuffer
	programs  []*program
	launches  int
	committed bool
	refs      atomic.Int32
	once      sync.Once
	err       error
	start     float64
	end       float64
}

func newSubmission(cb mtl.CommandBuffer) *submission {
	c := &submission{cb: cb}
	c.refs.Store(1)
	return c
}

func (c *submission) names() string { return kernelNames(c.programs) }

// wait blocks until the work has completed and returns its failure, naming the kernels in it.
func (c *submission) wait() error {
	c.once.Do(func() {
		c.err = driverError(c.cb.Wait(), c.names())
		c.start, c.end = c.cb.Times()
	})
	return c.err
}

func (c *submission) release() {
	if c.refs.Add(-1) == 0 {
		c.cb.Release()
	}
}

// Launch implements backend.Stream.
func (s *stream) Launch(p backend.Program, c *backend.Call) error {
	if err := s.check("launch"); err != nil {
		return err
	}
	pr, ok := p.(*program)
	if !ok || pr.d != s.d {
		return foreign("launch", "program")
	}
	work := pr.Workspace(c)
	mem, err := s.takeScratch(work)
	if err != nil {
		return err
	}
	tag := s.tag(pr)
	if err := s.bind(pr, c, mem); err != nil {
		return err
	}
	s.dispatch.Bytes = pr.v.fillBlock(s.block[:], c, work, tag)
	for i := range pr.v.stages {
		if err := s.stage(pr, i, c); err != nil {
			return err
		}
	}
	return nil
}

// takeScratch returns the workspace. A block that is outgrown is given back, which is safe while work uses it: see
// source.Release. Poison has to wait for that work.
func (s *stream) takeScratch(bytes int64) (mtl.Buffer, error) {
	if bytes == 0 {
		return s.status.mem, nil
	}
	m, err := s.arena.Take(bytes)
	if err != nil {
		return nil, err
	}
	if s.d.poison {
		if err := s.drain(); err != nil {
			return nil, err
		}
		b := m.M.mem.Bytes()[:bytes]
		for i := range b {
			b[i] = 0xff
		}
	}
	return m.M.mem, nil
}

// bind sets the buffers: operands in declaration order, scratch, status. An absent operand and absent scratch are bound
// to the status, since Metal's validation wants something at every index that a kernel names.
func (s *stream) bind(p *program, c *backend.Call, scratch mtl.Buffer) error {
	n := int(c.NOperand)
	for i := range c.Operands[:n] {
		v := &c.Operands[i]
		s.bound[i] = mtl.Bound{Buffer: s.status.mem}
		if v.Absent() {
			continue
		}
		b, err := s.d.metal(v.Buf, p.Kernel(), p.v.kernel.Operands()[i].Name)
		if err != nil {
			return err
		}
		s.bound[i] = mtl.Bound{Buffer: b.mem, Offset: v.Off}
	}
	s.bound[n] = mtl.Bound{Buffer: scratch}
	s.bound[n+1] = mtl.Bound{Buffer: s.status.mem}
	s.dispatch.Buffers = s.bound[:n+2]
	return nil
}

func (s *stream) stage(p *program, i int, c *backend.Call) error {
	var g Geometry
	st := &p.v.stages[i]
	st.geometry(c, &g)
	if g.Skip {
		return nil
	}
	if g.Groups.X > maxGroups || g.Groups.Y > maxGroups {
		return p.v.unsupported("a grid of %d by %d threadgroups; positions have 32 bits", g.Groups.X, g.Groups.Y)
	}
	sub, err := s.record()
	if err != nil {
		return err
	}
	s.dispatch.Pipeline, s.dispatch.Groups, s.dispatch.ThreadsGroup = p.pipelines[i], g.Groups, g.Threads
	if err := sub.cb.Dispatch(&s.dispatch); err != nil {
		return driverError(err, "")
	}
	if n := len(sub.programs); n == 0 || sub.programs[n-1] != p {
		sub.programs = append(sub.programs, p)
	}
	if sub.launches++; sub.launches >= commitEvery {
		return s.commit()
	}
	return nil
}

// counter is Metal's event that counts the recorded points of a stream. Events keep it: they may be waited for after
// their stream is gone.
type counter struct {
	event mtl.Event
	refs  atomic.Int32
}

func newCounter(e mtl.Event) *counter {
	c := &counter{event: e}
	c.refs.Store(1)
	return c
}

func (c *counter) release() {
	if c.refs.Add(-1) == 0 {
		c.event.Release()
	}
}

// event is a point in a stream: the end of a command buffer.
type event struct {
	s       *stream
	sub     *submission
	counter *counter
	value   uint64
	closed  atomic.Bool
}

// Record implements backend.Stream: it ends and commits the command buffer, so the event's time is a command buffer
// boundary.
func (s *stream) Record() (backend.Event, error) {
	if err := s.check("record"); err != nil {
		return nil, err
	}
	c, err := s.record()
	if err != nil {
		return nil, err
	}
	s.value++
	if err := c.cb.Signal(s.event.event, s.value); err != nil {
		return nil, driverError(err, "")
	}
	c.refs.Add(1)
	s.event.refs.Add(1)
	return &event{s: s, sub: c, counter: s.event, value: s.value}, s.commit()
}

// Wait implements backend.Stream.
func (s *stream) Wait(e backend.Event) error {
	if err := s.check("wait"); err != nil {
		return err
	}
	ev, ok := e.(*event)
	if !ok || ev.s.d != s.d {
		return foreign("wait", "event")
	}
	if ev.closed.Load() {
		return closed("event")
	}
	if ev.s == s {
		return nil // a stream is in order
	}
	c, err := s.record()
	if err != nil {
		return err
	}
	return driverError(c.cb.WaitFor(ev.counter.event, ev.value), "")
}

// Elapsed implements backend.Event: the time between the ends of two command buffers, on the device's clock.
func (e *event) Elapsed(since backend.Event) (time.Duration, error) {
	from, ok := since.(*event)
	if !ok || from.s.d != e.s.d {
		return 0, foreign("elapsed", "since")
	}
	if e.closed.Load() || from.closed.Load() {
		return 0, closed("event")
	}
	if err := from.sub.wait(); err != nil {
		return 0, err
	}
	if err := e.sub.wait(); err != nil {
		return 0, err
	}
	return time.Duration((e.sub.end - from.sub.end) * float64(time.Second)), nil
}

// Close implements backend.Event.
func (e *event) Close() error {
	if e.closed.Swap(true) {
		return closed("event")
	}
	e.sub.release()
	e.counter.release()
	return nil
}
