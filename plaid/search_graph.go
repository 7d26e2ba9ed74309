package plaid

import (
	"errors"

	"github.com/likbench/likbench/backend"
)

// graphKey is all that the operands of a sequence depend on beside the buffers.
type graphKey struct {
	sh     shape
	method Method
	screen Screen
	pruned bool
	floor  bool
	all    bool // documents are the index's own
}

// mostGraphs bounds what a searcher keeps: single queries of every usual length, and some
// batches.
const mostGraphs = 128

// launches runs the stages between the transfers: as a graph, from the second time on that
// a shape comes, where the device records graphs and no stage needs the host.
func (s *Searcher) launches() error {
	r := &s.run
	capturer, ok := s.stream.(backend.GraphCapturer)
	if !ok || r.timed || r.p.eligible || r.p.cut || s.ix.opts.Fallback != nil {
		return s.enqueue()
	}
	key := graphKey{sh: r.sh, method: r.p.method, screen: r.screen, pruned: r.p.pruned, floor: r.p.floor, all: s.sel.all}
	graph, seen := s.graphs[key]
	if graph != nil {
		if err := r.ctx.Err(); err != nil {
			return cancelled(err)
		}
		return graph.Replay(s.stream)
	}
	if !seen {
		if len(s.graphs) >= mostGraphs {
			if err := s.forget(); err != nil {
				return err
			}
		}
		if err := s.enqueue(); err != nil { // not all is prepared
			return err
		}
		if s.graphs == nil {
			s.graphs = map[graphKey]backend.Graph{}
		}
		s.graphs[key] = nil
		return nil
	}
	// Nothing may be prepared inside a capture: the first run of this shape did that, and
	// buffers do not change without forget.
	graph, err := capturer.Capture(s.enqueue)
	if err != nil {
		return err
	}
	s.graphs[key] = graph
	return graph.Replay(s.stream)
}

// forget closes the graphs: they hold buffers that are about to go.
func (s *Searcher) forget() error {
	var errs []error
	for key, g := range s.graphs {
		if g != nil {
			errs = append(errs, g.Close())
		}
		delete(s.graphs, key)
	}
	return errors.Join(errs...)
}
