package plaid

import (
	"errors"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
)

// step is one launch of a sequence, prepared for the searcher's capacity.
type step[A any] struct {
	prepared *kernel.Prepared[A]
	gen      int
	args     A
}

// steps are the launches that a searcher knows.
type steps struct {
	centroids                              step[kernels.CentroidScoresArgs]
	candidates                             step[kernels.PlaidCandidatesArgs]
	approx, pruned, second, bound          step[kernels.PlaidApproxArgs]
	topFirst, topKeep, topAll, topScreened step[kernels.TopKArgs]
	half                                   step[kernels.ResidualMaxSimArgs]
	small                                  step[kernels.ResidualMaxSimInt8Args]
	exact, settle                          step[kernels.ResidualMaxSimArgs]
}

func (t *steps) close() error {
	return errors.Join(t.centroids.close(), t.candidates.close(), t.approx.close(), t.pruned.close(), t.second.close(), t.bound.close(),
		t.topFirst.close(), t.topKeep.close(), t.topAll.close(), t.topScreened.close(), t.half.close(), t.small.close(), t.exact.close(), t.settle.close())
}

func (t *step[A]) close() error {
	if t.prepared == nil {
		return nil
	}
	p := t.prepared
	t.prepared = nil
	return p.Close()
}

// launch fills the operands of a step and launches it, preparing it where the buffers are
// others than last time.
func launch[A any](s *Searcher, t *step[A], k *kernel.Kernel[A], fill func(s *Searcher, v *views, a *A), name string) error {
	if err := s.run.ctx.Err(); err != nil {
		return cancelled(err)
	}
	if t.prepared == nil || t.gen != s.gen {
		if err := t.close(); err != nil {
			return err
		}
		fill(s, &s.most, &t.args)
		p, err := k.Prepare(s.stream, &t.args, s.options()...)
		if err != nil {
			return err
		}
		t.prepared, t.gen = p, s.gen
	}
	fill(s, &s.v, &t.args)
	if err := t.prepared.Launch(&t.args); err != nil {
		return err
	}
	return s.mark(name)
}

func fillCentroids(s *Searcher, v *views, a *kernels.CentroidScoresArgs) {
	*a = kernels.CentroidScoresArgs{Query: v.query, Centroid: s.ix.mem.centroid, Score: v.score}
	if s.run.p.method == MethodProbe {
		a.Cell, a.CellScore = v.cell, v.cellScore
	}
}

func fillCandidates(s *Searcher, v *views, a *kernels.PlaidCandidatesArgs) {
	m := &s.ix.mem
	*a = kernels.PlaidCandidatesArgs{Cell: v.cell, QueryOff: v.queryOff, ListOff: m.listOff, ListDoc: m.listDoc,
		Allowed: m.allowed, Live: v.live, Candidate: v.candidate, Count: v.count, Documents: int64(s.ix.Len())}
	if !s.sel.all {
		a.Allowed = v.allowed
	}
}

// approxArgs are what the rounds of centroid scores have in common.
func approxArgs(s *Searcher, v *views) kernels.PlaidApproxArgs {
	return kernels.PlaidApproxArgs{CentroidScore: v.score, QueryOff: v.queryOff, Code: s.ix.mem.code, DocOff: s.ix.mem.docOff,
		Shift: v.approxShift}
}

func fillApprox(s *Searcher, v *views, a *kernels.PlaidApproxArgs) {
	*a = approxArgs(s, v)
	a.Candidate, a.Count, a.Score = v.candidate, v.count, v.approx
}

func fillPruned(s *Searcher, v *views, a *kernels.PlaidApproxArgs) {
	fillApprox(s, v, a)
	a.Live = v.live
	if s.run.p.floor {
		a.Floor = v.cellScore // no cell that was not probed scores higher than the last
	}
}

func fillSecond(s *Searcher, v *views, a *kernels.PlaidApproxArgs) {
	*a = approxArgs(s, v)
	a.Candidate, a.Score = v.firstDoc, v.second
}

// topArgs selects documents of a list by their scores. It takes no more of a row than there
// is: capacities are rounded up one by one.
func topArgs(score, live, list, value, chosen backend.View) kernels.TopKArgs {
	k := min(value.Dims[1], chosen.Dims[1], score.Dims[1])
	value.Dims[1], chosen.Dims[1] = k, k
	return kernels.TopKArgs{Score: score, Live: live, Label: list, Value: value, Index: chosen}
}

func fillTopFirst(_ *Searcher, v *views, a *kernels.TopKArgs) {
	*a = topArgs(v.approx, v.count, v.candidate, v.firstVal, v.firstDoc)
}

// fillTopKeep selects from the second round, fillTopAll from the only one.
func fillTopKeep(s *Searcher, v *views, a *kernels.TopKArgs) {
	*a = topArgs(v.second, backend.View{}, v.firstDoc, v.keepVal, s.kept(v))
}

func fillTopAll(s *Searcher, v *views, a *kernels.TopKArgs) {
	*a = topArgs(v.approx, v.count, v.candidate, v.keepVal, s.kept(v))
}

func fillTopScreened(s *Searcher, v *views, a *kernels.TopKArgs) {
	*a = topArgs(v.screen, backend.View{}, s.list(v, v.screen), v.lastVal, v.lastDoc)
}

// kept is where the documents to rank go: without a screen they are what comes down.
func (s *Searcher) kept(v *views) backend.View {
	if s.run.screen == ScreenNone {
		return v.lastDoc
	}
	return v.keepDoc
}

func fillHalf(s *Searcher, v *views, a *kernels.ResidualMaxSimArgs) {
	m := &s.ix.mem
	*a = kernels.ResidualMaxSimArgs{Query: v.half, QueryOff: v.queryOff, Code: m.code, Packed: m.packed, DocOff: m.docOff, Centroid: s.ix.screens.half,
		Weight: m.weight, InvNorm: m.invNorm, Candidate: s.list(v, v.screen), Shift: v.screenShift, Score: v.screen, Bits: int64(s.ix.bits)}
}

func fillSmall(s *Searcher, v *views, a *kernels.ResidualMaxSimInt8Args) {
	m := &s.ix.mem
	*a = kernels.ResidualMaxSimInt8Args{CentroidScore: v.score, Query: v.small, Unit: v.unit, QueryOff: v.queryOff, Code: m.code, Packed: m.packed,
		DocOff: m.docOff, Table: s.ix.screens.table, InvNorm: m.invNorm, Candidate: s.list(v, v.screen), Score: v.screen, Bits: int64(s.ix.bits)}
}

func fillExact(s *Searcher, v *views, a *kernels.ResidualMaxSimArgs) {
	m := &s.ix.mem
	*a = kernels.ResidualMaxSimArgs{Query: v.query, QueryOff: v.queryOff, Code: m.code, Packed: m.packed, DocOff: m.docOff, Centroid: m.centroid,
		Weight: m.weight, InvNorm: m.invNorm, Candidate: v.lastDoc, Shift: v.shift, Score: v.exactScore, Fixed: v.fixed, Bits: int64(s.ix.bits)}
	if s.run.p.method != MethodProbe && s.run.screen == ScreenNone {
		a.Candidate = s.list(v, v.exactScore)
	}
}

func fillSettle(s *Searcher, v *views, a *kernels.ResidualMaxSimArgs) {
	fillExact(s, v, a)
	a.Candidate, a.Score, a.Fixed = v.left, v.leftScore, v.leftFixed
}

// list is what is ranked, one row a query: the documents that probing kept, or the listing
// of a scan. It has the axes of the scores it gets; for the searcher's capacity, where those
// may be larger than the list, it stays within the buffer.
func (s *Searcher) list(v *views, score backend.View) backend.View {
	from := v.keepDoc
	if s.run.p.method != MethodProbe {
		from = backend.View{Buf: s.listing}
	}
	return backend.NewView(from.Buf, from.Off, backend.I32, score.Dims[0], score.Dims[1])
}
