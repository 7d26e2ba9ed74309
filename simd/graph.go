package simd

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/internal/arena"
)

// node is a recorded launch, or a copy if it has no program.
type node struct {
	p      *program
	call   backend.Call // its operand struct is a copy too
	memory *arena.Memory[scratch]

	dst, src          backend.Buffer
	dstOff, srcOff, n int64
}

// graph is a list of launches in the scratch they were recorded with. It is not safe for
// concurrent use: its replays share that scratch.
type graph struct {
	d       *device
	nodes   []node
	release []func()
	closed  bool
}

// Capture implements backend.GraphCapturer.
func (s *stream) Capture(record func() error) (backend.Graph, error) {
	if err := s.outsideCapture("capture"); err != nil {
		return nil, err
	}
	g := &graph{d: s.d}
	s.recorded = g
	s.d.capturing.Add(1)
	kept := false
	defer func() { // a panic of record passes through here too
		s.recorded = nil
		s.d.capturing.Add(-1)
		if !kept {
			g.Close()
		}
	}()
	if err := record(); err != nil {
		return nil, err
	}
	kept = true
	return g, nil
}

func (g *graph) add(s *stream, p *program, c *backend.Call, m *arena.Memory[scratch]) {
	n := node{p: p, call: *c, memory: m}
	n.call.Args = p.v.clone(c.Args)
	g.nodes = append(g.nodes, n)
	if m != nil {
		g.release = append(g.release, s.scratch.Pin(m))
	}
}

// Replay runs the nodes in order on s, which may be another stream of the device.
func (g *graph) Replay(to backend.Stream) error {
	s, ok := to.(*stream)
	if !ok || s.d != g.d {
		return foreign("replay", "stream")
	}
	if g.closed {
		return closed("graph")
	}
	if err := s.outsideCapture("replay"); err != nil {
		return err
	}
	for i := range g.nodes {
		n := &g.nodes[i]
		if n.p == nil {
			if err := s.Copy(n.dst, n.dstOff, n.src, n.srcOff, n.n); err != nil {
				return err
			}
			continue
		}
		if err := s.live(n.p, &n.call); err != nil {
			return err
		}
		shared, local := n.p.v.sizes(&n.call)
		s.run(n.p, &n.call, n.memory, shared, local)
	}
	return nil
}

func (g *graph) Close() error {
	if g.closed {
		return closed("graph")
	}
	g.closed = true
	for _, r := range g.release {
		r()
	}
	return nil
}
