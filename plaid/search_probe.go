package plaid

import (
	"slices"

	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/kernels"
)

// reach probes cells and selects, by centroid scores, the documents to rank.
func (s *Searcher) reach() error {
	r, st := &s.run, &s.steps
	if err := launch(s, &st.centroids, kernels.CentroidScores, fillCentroids, "centroids"); err != nil {
		return err
	}
	if r.p.eligible {
		if err := s.eligibleCells(); err != nil {
			return err
		}
	}
	if err := launch(s, &st.candidates, kernels.PlaidCandidates, fillCandidates, "candidates"); err != nil {
		return err
	}
	if r.p.cut {
		if err := s.cutCells(); err != nil {
			return err
		}
	}
	approx, fill := &st.approx, fillApprox
	if r.p.pruned {
		approx, fill = &st.pruned, fillPruned
	}
	if err := launch(s, approx, kernels.PlaidApprox, fill, "approximate"); err != nil {
		return err
	}
	if r.sh.first == 0 {
		return launch(s, &st.topAll, kernels.TopK, fillTopAll, "approximate")
	}
	if err := launch(s, &st.topFirst, kernels.TopK, fillTopFirst, "approximate"); err != nil {
		return err
	}
	if err := launch(s, &st.second, kernels.PlaidApprox, fillSecond, "second round"); err != nil {
		return err
	}
	return launch(s, &st.topKeep, kernels.TopK, fillTopKeep, "second round")
}

// scratch is room for integers, reused.
func (s *Searcher) scratch(n int64) []int32 {
	if int64(len(s.ints)) < n {
		s.ints = make([]int32, n)
	}
	return s.ints[:n]
}

// floating is room for floats, reused.
func (s *Searcher) floating(n int64) []float32 {
	if int64(len(s.floats)) < n {
		s.floats = make([]float32, n)
	}
	return s.floats[:n]
}

// scores reads the centroid scores, a row for each centroid.
func (s *Searcher) scores() ([]float32, error) {
	v := &s.v.score
	x := s.floating(v.Elements())
	return x, s.stream.Download(raw(x), v.Buf, v.Off)
}

// eligibleCells chooses again among the cells in which an allowed document has a token, as
// fast-plaid does for a subset.
func (s *Searcher) eligibleCells() error {
	r, v := &s.run, &s.v
	scores, err := s.scores()
	if err != nil {
		return err
	}
	eligible, err := s.cellsOf(s.sel.docs)
	if err != nil {
		return err
	}
	tq, p := int(r.sh.tq), int(r.sh.probe)
	cells := s.scratch(int64(tq * p))
	var best canon.Selector[float32, int32]
	var order []canon.Result[float32, int32]
	for t := range tq {
		best.Reset(p)
		for _, c := range eligible {
			best.Push(scores[int(c)*tq+t], c)
		}
		order = best.AppendTo(order[:0])
		for j := range p {
			cells[t*p+j] = -1
			if j < len(order) {
				cells[t*p+j] = order[j].ID
			}
		}
	}
	return s.stream.Upload(v.cell.Buf, v.cell.Off, raw(cells))
}

// cellsOf are the cells of documents, ascending.
func (s *Searcher) cellsOf(docs []int32) ([]int32, error) {
	in := make([]bool, s.ix.k)
	code := &s.ix.mem.code
	var codes []int32
	for _, j := range docs {
		lo, hi := s.ix.offsets[j], s.ix.offsets[j+1]
		codes = slices.Grow(codes[:0], int(hi-lo))[:hi-lo]
		if err := s.stream.Download(raw(codes), code.Buf, code.Off+lo*4); err != nil {
			return nil, err
		}
		for _, c := range codes {
			if c >= 0 && int(c) < len(in) {
				in[c] = true
			}
		}
	}
	var cells []int32
	for c, ok := range in {
		if ok {
			cells = append(cells, int32(c))
		}
	}
	return cells, nil
}

// cutCells makes live what scores at least the threshold for some token of the query, and
// each token's best cell.
func (s *Searcher) cutCells() error {
	r, v := &s.run, &s.v
	scores, err := s.scores()
	if err != nil {
		return err
	}
	tq, p, words := r.sh.tq, r.sh.probe, v.live.Dims[1]
	cells := s.scratch(tq*p + r.sh.nq*words)
	cells, live := cells[:tq*p], cells[tq*p:]
	clear(live)
	if err := s.stream.Download(raw(cells), v.cell.Buf, v.cell.Off); err != nil {
		return err
	}
	off := part[int64](s.in, 0, &v.queryOff.View)
	for i := range r.sh.nq {
		row := live[i*words : (i+1)*words]
		for c := range int64(s.ix.k) {
			if slices.Max(scores[c*tq+off[i]:c*tq+off[i+1]]) >= r.p.threshold {
				row[c/32] |= 1 << (c % 32)
			}
		}
		for t := off[i]; t < off[i+1]; t++ {
			if c := cells[t*p]; c >= 0 && int(c) < s.ix.k {
				row[c/32] |= 1 << (c % 32)
			}
		}
	}
	return s.stream.Upload(v.live.Buf, v.live.Off, raw(live))
}

// describe fills the statistics of query e of the group, exact documents of which were scored
// exactly.
func (s *Searcher) describe(w *reader, e int, st *Stats, exact int) {
	r, v := &s.run, &s.v
	st.Method, st.Reason, st.Screen, st.Batch = r.p.method, r.p.reason, r.screen, len(r.group)
	st.Rounds++
	st.Exact, st.Screened, st.Approximated, st.Cells, st.Candidates = exact, 0, 0, 0, len(s.sel.docs)
	off := part[int64](s.in, 0, &v.queryOff.View)
	tq, d, row := off[e+1]-off[e], int64(s.ix.dim), int64(s.ix.dim*s.ix.bits/8)
	length := s.ix.meanLength()
	list := len(s.sel.docs)
	if r.p.method == MethodProbe {
		st.Probe = r.p.probe
		st.Candidates = int(part[int64](s.out, v.download, &v.count)[e])
		st.Approximated = st.Candidates
		st.Cells = w.distinct(s.ix.k, part[int32](s.out, v.download, &v.cell)[off[e]*r.sh.probe:off[e+1]*r.sh.probe])
		list = min(st.Candidates, int(r.sh.keep))
		st.Bytes = int64(float64(st.Candidates)*length)*4 + int64(float64(st.Cells)*s.ix.cells.sizable)*4
	}
	st.Exact = min(st.Exact, list)
	if r.screen != ScreenNone {
		st.Screened = list
	}
	if r.p.method == MethodProbe || r.screen == ScreenInt8 {
		st.Bytes += int64(s.ix.k) * (d + tq) * 4
	}
	st.Bytes += int64(float64(st.Exact+st.Screened) * length * float64(row+8))
	if r.p.method == MethodScan {
		st.Exhaustive, st.Pruned = true, len(s.sel.docs)-st.Exact
	}
}
