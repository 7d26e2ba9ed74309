package plaid

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/kernel"
)

// Hit is a document that a search returns.
type Hit struct {
	ID    int64       // the document's id, or its position where the source has none
	Score float32     // Fixed rounded to float32 once and scaled
	Fixed canon.Fixed // the canonical score, which decides the order
}

// Searcher searches an index. It belongs to one goroutine; its buffers and prepared
// launches are reused, and grow with the largest call.
type Searcher struct {
	ix     *Index
	stream backend.Stream
	work   backend.Buffer // all operands of a launch sequence
	have   shape          // that work has room for
	most   views          // of have
	v      views          // of the current sequence
	gen    int            // counts allocations: what was prepared before is stale
	steps  steps
	graphs map[graphKey]backend.Graph // nil: launched once, so that everything is prepared

	form Screen // of the screen that work has room for; ScreenAuto = none was needed yet

	listing backend.Buffer // documents of scans, a row a query
	listed  listed

	sel      selection
	plans    map[planKey]plan
	in       []int64                                          // host side of the block that goes up, up to the screen's forms of queries
	forms    []int64                                          // of those
	out      []int64                                          // of the block that comes down
	blocks   struct{ small, up, forms, down, left hostBlock } // what these are parts of, and what settle reads
	norms    []float64                                        // of the longest token of each query of the call
	floats   []float32
	ints     []int32
	picked   canon.Selector[canon.Fixed, int64]
	firsts   canon.Selector[float32, int32]
	first    []canon.Result[float32, int32] // of bounds
	places   []int32                        // of documents in the selection
	merge    []canon.Result[canon.Fixed, int64]
	readers  [shareMost]reader
	kths     []float64     // of the queries of the group, what reader.read returned
	open     []opened      // queries of the group that a screen left open
	left     []int32       // their documents
	fixed    []canon.Fixed // canonical scores of some of them
	portions []portion
	run      sequence
	marks    []mark
	closed   bool

	room, whole int64 // settleRoom, settleWhole and settlePortion, less in tests
	portion     int

	measuring bool // screens are compared: nothing may fall back
	apart     int  // in tests: the screen's forms go up by themselves, 1, or not, −1, whatever the device
}

// NewSearcher makes the stream of one goroutine. Buffers come with the first search.
func (ix *Index) NewSearcher() (*Searcher, error) {
	if ix.closed.Load() {
		return nil, errClosed("index")
	}
	stream, err := ix.dev.NewStream()
	if err != nil {
		return nil, err
	}
	return &Searcher{ix: ix, stream: stream, room: settleRoom, whole: settleWhole, portion: settlePortion}, nil
}

// Search returns the first k documents for a query of len(query)/Dim tokens, by canonical
// score, descending, then by id. There are fewer where fewer documents may be returned, and
// under the compatibility presets where their rules reach fewer. A query without tokens
// scores 0 everywhere: it returns the first ids.
//
// It fails with backend.ErrArgument for k below 1 and for options out of range, with
// *QueryError for a component that is not finite, with *IDError for ids that the index does
// not have, with backend.ErrClosed, and with the context's error, which is looked at
// between stages.
func (s *Searcher) Search(ctx context.Context, query []float32, k int, o SearchOptions) ([]Hit, *Stats, error) {
	if len(query)%s.ix.dim != 0 {
		return nil, nil, fmt.Errorf("plaid: query of %d components, documents have tokens of %d: %w", len(query), s.ix.dim, backend.ErrArgument)
	}
	offsets := [2]int64{0, int64(len(query) / s.ix.dim)}
	hits, stats, err := s.SearchBatch(ctx, Tokens{Vectors: query, Offsets: offsets[:], Dim: s.ix.dim}, k, o)
	if err != nil {
		return nil, nil, err
	}
	return hits[0], stats[0], nil
}

// SearchBatch is Search for several queries of any lengths. What a query returns does not
// depend on the others.
func (s *Searcher) SearchBatch(ctx context.Context, queries Tokens, k int, o SearchOptions) ([][]Hit, []*Stats, error) {
	start := time.Now()
	if err := s.check(queries, k, &o); err != nil {
		return nil, nil, err
	}
	if err := s.sel.choose(s.ix, o.Filter); err != nil {
		return nil, nil, err
	}
	if o.Preset == Exact {
		if err := s.ix.needBounds(ctx, &queries, k, &s.sel, &o); err != nil {
			return nil, nil, err
		}
	}
	c := call{queries: queries, k: min(k, max(len(s.sel.docs), 1)), o: &o}
	n := queries.Len()
	c.hits, c.stats, c.plans = make([][]Hit, n), make([]*Stats, n), make([]plan, n)
	stats := make([]Stats, n)
	for i := range n {
		c.stats[i] = &stats[i]
		tq := int(queries.Offsets[i+1] - queries.Offsets[i])
		c.plans[i] = s.plan(tq, k, &o)
		if tq == 0 || len(s.sel.docs) == 0 {
			s.trivial(&c, i, tq)
			continue
		}
		c.todo = append(c.todo, i)
	}
	if err := s.all(ctx, &c); err != nil {
		// A failed launch may have left work and a status behind, and events.
		err = errors.Join(err, s.stream.Sync())
		for _, m := range s.marks {
			err = errors.Join(err, m.event.Close())
		}
		s.marks = s.marks[:0]
		return nil, nil, err
	}
	for i := range stats {
		stats[i].Preset, stats[i].Elapsed = o.Preset, time.Since(start)
	}
	return c.hits, c.stats, nil
}

// planKey is what a plan follows from, the index aside.
type planKey struct {
	tq, k, docs              int
	tokens                   int64
	all                      bool
	preset                   Preset
	method                   Method
	probe, candidates, exact int
	threshold                float32
}

// plan is planFor, remembered: its reasons are text.
func (s *Searcher) plan(tq, k int, o *SearchOptions) plan {
	key := planKey{tq, k, len(s.sel.docs), s.sel.tokens, s.sel.all, o.Preset, o.Method, o.Probe, o.Candidates, o.Exact, o.Threshold}
	p, ok := s.plans[key]
	if !ok {
		if len(s.plans) >= mostGraphs {
			clear(s.plans)
		}
		if s.plans == nil {
			s.plans = map[planKey]plan{}
		}
		p = s.ix.planFor(tq, k, &s.sel, o)
		s.plans[key] = p
	}
	return p
}

// call is one SearchBatch.
type call struct {
	queries Tokens
	k       int
	o       *SearchOptions
	plans   []plan
	todo    []int // queries that are not answered yet
	hits    [][]Hit
	stats   []*Stats
}

func (c *call) tokens(i int) []float32 { return c.queries.part(i) }

// check refuses calls that cannot be answered.
func (s *Searcher) check(q Tokens, k int, o *SearchOptions) error {
	switch {
	case s.closed:
		return errClosed("searcher")
	case s.ix.closed.Load():
		return errClosed("index")
	}
	if err := o.check(k); err != nil {
		return err
	}
	if _, _, err := q.check("queries"); err != nil {
		return err
	}
	if q.Dim != s.ix.dim {
		return fmt.Errorf("plaid: queries have %d components, documents %d: %w", q.Dim, s.ix.dim, backend.ErrArgument)
	}
	s.norms = slices.Grow(s.norms[:0], q.Len())[:q.Len()]
	eachQuery(q.Len(), len(q.Vectors), func(_, i int) { s.norms[i] = maxNorm(q.part(i), q.Dim) })
	for i, norm := range s.norms {
		if norm-norm != 0 { // squares of float32 stay finite: a component is not
			v := q.part(i)
			at := slices.IndexFunc(v, func(x float32) bool { return x-x != 0 })
			return &QueryError{Query: i, Token: at / q.Dim, Component: at % q.Dim, Value: v[at]}
		}
	}
	return nil
}

// maxNorm is canon.MaxNorm, four rows at a time: a sum in order is one chain of additions,
// and a core keeps several going.
func maxNorm(x []float32, dim int) float64 {
	largest := 0.0
	for ; len(x) >= 4*dim; x = x[4*dim:] {
		a, b, c, d := x[:dim], x[dim:2*dim], x[2*dim:3*dim], x[3*dim:4*dim]
		var sa, sb, sc, sd float64
		for i := range dim {
			sa += float64(a[i]) * float64(a[i])
			sb += float64(b[i]) * float64(b[i])
			sc += float64(c[i]) * float64(c[i])
			sd += float64(d[i]) * float64(d[i])
		}
		largest = max(largest, sa, sb, sc, sd)
	}
	return max(math.Sqrt(largest), canon.MaxNorm(x, dim))
}

// trivial answers a query without tokens, and one that nothing may answer.
func (s *Searcher) trivial(c *call, i, tq int) {
	st := c.stats[i]
	st.Method, st.Exhaustive = MethodScan, true
	st.Reason = "no document may be returned"
	if tq == 0 {
		st.Reason = "a query without tokens scores 0 everywhere"
	}
	c.hits[i] = []Hit{}
	if tq > 0 {
		return
	}
	for _, j := range s.sel.docs[:min(c.k, len(s.sel.docs))] {
		c.hits[i] = append(c.hits[i], Hit{ID: s.ix.id(j)})
	}
}

// all answers the queries that are left, those with equal plans together, in parts that
// fit the scratch.
func (s *Searcher) all(ctx context.Context, c *call) error {
	for len(c.todo) > 0 {
		group := c.part(s)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("plaid: search: %w", err)
		}
		p := c.plans[group[0]]
		var err error
		if p.method == MethodBounds {
			err = s.bounded(ctx, c, group[0])
		} else {
			err = s.sequence(ctx, c, group, math.Inf(-1))
		}
		if err != nil {
			return err
		}
		for _, i := range group {
			if c.plans[i].widen && s.widen(c, i) {
				c.todo = append(c.todo, i)
			}
		}
	}
	return nil
}

// part takes the next queries that run together off the list.
func (c *call) part(s *Searcher) []int {
	first := c.plans[c.todo[0]]
	var group, rest []int
	var room shape
	for _, i := range c.todo {
		q := c.plans[i]
		q.reason, first.reason = "", ""
		tq := c.queries.Offsets[i+1] - c.queries.Offsets[i]
		if q == first && (len(group) == 0 || first.method != MethodBounds && s.fits(&room, tq, &first)) {
			room.nq, room.tq = room.nq+1, room.tq+tq
			group = append(group, i)
			continue
		}
		rest = append(rest, i)
	}
	c.todo = rest
	return group
}

// fits reports whether one more query of tq tokens keeps to the scratch.
func (s *Searcher) fits(room *shape, tq int64, p *plan) bool {
	documents := int64(s.ix.Len())
	if p.method == MethodScan {
		documents = int64(len(s.sel.docs))
	}
	const perDocument = 16 // candidate, its scores, a place in the listing
	return (room.tq+tq)*int64(s.ix.k)*4+(room.nq+1)*documents*perDocument <= s.ix.opts.Scratch
}

// widen doubles the probe of a query that reached too few documents.
func (s *Searcher) widen(c *call, i int) bool {
	p, st := &c.plans[i], c.stats[i]
	if p.method != MethodProbe || st.Candidates >= c.k || p.probe >= s.ix.k {
		return false
	}
	p.probe = min(2*p.probe, s.ix.k)
	p.reason += fmt.Sprintf("; %d documents reached, fewer than %d: %d cells a token", st.Candidates, c.k, p.probe)
	return true
}

// options are how the searcher prepares launches.
func (s *Searcher) options() []kernel.Option {
	if s.ix.opts.Fallback != nil && !s.measuring {
		return []kernel.Option{kernel.WithHostFallback(s.ix.opts.Fallback)}
	}
	return nil
}

// Close frees the searcher's device memory.
func (s *Searcher) Close() error {
	if s.closed {
		return errClosed("searcher")
	}
	s.closed = true
	errs := []error{s.forget(), s.steps.close(), s.blocks.small.free(), s.blocks.up.free(), s.blocks.forms.free(), s.blocks.down.free(), s.blocks.left.free()}
	for _, b := range []backend.Buffer{s.work, s.listing} {
		if b != nil {
			errs = append(errs, b.Free())
		}
	}
	return errors.Join(append(errs, s.stream.Close())...)
}
