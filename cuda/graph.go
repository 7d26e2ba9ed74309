package cuda

import (
	"errors"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/cuda/driver"
	"github.com/likbench/likbench/internal/arena"
)

// graph is a recorded piece of a stream's work. The driver keeps copies of the argument blocks; the scratch and the
// status word are those of the stream it was recorded on, its home, which must stay open.
type graph struct {
	home    *stream
	exec    driver.GraphExec
	order   driver.Event // between the home stream and another that replays
	pinned  []*arena.Memory[scratch]
	release []func()
	closed  bool
}

// Capture implements backend.GraphCapturer.
func (s *stream) Capture(record func() error) (backend.Graph, error) {
	if err := s.outsideCapture("capture"); err != nil {
		return nil, err
	}
	if !s.d.api.Has(driver.Graphs) {
		return nil, &backend.UnsupportedError{Backend: name, Kernel: "graph", Reason: "driver lacks " + driver.Graphs.String()}
	}
	if err := s.begin(); err != nil {
		return nil, err
	}
	g := &graph{home: s}
	s.recording = g
	var err error
	func() {
		returned := false
		defer func() {
			s.recording = nil
			err = errors.Join(err, g.end())
			if !returned { // a panic passes through: nobody will have the graph
				_ = g.dispose()
			}
		}()
		err = record()
		returned = true
	}()
	if err != nil {
		return nil, errors.Join(err, g.dispose())
	}
	return g, nil
}

// begin starts recording.
func (s *stream) begin() error {
	if err := s.d.enter(); err != nil {
		return err
	}
	defer s.d.leave()
	if err := s.d.check("cuStreamBeginCapture", s.d.api.CaptureBegin(s.handle)); err != nil {
		return err
	}
	s.capturing.Store(true)
	s.d.capturing.Add(1)
	return nil
}

// end stops recording and makes the graph ready. It runs after a panic of the recording function too.
func (g *graph) end() error {
	s := g.home
	s.capturing.Store(false)
	s.d.capturing.Add(-1)
	if err := s.d.enter(); err != nil {
		return err
	}
	defer s.d.leave()
	h, st := s.d.api.CaptureEnd(s.handle)
	if err := s.d.check("cuStreamEndCapture", st); err != nil {
		return err
	}
	exec, st := s.d.api.GraphInstantiate(h)
	err := errors.Join(s.d.check("cuGraphInstantiate", st), s.d.check("cuGraphDestroy", s.d.api.GraphDestroy(h)))
	if st == driver.Success {
		g.exec = exec
	}
	return err
}

// pin keeps a block of scratch in place until Close.
func (g *graph) pin(s *stream, m *arena.Memory[scratch]) {
	for _, p := range g.pinned {
		if p == m {
			return
		}
	}
	g.pinned = append(g.pinned, m)
	g.release = append(g.release, s.unpin(s.scratch.Pin(m)))
}

// Replay enqueues the recorded work. On a stream other than its own it is ordered after what that one has enqueued
// and before what it enqueues next, because the two share scratch.
func (g *graph) Replay(to backend.Stream) error {
	s, ok := to.(*stream)
	if !ok || s.d != g.home.d {
		return foreign("replay", "stream")
	}
	if g.closed || g.home.closed {
		return closed("graph")
	}
	if err := s.outsideCapture("replay"); err != nil {
		return err
	}
	d := s.d
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	s.busy.Store(true)
	s.last = g.home.last
	if s == g.home {
		return d.check("cuGraphLaunch", d.api.GraphLaunch(g.exec, s.handle))
	}
	if g.order == 0 {
		e, st := d.api.EventCreate(false)
		if err := d.check("cuEventCreate", st); err != nil {
			return err
		}
		g.order = e
	}
	if err := g.chain(g.home, s); err != nil {
		return err
	}
	if err := d.check("cuGraphLaunch", d.api.GraphLaunch(g.exec, s.handle)); err != nil {
		return err
	}
	s.adopt(g)
	g.home.busy.Store(true)
	return g.chain(s, g.home)
}

// chain orders stream b after what a has enqueued.
func (g *graph) chain(a, b *stream) error {
	d := a.d
	if err := d.check("cuEventRecord", d.api.EventRecord(g.order, a.handle)); err != nil {
		return err
	}
	return d.check("cuStreamWaitEvent", d.api.StreamWait(b.handle, g.order))
}

// adopt makes the data errors of a graph from another stream show up at this stream's Sync.
func (s *stream) adopt(g *graph) {
	for _, r := range s.replayed {
		if r == g {
			return
		}
	}
	s.replayed = append(s.replayed, g)
}

// Close ends the graph once its replays are done.
func (g *graph) Close() error {
	if g.closed {
		return closed("graph")
	}
	return g.dispose()
}

func (g *graph) dispose() error {
	g.closed = true
	d := g.home.d
	err := d.enter()
	if err == nil {
		err = d.quiesce()
		if g.exec != 0 {
			err = errors.Join(err, d.check("cuGraphExecDestroy", d.api.GraphExecDestroy(g.exec)))
		}
		if g.order != 0 {
			err = errors.Join(err, d.check("cuEventDestroy", d.api.EventDestroy(g.order)))
		}
		d.leave()
	} else if d.lost.Load() != nil && !errors.Is(err, backend.ErrClosed) {
		err = nil // a lost device has nothing to give back
	}
	for _, r := range g.release {
		r()
	}
	g.release, g.pinned = nil, nil
	return err
}
