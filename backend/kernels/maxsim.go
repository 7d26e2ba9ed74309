package kernels

import (
	"math"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// MaxSimArgs are the operands of [MaxSim]. Axes: tq query tokens in all, nq queries, td
// document tokens in all, nd documents, d components. Masks are 1 for tokens that count.
type MaxSimArgs struct {
	Query     backend.View   `kernel:"in T tq,d"`
	QueryOff  kernel.Offsets `kernel:"in i64 nq+1 offsets=tq"`
	Doc       backend.View   `kernel:"in T td,d"`
	DocOff    kernel.Offsets `kernel:"in i64 nd+1 offsets=td"`
	QueryMask backend.View   `kernel:"in u8 tq opt"`
	DocMask   backend.View   `kernel:"in u8 td opt"`
	Score     backend.View   `kernel:"out acc(T) nq,nd"`
	Winner    backend.View   `kernel:"out i32 tq,nd opt"` // relative to the document's start; -1 = none
	Normalize bool           `kernel:"attr"`              // tokens divided by √max(‖x‖², 1e-12)
	EmptyZero bool           `kernel:"attr"`              // documents without a valid token score 0
}

// MaxSim is the late-interaction score: for each query and document, the sum over the
// query's active tokens of the largest dot product with a valid token of the document.
//
// A document with no valid token scores −∞ for a query with an active token (0 with
// EmptyZero); a query with no active token scores 0. Ties go to the lowest token; NaN in
// an active token makes the score NaN and the winner the lowest NaN token. Masked tokens
// never matter. A score does not depend on the other documents of the call.
var MaxSim = kernel.Declare(kernel.Spec[MaxSimArgs]{
	Name: "maxsim", Family: "lateinteraction",
	Source: "Khattab and Zaharia, ColBERT, SIGIR 2020",
	Doc: "Late-interaction score: the sum over a query's active tokens of the largest dot product with a valid token of the document. " +
		"A document without a valid token scores −∞ (0 with EmptyZero), a query without an active token 0.",
	Vars: []string{"T"}, Instances: [][]backend.DType{{f32}, {bf16}},
	Check: func(a *MaxSimArgs) error { return checkMaxSim("maxsim", &a.Query, &a.DocOff) },
	Reference: func(r *kernel.Ref, a *MaxSimArgs) error {
		m := maxSimRef{
			query: r.Read(&a.Query), doc: r.Read(&a.Doc), d: int(a.Query.Dims[1]),
			queryMask: r.Ints(&a.QueryMask), docMask: r.Ints(&a.DocMask), emptyZero: a.EmptyZero,
		}
		m.queryOff = refOffsets(r, "QueryOff", &a.QueryOff, a.Query.Dims[0])
		m.docOff = refOffsets(r, "DocOff", &a.DocOff, a.Doc.Dims[0])
		if a.Normalize {
			normalizeRows(m.query, m.d)
			normalizeRows(m.doc, m.d)
		}
		m.run(a.Winner.Absent())
		r.Write(&a.Score, m.score)
		r.WriteInts(&a.Winner, m.winner)
		r.Margin("Winner", m.margin, m.scale)
		return nil
	},
	Tolerance: map[string]kernel.Tolerance{
		// d products and additions per dot, then one addition per query token; twice that
		// where tokens are normalised in f32.
		"Score":  kernel.Rounding[MaxSimArgs]{Terms: "d+tq+8", Slack: 2},
		"Winner": kernel.Winner{Of: "Score"},
	},
	Independent: "nd",
	Cost: func(c *backend.Call) kernel.Cost {
		unit := "fma_f32"
		if c.Types[0] == bf16 {
			unit = "dot_bf16"
		}
		return maxSimCost(c, unit, []int{0, 1, 2, 3, 4, 5}, []int{6, 7})
	},
	Cases: maxSimCases(),
	Bench: maxSimBench(),
})

func checkMaxSim(name string, query *backend.View, doc *kernel.Offsets) error {
	if query.Dims[1] < 1 {
		return argument(name, "Query", "d", "tokens need at least one component", 1, query.Dims[1])
	}
	if doc.Max > math.MaxInt32 {
		return argument(name, "DocOff", "", "longest document has more tokens than a winner index holds", math.MaxInt32, doc.Max)
	}
	return nil
}

// maxSimCost: axes tq, d, nq, td, nd. Every query meets every document.
func maxSimCost(c *backend.Call, unit string, in, out []int) kernel.Cost {
	return kernel.Cost{
		FLOP: 2 * float64(c.Axes[0]) * float64(c.Axes[3]) * float64(c.Axes[1]),
		Read: viewBytes(c, in...), Write: viewBytes(c, out...), Unit: unit,
	}
}

// refOffsets reads offsets as every body does: clamped to [0, axis] and made to not
// decrease; a violation is reported through the status word.
func refOffsets(r *kernel.Ref, field string, o *kernel.Offsets, axis int64) []int64 {
	off := r.Ints(&o.View)
	var low int64
	for i, x := range off {
		if x < low || x > axis {
			r.Fault(kernel.FaultOffsets, field, int64(i))
		}
		low = min(max(x, low), axis)
		off[i] = low
	}
	return off
}

func normalizeRows(x []float64, d int) {
	for i := 0; i < len(x); i += d {
		var s float64
		for _, v := range x[i : i+d] {
			s += v * v
		}
		n := 1 / math.Sqrt(math.Max(s, 1e-12))
		for j := range x[i : i+d] {
			x[i+j] *= n
		}
	}
}

// maxSimRef is the reference: three loops, no tricks.
type maxSimRef struct {
	query, doc           []float64
	queryScale, docScale []float64 // nil = 1
	queryMask, docMask   []int64   // nil = all valid
	queryOff, docOff     []int64
	d                    int
	emptyZero            bool

	score         []float64 // nq,nd
	winner        []int64   // tq,nd
	margin, scale []float64 // tq,nd
}

func (m *maxSimRef) run(noWinner bool) {
	nq, nd := len(m.queryOff)-1, len(m.docOff)-1
	tq := len(m.query) / m.d
	m.score = make([]float64, nq*nd)
	if !noWinner {
		m.winner = make([]int64, tq*nd)
		m.margin, m.scale = make([]float64, tq*nd), make([]float64, tq*nd)
		for i := range m.winner {
			m.winner[i] = -1 // also of spare rows
			m.margin[i] = math.Inf(1)
		}
	}
	for i := range nq {
		for j := range nd {
			m.score[i*nd+j] = m.pair(i, j, nd)
		}
	}
}

func (m *maxSimRef) pair(i, j, nd int) float64 {
	var sum float64
	for t := m.queryOff[i]; t < m.queryOff[i+1]; t++ {
		if m.queryMask != nil && m.queryMask[t] == 0 {
			continue
		}
		sum += m.token(int(t), j, nd)
	}
	return sum
}

// token is the maximum of one query token over document j.
func (m *maxSimRef) token(t, j, nd int) float64 {
	best, second, at, scale := negInf, negInf, int64(-1), 0.0
	for u := m.docOff[j]; u < m.docOff[j+1]; u++ {
		if m.docMask != nil && m.docMask[u] == 0 {
			continue
		}
		x, abs := m.dot(t, int(u))
		scale = math.Max(scale, abs)
		switch {
		case at < 0 || x > best || math.IsNaN(x) && !math.IsNaN(best):
			second, best, at = best, x, u-m.docOff[j]
		case x > second || math.IsNaN(x):
			second = x
		}
	}
	if m.winner != nil {
		k := t*nd + j
		m.winner[k], m.scale[k], m.margin[k] = at, scale, best-second
		if math.IsNaN(best) || math.IsInf(best, 0) || math.IsInf(second, -1) {
			m.margin[k] = math.Inf(1) // no rounding can change the choice
		}
		if math.IsInf(best, 1) && math.IsInf(second, 1) {
			m.margin[k] = math.Inf(1)
		}
	}
	if at < 0 && m.emptyZero {
		return 0
	}
	return best
}

func (m *maxSimRef) dot(t, u int) (x, abs float64) {
	q, d := m.query[t*m.d:(t+1)*m.d], m.doc[u*m.d:(u+1)*m.d]
	for k, v := range q {
		p := v * d[k]
		x += p
		abs += math.Abs(p)
	}
	if m.queryScale != nil {
		s := m.queryScale[t] * m.docScale[u]
		x, abs = x*s, abs*math.Abs(s)
	}
	return x, abs
}
