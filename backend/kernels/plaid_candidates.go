package kernels

import (
	"math"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// PlaidCandidatesArgs are the operands of [PlaidCandidates]. Axes: tq query tokens in all, p
// cells to a token, nq queries, k centroids, l entries of all lists, w = ⌈Documents/32⌉
// words, kw = ⌈k/32⌉ words, c places for candidates.
type PlaidCandidatesArgs struct {
	Cell      backend.View   `kernel:"in i32 tq,p"` // −1 = none
	QueryOff  kernel.Offsets `kernel:"in i64 nq+1 offsets=tq"`
	ListOff   kernel.Offsets `kernel:"in i64 k+1 offsets=l"`
	ListDoc   backend.View   `kernel:"in i32 l"`
	Allowed   backend.View   `kernel:"in i32 w opt"` // bit j%32 of word j/32: document j may be returned
	Live      backend.View   `kernel:"out i32 nq,kw opt"`
	Candidate backend.View   `kernel:"out i32 nq,c"`
	Count     backend.View   `kernel:"out i64 nq"`
	Documents int64          `kernel:"attr"`
}

// PlaidCandidates gathers, for each query, the documents in the lists of its cells.
var PlaidCandidates = kernel.Declare(kernel.Spec[PlaidCandidatesArgs]{
	Name: "plaid_candidates", Family: "plaid",
	Source: "Santhanam et al., PLAID, CIKM 2022, candidate generation",
	Doc: "Per query the distinct documents in the lists of its cells that are allowed, ascending, then −1, and their number; and as a bitmap the cells themselves. " +
		"Bit j%32 of word j/32 stands for number j. Cell −1 is none; another cell outside the centroids, and a listed document outside the index, are data errors and left out.",
	Faults: []string{"cell out of range", "listed document out of range"},
	Check: func(a *PlaidCandidatesArgs) error {
		const name = "plaid_candidates"
		switch n := a.Documents; {
		case n < 0 || n > math.MaxInt32:
			return argument(name, "", "Documents", "outside what a document number holds", math.MaxInt32, n)
		case a.Candidate.Dims[1] < n:
			return argument(name, "Candidate", "c", "too few places for all documents", n, a.Candidate.Dims[1])
		case !a.Allowed.Absent() && a.Allowed.Dims[0] != (n+31)/32:
			return argument(name, "Allowed", "w", "want a bit for each document", (n+31)/32, a.Allowed.Dims[0])
		}
		k := a.ListOff.View.Dims[0] - 1
		if !a.Live.Absent() && a.Live.Dims[1] != (k+31)/32 {
			return argument(name, "Live", "kw", "want a bit for each centroid", (k+31)/32, a.Live.Dims[1])
		}
		return checkCentroids(name, k)
	},
	Reference: candidatesRef,
	Tolerance: map[string]kernel.Tolerance{"Live": kernel.Exact{}, "Candidate": kernel.Exact{}, "Count": kernel.Exact{}},
	Cost: func(c *backend.Call) kernel.Cost {
		return kernel.Cost{Read: viewBytes(c, 0, 1, 4), Write: viewBytes(c, 5, 6, 7)}
	},
	Derive: deriveCandidates,
	Cases: append(derived(deriveCandidates,
		kernel.Case{Name: "one", Dims: kernel.Dims{"nq": 1, "p": 1, "c": 1}, Lens: map[string][]int64{"tq": {1}, "l": {1}}},
		kernel.Case{Name: "small", Dims: kernel.Dims{"nq": 3, "p": 2, "c": 77}, Lens: map[string][]int64{"tq": {4, 0, 7}, "l": {3, 0, 9, 20, 1, 5, 5}}},
		kernel.Case{Name: "aligned", Dims: kernel.Dims{"nq": 2, "p": 4, "c": 256}, Lens: map[string][]int64{"tq": {16, 32}, "l": uniform(64, 8)}},
		kernel.Case{Name: "all-allowed", Dims: kernel.Dims{"nq": 2, "p": 3, "c": 100}, Lens: map[string][]int64{"tq": {5, 9}, "l": uniform(40, 6)}, Absent: []string{"Allowed"}},
		kernel.Case{Name: "none-allowed", Dims: kernel.Dims{"nq": 2, "p": 3, "c": 100}, Lens: map[string][]int64{"tq": {5, 9}, "l": uniform(40, 6)},
			Absent: []string{"Live"}, Fill: fills{"Allowed": fillZero}},
		kernel.Case{Name: "many-documents", Dims: kernel.Dims{"nq": 2, "p": 8, "c": 70000}, Lens: map[string][]int64{"tq": {8, 3}, "l": uniform(50, 300)}},
		kernel.Case{Name: "no-cells", Dims: kernel.Dims{"nq": 2, "p": 0, "c": 40}, Lens: map[string][]int64{"tq": {5, 2}, "l": uniform(10, 3)}},
		kernel.Case{Name: "no-documents", Dims: kernel.Dims{"nq": 2, "p": 2, "c": 0}, Lens: map[string][]int64{"tq": {3, 1}, "l": uniform(10, 0)}},
		kernel.Case{Name: "no-queries", Dims: kernel.Dims{"nq": 0, "p": 2, "c": 9}, Lens: map[string][]int64{"tq": {}, "l": uniform(10, 3)}},
		kernel.Case{Name: "bad-cells", Dims: kernel.Dims{"nq": 2, "p": 4, "c": 60}, Lens: map[string][]int64{"tq": {8, 3}, "l": uniform(11, 5)},
			Fill: fills{"Cell": fillBelow(-2, 13)}, Faults: true},
		kernel.Case{Name: "bad-lists", Dims: kernel.Dims{"nq": 2, "p": 4, "c": 60}, Lens: map[string][]int64{"tq": {8, 3}, "l": uniform(11, 5)},
			Fill: fills{"ListDoc": fillBelow(-2, 64)}, Faults: true},
	), candidatesSplit()...),
	Bench: derived(deriveCandidates,
		kernel.Case{Name: "cranfield", Dims: kernel.Dims{"nq": 1, "p": 8, "c": 1400}, Lens: map[string][]int64{"tq": {21}, "l": uniform(4096, 50)}, Absent: []string{"Allowed"}, Note: "one query of a small index"},
		kernel.Case{Name: "query-20k", Dims: kernel.Dims{"nq": 1, "p": 8, "c": 20000}, Lens: map[string][]int64{"tq": {32}, "l": uniform(16384, 130)}, Absent: []string{"Allowed"}, Note: "one query, 20,000 documents"},
		kernel.Case{Name: "query-1m", Dims: kernel.Dims{"nq": 1, "p": 8, "c": 1000000}, Lens: map[string][]int64{"tq": {32}, "l": uniform(131072, 800)}, Absent: []string{"Allowed"}, Note: "one query, a million documents"},
	),
})

// candidatesSplit are few queries with lists long enough to be split among workers. Every
// document is in one list, and every cell is one token's: what is left out is missed.
func candidatesSplit() []kernel.Case {
	cases := derived(deriveCandidates,
		kernel.Case{Name: "split", Dims: kernel.Dims{"nq": 1, "p": 8, "c": 60000}, Lens: map[string][]int64{"tq": {32}, "l": uniform(256, 200)}},
		kernel.Case{Name: "split-two", Dims: kernel.Dims{"nq": 2, "p": 8, "c": 80000}, Lens: map[string][]int64{"tq": {33, 7}, "l": uniform(320, 230)}, Absent: []string{"Allowed"}},
	)
	for i := range cases {
		cases[i] = instead(cases[i], fills{"Cell": fillIdentity(cases[i].Dims["k"]), "ListDoc": fillIdentity(59997)})
	}
	return cases
}

func deriveCandidates(c *kernel.Case) {
	k := c.Dims["k"]
	if l, ok := c.Lens["l"]; ok {
		if len(l) == 0 {
			c.Lens = map[string][]int64{"tq": c.Lens["tq"], "l": {0}}
		}
		k = int64(len(c.Lens["l"]))
	} else if k < 1 {
		k = 1
	}
	docs := c.Dims["c"]
	if docs > 50 {
		docs -= 3 // places to spare
	}
	c.Dims["k"], c.Dims["w"], c.Dims["kw"] = k, (docs+31)/32, (k+31)/32
	setAttr(c, "Documents", int(docs))
	own := c.Fill["Allowed"]
	setFills(c, fills{"Cell": fillBelow(-1, k), "ListDoc": fillBelow(0, docs), "Allowed": fillWords})
	if own != nil {
		c.Fill["Allowed"] = own
	}
}

func candidatesRef(r *kernel.Ref, a *PlaidCandidatesArgs) error {
	cell, doc, allowed := r.Ints(&a.Cell), r.Ints(&a.ListDoc), r.Ints(&a.Allowed)
	query := refOffsets(r, "QueryOff", &a.QueryOff, a.Cell.Dims[0])
	list := refOffsets(r, "ListOff", &a.ListOff, a.ListDoc.Dims[0])
	p, k, c, n := a.Cell.Dims[1], int64(len(list)-1), a.Candidate.Dims[1], a.Documents
	nq := int64(len(query) - 1)
	live, candidate, count := make([]int64, nq*((k+31)/32)), make([]int64, nq*c), make([]int64, nq)
	for i := range candidate {
		candidate[i] = -1
	}
	for q := range nq {
		seen := make([]bool, n)
		for at := query[q] * p; at < query[q+1]*p; at++ {
			x := cell[at]
			if x < -1 || x >= k {
				r.Fault(1, "Cell", at)
			}
			if x < 0 || x >= k {
				continue
			}
			live[q*((k+31)/32)+x/32] |= 1 << (x % 32)
			for e := list[x]; e < list[x+1]; e++ {
				if j := doc[e]; j < 0 || j >= n {
					r.Fault(2, "ListDoc", e)
				} else {
					seen[j] = true
				}
			}
		}
		for j, in := range seen {
			if in && (allowed == nil || allowed[j/32]>>(j%32)&1 != 0) {
				candidate[q*c+count[q]] = int64(j)
				count[q]++
			}
		}
	}
	for i, w := range live {
		live[i] = int64(int32(uint32(w)))
	}
	if !a.Live.Absent() {
		r.WriteInts(&a.Live, live)
	}
	r.WriteInts(&a.Candidate, candidate)
	r.WriteInts(&a.Count, count)
	return nil
}
