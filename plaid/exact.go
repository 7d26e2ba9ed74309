package plaid

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/plaid/codec"
)

// radii say how far the reconstructed tokens of each cell are from its centroid, rounded so
// that bounds hold.
type radii struct {
	once sync.Once
	err  error
	cell []radius

	mu   sync.Mutex
	left map[int]float64 // see shareLeft
}

type radius struct {
	ball     float64 // largest ‖v̂ − c‖
	cos, sin float64 // of the largest angle between v̂ and c
	lo, hi   float64 // of ‖v̂‖
	norm     float64 // ‖c‖
}

// bound is the largest dot product that a query token of a norm, with canonical score s
// against the centroid, can have with a token of the cell: by the triangle inequality, and
// by the angle that query and token keep at least. slack is the rounding of s relative to
// the norms.
func (r *radius) bound(s, norm, slack float64) float64 {
	ball := s + slack*norm*r.norm + norm*r.ball
	angle := norm * r.hi
	// Where norms are tiny, the rounding of subnormals says nothing about the angle.
	if cos := max(s/(norm*r.norm)+slack, -1); cos < r.cos && norm*r.norm > 1e-20 {
		c := cos*r.cos + math.Sqrt(max(0, 1-cos*cos))*r.sin
		if angle = norm * r.hi * c; c < 0 {
			angle = norm * r.lo * c
		}
	}
	return min(ball, angle)
}

// measure fills the radii from what is on the device.
func (ix *Index) measure() error {
	ix.radius.once.Do(func() { ix.radius.err = ix.measureCells() })
	return ix.radius.err
}

func (ix *Index) measureCells() (err error) {
	dec, err := codec.NewDecoder(ix.centroids, ix.dim, ix.bits, ix.weights)
	if err != nil {
		return err
	}
	s, err := ix.dev.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	parts := make([][]radius, 0)
	row, n := int64(ix.dim*ix.bits/8), min(ix.tokens, loadBlock)
	codes, rows := make([]int32, n), make([]byte, n*row)
	var mu sync.Mutex
	for from := int64(0); from < ix.tokens; from += n {
		n := min(n, ix.tokens-from)
		codes, rows := codes[:n], rows[:n*row]
		if err := errors.Join(s.Download(raw(codes), ix.mem.code.Buf, from*4), s.Download(rows, ix.mem.packed.Buf, from*row)); err != nil {
			return err
		}
		err := eachPart(int(n), func(part, lo, hi int) error {
			mu.Lock()
			for len(parts) <= part {
				parts = append(parts, freshRadii(ix.k))
			}
			cells := parts[part]
			mu.Unlock()
			return ix.widenCells(cells, dec, codes[lo:hi], rows[int64(lo)*row:int64(hi)*row])
		})
		if err != nil {
			return err
		}
	}
	ix.radius.cell = ix.joinRadii(parts)
	return s.Sync()
}

func freshRadii(k int) []radius {
	cells := make([]radius, k)
	for c := range cells {
		cells[c] = radius{cos: 1, lo: math.Inf(1)}
	}
	return cells
}

// widenCells takes in tokens.
func (ix *Index) widenCells(cells []radius, dec *codec.Decoder, codes []int32, rows []byte) error {
	row, v := ix.dim*ix.bits/8, make([]float32, ix.dim)
	decode := dec.Token
	if !ix.normalized {
		decode = dec.Raw
	}
	for i, code := range codes {
		if err := decode(v, int64(code), rows[i*row:(i+1)*row]); err != nil {
			return fmt.Errorf("plaid: index: %w", err)
		}
		c := ix.centroids[int(code)*ix.dim : (int(code)+1)*ix.dim]
		var apart, along, vv, cc float64
		for j, x := range v {
			x, y := float64(x), float64(c[j])
			apart, along, vv, cc = apart+(x-y)*(x-y), along+x*y, vv+x*x, cc+y*y
		}
		r := &cells[code]
		r.ball, r.hi, r.lo = max(r.ball, math.Sqrt(apart)), max(r.hi, math.Sqrt(vv)), min(r.lo, math.Sqrt(vv))
		cos := -1.0
		if vv > 0 && cc > 0 {
			cos = along / math.Sqrt(vv*cc)
		}
		r.cos = min(r.cos, cos)
	}
	return nil
}

// joinRadii takes the widest of all parts, and widens for the roundings of measuring.
func (ix *Index) joinRadii(parts [][]radius) []radius {
	cells := freshRadii(ix.k)
	const more = 1 + 1e-9
	for c := range cells {
		r := &cells[c]
		for _, p := range parts {
			o := &p[c]
			r.ball, r.hi, r.lo, r.cos = max(r.ball, o.ball), max(r.hi, o.hi), min(r.lo, o.lo), min(r.cos, o.cos)
		}
		if math.IsInf(r.lo, 1) { // an empty cell
			r.lo = 0
		}
		r.ball, r.hi, r.lo, r.cos = r.ball*more, r.hi*more, r.lo/more, max(-1, r.cos-1e-9)
		r.sin = math.Sqrt(max(0, 1-r.cos*r.cos))
		r.norm = canon.Norm(ix.centroids[c*ix.dim : (c+1)*ix.dim])
	}
	return cells
}

// boundChunk is how many documents are scored between looks at the bound: enough to keep a
// device busy.
const boundChunk = 4096

// bounded answers query i by bounds of cells: every allowed document gets an upper bound of
// its score; they are scored in the order of the bound until no bound left reaches the k-th
// score. Where many are left after the first ones, they are screened.
func (s *Searcher) bounded(ctx context.Context, c *call, i int) error {
	if len(s.sel.docs) > screenLeftFrom {
		if err := s.needScreen(); err != nil {
			return err
		}
	}
	bounds, slack, err := s.startBounds(ctx, c, i)
	if err != nil {
		return err
	}
	left, visited, err := s.visit(bounds, slack)
	if err != nil {
		return err
	}
	st, tq := c.stats[i], s.run.sh.tq
	if len(left) > 0 {
		err = s.screenLeft(ctx, c, i, left)
	} else {
		s.describe(&s.readers[0], 0, st, 0)
		st.Stages, err = s.stages()
	}
	if err != nil {
		return err
	}
	s.merge = s.picked.AppendTo(s.merge[:0])
	c.hits[i] = hitsOf(s.merge, s.run.scales[0])
	n := len(s.sel.docs)
	st.Method, st.Reason, st.Exhaustive = MethodBounds, c.plans[i].reason, true
	st.Exact += visited // those that were left are others
	st.Approximated, st.Candidates, st.Pruned = n, n, n-st.Exact
	length := s.ix.meanLength()
	st.Bytes = int64(s.ix.k)*int64(s.ix.dim+2*int(tq))*4 +
		int64(length*(float64(n)*4+float64(st.Screened+st.Exact)*float64(s.ix.dim*s.ix.bits/8+8)))
	return nil
}

// startBounds makes room, uploads query i and bounds the scores of all allowed documents.
func (s *Searcher) startBounds(ctx context.Context, c *call, i int) ([]float32, float64, error) {
	r := &s.run
	r.ctx, r.c, r.group, r.p, r.timed, r.screen, r.norms = ctx, c, []int{i}, c.plans[i], c.o.Timings, ScreenNone, s.norms
	tq, n := int64(len(c.tokens(i))/s.ix.dim), int64(len(s.sel.docs))
	r.sh, r.apart = shape{nq: 1, tq: tq, longest: tq, cand: n, list: min(n, boundChunk), last: min(n, boundChunk)}, false
	if err := s.reserve(r.sh); err != nil {
		return nil, 0, err
	}
	s.listed = listed{}
	if err := s.uploadQueries(); err != nil {
		return nil, 0, err
	}
	return s.bounds(c.tokens(i))
}

// screenLeft adds the best of the documents that bounds left over, given by their places, to
// those in s.picked, which are others.
func (s *Searcher) screenLeft(ctx context.Context, c *call, i int, places []int32) error {
	all, p := s.sel, c.plans[i]
	left := make([]int32, len(places))
	for e, j := range places {
		left[e] = all.docs[j]
	}
	slices.Sort(left)
	s.sel, c.plans[i].method = selection{docs: left}, MethodScan
	err := s.sequence(ctx, c, []int{i}, s.least(s.run.scales[0]))
	s.sel, c.plans[i] = all, p
	for _, h := range c.hits[i] {
		s.picked.Push(h.Fixed, h.ID)
	}
	return err
}

// bounds are upper bounds of the scores of all allowed documents, and by how much rounding
// may have made one too small.
func (s *Searcher) bounds(q []float32) ([]float32, float64, error) {
	ix, v := s.ix, &s.v
	if err := launch(s, &s.steps.centroids, kernels.CentroidScores, fillCentroids, "centroids"); err != nil {
		return nil, 0, err
	}
	x, err := s.scores()
	if err != nil {
		return nil, 0, err
	}
	tq := len(q) / ix.dim
	sc, err := canon.NewScale(int64(tq), ix.boundCells(x, q))
	if err != nil {
		return nil, 0, fmt.Errorf("plaid: %w: %w: %w", ErrQuery, err, backend.ErrArgument)
	}
	shift := [1]int32{int32(sc.Shift())}
	err = errors.Join(s.stream.Upload(v.score.Buf, v.score.Off, raw(x)), s.stream.Upload(v.approxShift.Buf, v.approxShift.Off, raw(shift[:])),
		s.stream.Upload(v.candidate.Buf, v.candidate.Off, raw(s.sel.docs)))
	if err != nil {
		return nil, 0, err
	}
	if err := launch(s, &s.steps.bound, kernels.PlaidApprox, fillBound, "bounds"); err != nil {
		return nil, 0, err
	}
	bounds := make([]float32, len(s.sel.docs))
	if err := s.stream.Download(raw(bounds), v.approx.Buf, v.approx.Off); err != nil {
		return nil, 0, err
	}
	// Each addend of either sum is off by half a step.
	return bounds, float64(tq) * (math.Ldexp(1, -sc.Shift()) + math.Ldexp(1, -s.run.scales[0].Shift())), nil
}

// boundCells turns the scores of centroids, a row each, into bounds of their cells, and returns
// the largest magnitude.
func (ix *Index) boundCells(x, q []float32) float64 {
	tq, slack := len(q)/ix.dim, float64(ix.dim+8)*0x1p-23
	norms := make([]float64, tq)
	for t := range norms {
		norms[t] = canon.Norm(q[t*ix.dim:(t+1)*ix.dim]) * (1 + 1e-9)
	}
	var largest [shareMost]float32
	const perBound = 32 // what it takes, in components of a query
	eachQuery(ix.k, perBound*ix.k*tq, func(w, c int) {
		row, most := x[c*tq:(c+1)*tq], largest[w]
		for t, norm := range norms {
			b := ix.radius.cell[c].bound(float64(row[t]), norm, slack) + slack*norm*ix.tokenNorm + float64(ix.dim)*0x1p-148
			y := math.Nextafter32(float32(b), float32(math.Inf(1)))
			row[t], most = y, max(most, max(y, -y))
		}
		largest[w] = most
	})
	return float64(slices.Max(largest[:]))
}

func fillBound(s *Searcher, v *views, a *kernels.PlaidApproxArgs) {
	*a = approxArgs(s, v)
	a.Candidate, a.Score = v.candidate, v.approx
}

// visit scores documents in the order of their bounds while one can still be among the first
// k; they are in s.picked then, and visited is how many. What it returns beside it are the
// places of other documents that bounds do not exclude, for a screen to take over.
func (s *Searcher) visit(bounds []float32, slack float64) (left []int32, visited int, err error) {
	left, visited, err = s.look(bounds, slack)
	if err != nil || len(left) > screenLeftFrom && s.form != ScreenNone {
		return left, visited, err
	}
	slices.SortFunc(left, func(a, b int32) int {
		return cmp.Or(cmp.Compare(bounds[b], bounds[a]), cmp.Compare(a, b))
	})
	for size := 2 * firstLook(s.run.c.k); len(left) > 0; size *= 2 {
		n := min(size, boundChunk, len(left))
		if err := s.score(left[:n]); err != nil {
			return nil, visited, err
		}
		visited += n
		left = left[n:]
		least := s.least(s.run.scales[0])
		left = left[:sort.Search(len(left), func(e int) bool { return !reaches(bounds[left[e]], slack, least) })]
	}
	return nil, visited, nil
}

// firstLook is how many documents are scored before bounds exclude any.
func firstLook(k int) int { return max(4*k, 64) }

// reaches reports whether a score may be at least so much.
func reaches(bound float32, slack, least float64) bool {
	b := float64(bound)
	return !(b+math.Abs(b)*0x1p-23+slack < least)
}

// look scores the first documents in the order of their bounds; they are in s.picked then. It
// returns the places of all others that these scores do not exclude, in no order that matters.
func (s *Searcher) look(bounds []float32, slack float64) (left []int32, visited int, err error) {
	s.firsts.Reset(min(firstLook(s.run.c.k), len(bounds)))
	for j, b := range bounds {
		s.firsts.Push(b, int32(j))
	}
	s.first, s.places = s.firsts.AppendTo(s.first[:0]), s.places[:0]
	for _, f := range s.first {
		s.places = append(s.places, f.ID)
	}
	first, places := s.first, s.places
	s.picked.Reset(s.run.c.k)
	for visited < len(places) {
		n := min(boundChunk, len(places)-visited)
		if err := s.score(places[visited : visited+n]); err != nil {
			return nil, visited, err
		}
		visited += n
	}
	if visited == len(bounds) {
		return nil, visited, nil
	}
	least, last := s.least(s.run.scales[0]), first[len(first)-1]
	for j, b := range bounds {
		if canon.Less(last.Score, last.ID, b, int32(j)) && reaches(b, slack, least) {
			left = append(left, int32(j))
		}
	}
	return left, visited, nil
}

// screenLeftFrom is how many documents are worth a screen.
const screenLeftFrom = 1024

// least is the k-th score so far, −∞ for fewer than k.
func (s *Searcher) least(sc canon.Scale) float64 {
	s.merge = s.picked.AppendTo(s.merge[:0])
	for _, m := range s.merge { // AppendTo empties the selector
		s.picked.Push(m.Score, m.ID)
	}
	if len(s.merge) < s.run.c.k {
		return math.Inf(-1)
	}
	return sc.Float(s.merge[len(s.merge)-1].Score)
}

// score scores documents, given by their places in the selection, exactly.
func (s *Searcher) score(places []int32) error {
	r := &s.run
	r.sh.list, r.sh.last = int64(len(places)), int64(len(places))
	s.v = s.layout(r.sh)
	docs := s.scratch(int64(len(places)))
	for e, j := range places {
		docs[e] = s.sel.docs[j]
	}
	if err := s.stream.Upload(s.listing, 0, raw(docs)); err != nil {
		return err
	}
	if err := launch(s, &s.steps.exact, kernels.ResidualMaxSim, fillExact, "exact"); err != nil {
		return err
	}
	fixed := s.out[:len(places)]
	if err := s.stream.Download(raw(fixed), s.v.fixed.Buf, s.v.fixed.Off); err != nil {
		return err
	}
	if err := s.stream.Sync(); err != nil {
		return err
	}
	for e, f := range fixed {
		s.picked.Push(canon.Fixed(f), s.ix.id(docs[e]))
	}
	return nil
}

// scoreOf is a canonical score as float32: the count rounded once, then scaled.
func scoreOf(f canon.Fixed, sc canon.Scale) float32 {
	switch f {
	case canon.NaN, canon.NegInf, canon.PosInf:
		return float32(sc.Float(f))
	}
	if shift := sc.Shift(); shift > -900 && shift < 900 { // the product is exact, up to its rounding to float32
		return float32(float64(float32(int64(f))) * math.Float64frombits(uint64(1023-shift)<<52))
	}
	return float32(math.Ldexp(float64(float32(int64(f))), -sc.Shift()))
}
