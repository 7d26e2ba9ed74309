package plaid

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/plaid/codec"
)

// How preset Exact chooses between bounds of cells and a scan. Bounds take a look at every
// token's centroid scores and leave documents for exact scores or a screen. How many follows
// from the collection, so it is tried, once, on documents of the index as queries. Everything
// is counted in operations, not timed: the choice is the same in every process.

const (
	// costBound is the bound of a cell for a query token, 20 ns of a core, in float32
	// multiply-adds.
	costBound = 500
	// boundBias is how much less bounds have to look like: their steps wait for one another,
	// and the queries that were tried are others.
	boundBias = 2
)

const (
	// triedQueries documents are tried as queries, their first triedTokens tokens.
	triedQueries = 8
	triedTokens  = 32
)

// boundsWork is that of bounds of cells for all allowed documents, of which some are scored in
// any case and a share is left to a screen.
func (ix *Index) boundsWork(tq, k int, sel *selection, share float64) float64 {
	tokens, n := float64(sel.tokens), float64(max(len(sel.docs), 1))
	first := math.Min(float64(firstLook(k)), n) / n
	work := ix.centroidWork(tq) + float64(ix.k)*float64(tq)*costBound + tokens*(costCode+costLookup*float64(tq)) +
		exactWork(first*tokens*float64(ix.dim), tq)
	if share > 0 {
		work += ix.centroidWork(tq) + screenWork(share*tokens*float64(ix.dim), tq)
	}
	return work
}

// mayBound reports whether bounds would be less work than a scan if they left nothing.
func (ix *Index) mayBound(tq, k int, sel *selection) bool {
	return !ix.ownMemory() && boundBias*ix.boundsWork(tq, k, sel, 0) < ix.scanWork(tq, k, sel)
}

// ownMemory reports whether the device has memory of its own. The host computes bounds, and
// what it does for one a device of that kind does for thousands of components.
func (ix *Index) ownMemory() bool {
	_, host := ix.mem.weight.Buf.(backend.HostMapped)
	return !host
}

// needBounds measures cells, and what their bounds leave, where bounds may be used.
func (ix *Index) needBounds(ctx context.Context, q *Tokens, k int, sel *selection, o *SearchOptions) error {
	if o.Method == MethodBounds {
		return ix.measure()
	}
	if o.Method == MethodScan {
		return nil
	}
	for i := range q.Len() {
		if ix.mayBound(int(q.Offsets[i+1]-q.Offsets[i]), k, sel) {
			if err := ix.measure(); err != nil {
				return err
			}
			return ix.tryBounds(ctx, ix.rank(k, sel))
		}
	}
	return nil
}

// exactMethod chooses between bounds of cells and a scan.
func (ix *Index) exactMethod(tq, k int, sel *selection, o *SearchOptions) (Method, string) {
	n := len(sel.docs)
	switch {
	case o.Method != MethodAuto:
		return o.Method, o.Method.String() + " was asked for"
	case ix.ownMemory():
		return MethodScan, fmt.Sprintf("bounds by cell are work of the host, and the device has memory of its own: %d documents are screened", n)
	case !ix.mayBound(tq, k, sel):
		return MethodScan, fmt.Sprintf("bounds by cell are estimated at %.3g operations without the documents that they leave, a scan of %d documents at %.3g: bounds have to take %d times less",
			ix.boundsWork(tq, k, sel, 0), n, ix.scanWork(tq, k, sel), boundBias)
	}
	share := ix.shareLeft(ix.rank(k, sel))
	bounds, scan := ix.boundsWork(tq, k, sel, share), ix.scanWork(tq, k, sel)
	text := fmt.Sprintf("bounds by cell, which leave %.2g %% of documents where documents are queries, are estimated at %.3g operations, a scan of %d documents at %.3g",
		100*share, bounds, n, scan)
	if boundBias*bounds < scan {
		return MethodBounds, text
	}
	return MethodScan, text + fmt.Sprintf(": bounds have to take %d times less", boundBias)
}

// rank is the place among all documents of the k-th among some, if these were drawn at random,
// rounded up so that few are told apart.
func (ix *Index) rank(k int, sel *selection) int {
	r := math.Ceil(float64(k) * float64(ix.Searchable()) / float64(max(len(sel.docs), 1)))
	return 1 << bits.Len64(uint64(min(r, math.MaxInt32))-1)
}

// shareLeft is what tryBounds found: all documents where it was not asked.
func (ix *Index) shareLeft(k int) float64 {
	ix.radius.mu.Lock()
	defer ix.radius.mu.Unlock()
	if share, ok := ix.radius.left[k]; ok {
		return share
	}
	return 1
}

// tryBounds finds the share of documents that bounds leave, after the first look, to a search
// for k results.
func (ix *Index) tryBounds(ctx context.Context, k int) error {
	ix.radius.mu.Lock()
	defer ix.radius.mu.Unlock()
	if _, ok := ix.radius.left[k]; ok {
		return nil
	}
	stream, err := ix.dev.NewStream()
	if err != nil {
		return err
	}
	s := &Searcher{ix: ix, stream: stream, form: ScreenNone}
	share, err := s.tryBounds(ctx, k)
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	if ix.radius.left == nil {
		ix.radius.left = map[int]float64{}
	}
	ix.radius.left[k] = share
	return nil
}

// tryBounds takes documents of the index as queries.
func (s *Searcher) tryBounds(ctx context.Context, k int) (float64, error) {
	ix := s.ix
	if err := s.sel.choose(ix, nil); err != nil {
		return 0, err
	}
	n := len(s.sel.docs)
	if firstLook(k) >= n { // nothing is left after a first look that large, and nothing was spared
		return 1, nil
	}
	left := 0
	for i := range triedQueries {
		q, err := ix.reconstruct(s.stream, s.sel.docs[i*n/triedQueries])
		if err != nil {
			return 0, err
		}
		c := &call{queries: q, k: k, o: &SearchOptions{}, plans: []plan{{method: MethodBounds}}}
		s.norms = append(s.norms[:0], maxNorm(q.Vectors, q.Dim))
		bounds, slack, err := s.startBounds(ctx, c, 0)
		if err != nil {
			return 0, err
		}
		places, _, err := s.look(bounds, slack)
		if err != nil {
			return 0, err
		}
		left += len(places)
	}
	return float64(left) / float64(triedQueries*n), nil
}

// reconstruct reads the first tokens of a document back, as a query.
func (ix *Index) reconstruct(s backend.Stream, document int32) (Tokens, error) {
	at := ix.offsets[document]
	n := min(ix.offsets[document+1]-at, triedTokens)
	row := int64(ix.dim * ix.bits / 8)
	q := Tokens{Dim: ix.dim, Offsets: []int64{0, n}, Vectors: make([]float32, n*int64(ix.dim))}
	codes, rows := make([]int32, n), make([]byte, n*row)
	code, packed := &ix.mem.code, &ix.mem.packed
	if err := errors.Join(s.Download(raw(codes), code.Buf, code.Off+at*4), s.Download(rows, packed.Buf, packed.Off+at*row)); err != nil {
		return q, err
	}
	dec, err := codec.NewDecoder(ix.centroids, ix.dim, ix.bits, ix.weights)
	if err != nil {
		return q, err
	}
	for t := range n {
		if err := dec.Token(q.Vectors[t*int64(ix.dim):(t+1)*int64(ix.dim)], int64(codes[t]), rows[t*row:(t+1)*row]); err != nil {
			return q, fmt.Errorf("plaid: index: %w", err)
		}
	}
	return q, nil
}
