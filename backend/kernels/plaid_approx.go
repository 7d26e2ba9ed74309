package kernels

import (
	"math"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// PlaidApproxArgs are the operands of [PlaidApprox]. Axes: k centroids, tq query tokens in
// all, nq queries, td document tokens in all, nd documents, c places for candidates, kw =
// ⌈k/32⌉ words, p cells to a token.
type PlaidApproxArgs struct {
	CentroidScore backend.View   `kernel:"in f32 k,tq strided"`
	QueryOff      kernel.Offsets `kernel:"in i64 nq+1 offsets=tq"`
	Code          backend.View   `kernel:"in i32 td"`
	DocOff        kernel.Offsets `kernel:"in i64 nd+1 offsets=td"`
	Candidate     backend.View   `kernel:"in i32 nq,c"` // document numbers, −1 = none
	Count         backend.View   `kernel:"in i64 nq opt count=c"`
	Live          backend.View   `kernel:"in i32 nq,kw opt"` // cells that count; absent = all
	Floor         backend.View   `kernel:"in f32 tq,p opt"`  // the last of a row is the least value of the token's maximum
	Shift         backend.View   `kernel:"in i32 nq"`        // steps of 2^-Shift
	Score         backend.View   `kernel:"out f32 nq,c"`
}

// PlaidApprox scores candidates by their centroids alone: the late-interaction score with
// each document token replaced by its centroid.
var PlaidApprox = kernel.Declare(kernel.Spec[PlaidApproxArgs]{
	Name: "plaid_approx", Family: "plaid",
	Source: "Santhanam et al., PLAID, CIKM 2022, centroid interaction and pruning",
	Doc: "Per candidate the sum over query tokens of the largest centroid score among the document's tokens, or among those in live cells, and no less than the last score of the token's row of Floor: given the scores of the cells that were probed, no other cell's score is larger. " +
		"The sum is a count of steps 2^-Shift, each addend rounded half to even; the score is the count rounded to float32 and scaled. " +
		"Places past Count, candidate −1 and documents without tokens score −∞; otherwise a query without tokens scores 0. NaN in a score that is used gives NaN, infinities follow IEEE. " +
		"Candidates outside the index (−∞), codes outside the centroids (left out) and maxima of 2^62 steps or more (NaN) are data errors.",
	Faults: []string{"candidate out of range", "code out of range", "a maximum is beyond the range of the sum"},
	Check: func(a *PlaidApproxArgs) error {
		k := a.CentroidScore.Dims[0]
		if !a.Live.Absent() && a.Live.Dims[1] != (k+31)/32 {
			return argument("plaid_approx", "Live", "kw", "want a bit for each centroid", (k+31)/32, a.Live.Dims[1])
		}
		if !a.Floor.Absent() && a.Floor.Dims[1] < 1 {
			return argument("plaid_approx", "Floor", "p", "rows have no last score", 1, a.Floor.Dims[1])
		}
		return checkCentroids("plaid_approx", k)
	},
	Reference:   approxRef,
	Tolerance:   map[string]kernel.Tolerance{"Score": kernel.Exact{}},
	Independent: "c",
	Cost: func(c *backend.Call) kernel.Cost {
		// Every candidate reads its codes, and a score for each query token; documents are
		// taken as long as the mean.
		tokens := float64(c.Axes[2]) * float64(c.Axes[5]) * float64(c.Axes[3]) / max(float64(c.Axes[4]), 1)
		perQuery := float64(c.Axes[1]) / max(float64(c.Axes[2]), 1)
		return kernel.Cost{FLOP: tokens * perQuery, Read: viewBytes(c, 0, 1, 3, 4, 8) + 4*tokens, Write: viewBytes(c, 9)}
	},
	Derive: deriveApprox,
	Cases: append(derived(deriveApprox,
		kernel.Case{Name: "one", Dims: kernel.Dims{"k": 1, "nq": 1, "nd": 1, "c": 1}, Lens: map[string][]int64{"tq": {1}, "td": {1}}},
		kernel.Case{Name: "small", Dims: kernel.Dims{"k": 37, "nq": 3, "nd": 6, "c": 9}, Lens: map[string][]int64{"tq": {5, 0, 9}, "td": {13, 0, 1, 40, 2, 65}}},
		kernel.Case{Name: "aligned", Dims: kernel.Dims{"k": 64, "nq": 2, "nd": 5, "c": 8, "p": 8}, Lens: map[string][]int64{"tq": {32, 16}, "td": {16, 64, 1, 0, 100}}},
		kernel.Case{Name: "all-cells", Dims: kernel.Dims{"k": 300, "nq": 2, "nd": 7, "c": 20}, Lens: map[string][]int64{"tq": {21, 32}, "td": {16, 64, 1, 0, 100, 7, 33}}, Absent: []string{"Live", "Floor"}},
		kernel.Case{Name: "no-floor", Dims: kernel.Dims{"k": 90, "nq": 2, "nd": 7, "c": 20}, Lens: map[string][]int64{"tq": {21, 8}, "td": {16, 64, 1, 0, 100, 7, 3}}, Absent: []string{"Floor"}},
		kernel.Case{Name: "full-count", Dims: kernel.Dims{"k": 50, "nq": 2, "nd": 40, "c": 60}, Lens: map[string][]int64{"tq": {33, 70}, "td": uniform(40, 11)}, Absent: []string{"Count"}},
		kernel.Case{Name: "long-query", Dims: kernel.Dims{"k": 20, "nq": 1, "nd": 3, "c": 4, "p": 1}, Lens: map[string][]int64{"tq": {300}, "td": {30, 2, 200}}},
		kernel.Case{Name: "ties", Dims: kernel.Dims{"k": 50, "nq": 2, "nd": 9, "c": 12}, Lens: map[string][]int64{"tq": {4, 5}, "td": uniform(9, 20)}, Fill: fills{"CentroidScore": fillIntegers}},
		kernel.Case{Name: "specials", Dims: kernel.Dims{"k": 60, "nq": 2, "nd": 30, "c": 40}, Lens: map[string][]int64{"tq": {4, 2}, "td": uniform(30, 5)}, Absent: []string{"Floor"}, Fill: fills{"CentroidScore": fillSpecials}},
		kernel.Case{Name: "no-documents", Dims: kernel.Dims{"k": 6, "nq": 2, "nd": 0, "c": 3}, Lens: map[string][]int64{"tq": {4, 2}, "td": {}}},
		kernel.Case{Name: "no-places", Dims: kernel.Dims{"k": 6, "nq": 2, "nd": 3, "c": 0}, Lens: map[string][]int64{"tq": {4, 2}, "td": {1, 2, 3}}},
		kernel.Case{Name: "bad-candidates", Dims: kernel.Dims{"k": 37, "nq": 2, "nd": 6, "c": 30}, Lens: map[string][]int64{"tq": {5, 9}, "td": {13, 1, 0, 40, 2, 65}},
			Absent: []string{"Count"}, Fill: fills{"Candidate": fillBelow(-3, 9)}, Faults: true},
		kernel.Case{Name: "bad-codes", Dims: kernel.Dims{"k": 37, "nq": 2, "nd": 6, "c": 30}, Lens: map[string][]int64{"tq": {5, 9}, "td": {13, 1, 0, 40, 2, 65}},
			Absent: []string{"Count"}, Fill: fills{"Code": fillBelow(-3, 41)}, Faults: true},
		kernel.Case{Name: "beyond", Dims: kernel.Dims{"k": 37, "nq": 2, "nd": 6, "c": 30}, Lens: map[string][]int64{"tq": {5, 9}, "td": {13, 1, 0, 40, 2, 65}},
			Absent: []string{"Count", "Floor", "Live"}, Fill: fills{"Shift": fillConstant(63)}, Faults: true},
	), approxEdges()...),
	Bench: derived(deriveApprox,
		kernel.Case{Name: "cranfield", Dims: kernel.Dims{"k": 4096, "nq": 1, "nd": 1400, "c": 1400}, Lens: map[string][]int64{"tq": {21}, "td": uniform(1400, 176)}, Absent: []string{"Count", "Live", "Floor"}, Note: "every document of a small index"},
		kernel.Case{Name: "query-20k", Dims: kernel.Dims{"k": 16384, "nq": 1, "nd": 20000, "c": 20000}, Lens: map[string][]int64{"tq": {32}, "td": uniform(20000, 120)}, Absent: []string{"Count", "Live", "Floor"}, Note: "every document of 20,000"},
		kernel.Case{Name: "pruned-200k", Dims: kernel.Dims{"k": 131072, "nq": 1, "nd": 200000, "c": 200000}, Lens: map[string][]int64{"tq": {32}, "td": uniform(200000, 120)}, Absent: []string{"Count"}, Note: "200,000 candidates, few live cells"},
	),
})

// approxEdges are ties of the rounding to steps, ends of long documents, and NaN as a floor.
func approxEdges() []kernel.Case {
	cases := derived(deriveApprox,
		kernel.Case{Name: "coarse", Dims: kernel.Dims{"k": 50, "nq": 4, "nd": 30, "c": 40}, Lens: map[string][]int64{"tq": {21, 3, 0, 40}, "td": uniform(30, 2)},
			Absent: []string{"Live", "Floor"}, Fill: fills{"CentroidScore": fillQuarters}, Note: "half of the maxima lie between two steps"},
		kernel.Case{Name: "coarse-floor", Dims: kernel.Dims{"k": 70, "nq": 2, "nd": 9, "c": 12, "p": 2}, Lens: map[string][]int64{"tq": {6, 33}, "td": uniform(9, 3)},
			Fill: fills{"CentroidScore": fillQuarters, "Floor": fillQuarters}},
		kernel.Case{Name: "long-documents", Dims: kernel.Dims{"k": 4100, "nq": 1, "nd": 6, "c": 6}, Lens: map[string][]int64{"tq": {5}, "td": {511, 512, 513, 514, 1024, 1026}},
			Absent: []string{"Count", "Floor"}, Fill: fills{"CentroidScore": fillAscending(1)}, Note: "the last token of a document is its best"},
		kernel.Case{Name: "nan-floor", Dims: kernel.Dims{"k": 30, "nq": 2, "nd": 7, "c": 20, "p": 1}, Lens: map[string][]int64{"tq": {5, 9}, "td": uniform(7, 4)},
			Fill: fills{"Floor": fillOne(math.NaN(), 7)}},
	)
	for i := range cases[:2] {
		cases[i] = instead(cases[i], fills{"Shift": fillConstant(1)})
	}
	cases[2] = instead(cases[2], fills{"Code": fillIdentity(4100), "Candidate": fillIdentity(6), "Live": fillConstant(-2)}) // every cell but those of lowest bits
	return append(cases, approxFar()...)
}

// approxFar are steps so small, and so large, that 2^Shift is no float64.
func approxFar() []kernel.Case {
	mk := func(name string, shift float64, f fills) kernel.Case {
		c := kernel.Case{Name: name, Dims: kernel.Dims{"k": 30, "nq": 2, "nd": 7, "c": 20}, Lens: map[string][]int64{"tq": {5, 9}, "td": uniform(7, 4)}, Absent: []string{"Floor"}}
		deriveApprox(&c)
		c.Fill["Shift"] = fillConstant(shift)
		return instead(c, f)
	}
	cases := []kernel.Case{mk("far-steps", 1100, fills{"CentroidScore": fillConstant(1)}), mk("far-steps-of-zero", 1100, fills{"CentroidScore": fillZero}), mk("coarsest", -1100, nil)}
	cases[0].Faults = true
	return cases
}

func deriveApprox(c *kernel.Case) {
	if _, sized := c.Dims["p"]; !sized {
		c.Dims["p"] = 3
	}
	c.Dims["k"], c.Dims["p"] = max(c.Dims["k"], 1), max(c.Dims["p"], 1)
	c.Dims["kw"] = (c.Dims["k"] + 31) / 32
	add := deriveListing(c)
	add["Live"] = fillWords
	if c.Dims["k"] > 1<<16 {
		add["Live"] = fillFew
	}
	setFills(c, add)
}

// fillFew sets a bit in one word of twenty.
func fillFew(r kernel.Rand, x []float64) {
	clear(x)
	for i := range x {
		if r.Int64N(20) == 0 {
			x[i] = float64(int64(1) << r.Int64N(31))
		}
	}
}

func approxRef(r *kernel.Ref, a *PlaidApproxArgs) error {
	s, live, floor, shift := r.Read(&a.CentroidScore), r.Ints(&a.Live), r.Read(&a.Floor), r.Ints(&a.Shift)
	k, tq, p := a.CentroidScore.Dims[0], a.CentroidScore.Dims[1], a.Floor.Dims[1]
	l := readListing(r, &a.QueryOff, &a.DocOff, &a.Candidate, &a.Count, &a.Code, tq, a.Code.Dims[0], k)
	words := (k + 31) / 32
	out := make([]float64, int64(len(l.query)-1)*l.c)
	l.each(r, func(i, e, lo, hi int64) {
		if lo == hi {
			out[i*l.c+e] = negInf
			return
		}
		best := make([]float64, l.query[i+1]-l.query[i])
		for t := range best {
			best[t] = negInf
			if floor != nil {
				best[t] = floor[(l.query[i]+int64(t))*p+p-1]
			}
		}
		for u := lo; u < hi; u++ {
			c, ok := l.cell(r, u)
			if !ok || live != nil && live[i*words+c/32]>>(c%32)&1 == 0 {
				continue
			}
			for t := range best {
				best[t] = maximum(best[t], s[c*tq+l.query[i]+int64(t)])
			}
		}
		sum := fixedSum{shift: int(shift[i])}
		for _, x := range best {
			sum.add(x)
		}
		if sum.beyond {
			r.Fault(3, "Shift", i)
		}
		out[i*l.c+e] = fixedScore(sum.fixed(), sum.shift)
	})
	r.Write(&a.Score, out)
	return nil
}
