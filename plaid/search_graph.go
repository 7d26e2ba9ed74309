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
	part   stagePart
}

// stagePart is which of the stages a graph holds.
type stagePart uint8

const (
	allStages stagePart = iota
	firstStages
	lastStages
)

// mostGraphs bounds what a searcher keeps: single queries of every usual length, and some
// batches.
const mostGraphs = 128

// launches runs the stages between the transfers. Where the screen's forms of the queries go
// up apart, that is between two halves of the stages.
func (s *Searcher) launches() error {
	if !s.run.apart {
		return s.stagesOf(allStages, s.enqueue)
	}
	if err := s.stagesOf(firstStages, s.approach); err != nil {
		return err
	}
	if err := s.uploadForms(); err != nil {
		return err
	}
	return s.stagesOf(lastStages, s.rank)
}

// stagesOf runs stages: as a graph, from the second time on that a shape comes, where the
// device records graphs and no stage needs the host.
func (s *Searcher) stagesOf(which stagePart, enqueue func() error) error {
	r := &s.run
	capturer, ok := s.stream.(backend.GraphCapturer)
	if !ok || r.timed || r.p.eligible || r.p.cut || s.ix.opts.Fallback != nil {
		return enqueue()
	}
	key := graphKey{sh: r.sh, method: r.p.method, screen: r.screen, pruned: r.p.pruned, floor: r.p.floor, all: s.sel.all, part: which}
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
		if err := enqueue(); err != nil { // not all is prepared
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
	graph, err := capturer.Capture(enqueue)
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
