package kernels

import (
	"math"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/kernel"
)

// ResidualMaxSimArgs are the operands of [ResidualMaxSim]. Axes: tq query tokens in all, d
// components, nq queries, td document tokens in all, rb = d·Bits/8 bytes a row, nd
// documents, k centroids, w = 2^Bits weights, c places for candidates.
type ResidualMaxSimArgs struct {
	Query     backend.View   `kernel:"in T tq,d"`
	QueryOff  kernel.Offsets `kernel:"in i64 nq+1 offsets=tq"`
	Code      backend.View   `kernel:"in i32 td"`
	Packed    backend.View   `kernel:"in u8 td,rb"`
	DocOff    kernel.Offsets `kernel:"in i64 nd+1 offsets=td"`
	Centroid  backend.View   `kernel:"in T k,d"`
	Weight    backend.View   `kernel:"in f32 w"`
	InvNorm   backend.View   `kernel:"in f32 td opt"` // 1/‖v‖ of each token's decoded vector
	Candidate backend.View   `kernel:"in i32 nq,c"`   // document numbers, −1 = none
	Count     backend.View   `kernel:"in i64 nq opt count=c"`
	Shift     backend.View   `kernel:"in i32 nq"` // steps of 2^-Shift
	Score     backend.View   `kernel:"out f32 nq,c"`
	Fixed     backend.View   `kernel:"out i64 nq,c opt"` // canon.Fixed; T = f32 only
	Bits      int64          `kernel:"attr"`             // 1, 2, 4 or 8
	Normalize bool           `kernel:"attr"`             // without InvNorm: norms are computed
}

// ResidualMaxSim is the late-interaction score of documents that an index keeps as
// centroids and residuals, in the bit order of ColBERT, fast-plaid and next-plaid.
//
// In f32 it is canonical: decoded vectors, dot products and sums are those of package canon
// and plaid/codec, bit for bit on every backend. In f16 decoded vectors are rounded to f16
// once and multiplied by tensor units; it screens.
var ResidualMaxSim = kernel.Declare(kernel.Spec[ResidualMaxSimArgs]{
	Name: "residual_maxsim", Family: "plaid",
	Source: "Santhanam et al., ColBERTv2, NAACL 2022; byte layout of package plaid/codec",
	Doc: "Per candidate the sum over query tokens of the largest dot product with a decoded document token: centroid + weight of each component's bucket, one float32 addition, times InvNorm, " +
		"or with Normalize times 1/max(‖v‖, 1e-12) computed in float32 in ascending order, or as it is. The sum is a count of steps 2^-Shift, each maximum rounded half to even; Score is the count rounded to float32 and scaled. " +
		"With f32 the dot products are canonical and Fixed is the count itself; with f16 decoded vectors are rounded to float16 and dot products accumulate in float32 in any order. " +
		"Places past Count, candidate −1 and documents without tokens score −∞; otherwise a query without tokens scores 0. NaN in a dot product gives NaN, infinities follow IEEE. " +
		"Candidates outside the index (−∞), codes outside the centroids (left out) and maxima of 2^62 steps or more (NaN) are data errors.",
	Vars: []string{"T"}, Instances: [][]backend.DType{{f32}, {f16}},
	Faults: []string{"candidate out of range", "code out of range", "a maximum is beyond the range of the sum"},
	Check: func(a *ResidualMaxSimArgs) error {
		const name = "residual_maxsim"
		switch {
		case !a.Fixed.Absent() && a.Query.DType != f32:
			return argument(name, "Fixed", "", "canonical sums need f32", 0, 0)
		case a.Normalize && !a.InvNorm.Absent():
			return argument(name, "InvNorm", "", "given, and Normalize asks to compute it", 0, 0)
		}
		if err := checkBits(name, a.Bits, a.Query.Dims[1], &a.Packed, "Weight", &a.Weight); err != nil {
			return err
		}
		return checkCentroids(name, a.Centroid.Dims[0])
	},
	Reference: func(r *kernel.Ref, a *ResidualMaxSimArgs) error {
		m := newResidualRef(r, a)
		m.run(r)
		r.Write(&a.Score, m.score)
		r.WriteInts(&a.Fixed, m.fixed)
		return nil
	},
	Tolerance: map[string]kernel.Tolerance{
		"Score": kernel.Rounding[ResidualMaxSimArgs]{Terms: "d+8", Slack: 2, Scale: residualScale, Extra: residualExtra},
		"Fixed": kernel.Exact{},
	},
	Independent: "c",
	Cost: func(c *backend.Call) kernel.Cost {
		unit := "fma_f32"
		if c.Types[0] == f16 {
			unit = "dot_f16"
		}
		return residualCost(c, unit, c.Axes[8], []int{0, 1, 4, 5, 6, 8, 9, 10}, []int{11, 12})
	},
	Derive: deriveResidual,
	Cases:  append(residualCases(deriveResidual, []string{"InvNorm"}, []string{"Fixed"}), residualF32Cases()...),
	Bench:  residualBench(deriveResidual, []string{"Fixed", "Count"}),
})

// residualCost: tokens of candidates are read once, documents taken as long as the mean. Axes 0, 1, 3, 4, 5: tq, d, td, rb, nd.
func residualCost(c *backend.Call, unit string, places int64, in, out []int) kernel.Cost {
	tokens := float64(places) * float64(c.Axes[3]) / max(float64(c.Axes[5]), 1)
	return kernel.Cost{
		FLOP: 2 * float64(c.Axes[0]) * tokens * float64(c.Axes[1]), Unit: unit,
		Read: viewBytes(c, in...) + tokens*(4+float64(c.Axes[4])+4), Write: viewBytes(c, out...),
	}
}

type residualRef struct {
	l         *listing
	x         decoder
	query     []float32
	shift     []int64
	canonical bool
	magnitude bool // the score of absolute products instead
	score     []float64
	fixed     []int64
	v         []float32
}

func newResidualRef(r *kernel.Ref, a *ResidualMaxSimArgs) *residualRef {
	d, k := a.Query.Dims[1], a.Centroid.Dims[0]
	m := &residualRef{query: floats32(r.Read(&a.Query)), shift: r.Ints(&a.Shift), canonical: a.Query.DType == f32}
	m.l = readListing(r, &a.QueryOff, &a.DocOff, &a.Candidate, &a.Count, &a.Code, a.Query.Dims[0], a.Code.Dims[0], k)
	m.x = decoder{centroid: floats32(r.Read(&a.Centroid)), weight: floats32(r.Read(&a.Weight)), packed: r.Ints(&a.Packed), normalize: a.Normalize, d: d, bits: a.Bits}
	if !a.InvNorm.Absent() {
		m.x.inv = floats32(r.Read(&a.InvNorm))
	}
	n := a.Score.Elements()
	m.score, m.v = make([]float64, n), make([]float32, d)
	if !a.Fixed.Absent() {
		m.fixed = make([]int64, n)
	}
	return m
}

func (m *residualRef) run(r *kernel.Ref) {
	l := m.l
	l.each(r, func(i, e, lo, hi int64) {
		at := i*l.c + e
		result := canon.NegInf
		if lo < hi {
			sum := m.pair(r, i, lo, hi)
			if sum.beyond {
				r.Fault(3, "Shift", i)
			}
			result = sum.fixed()
		}
		m.score[at] = fixedScore(result, int(m.shift[i]))
		if m.fixed != nil {
			m.fixed[at] = int64(result)
		}
	})
}

// pair is the sum over the tokens of query i of the maximum over document tokens [lo, hi).
func (m *residualRef) pair(r *kernel.Ref, i, lo, hi int64) *fixedSum {
	from, d := m.l.query[i], m.x.d
	best := make([]float64, m.l.query[i+1]-from)
	for t := range best {
		best[t] = negInf
	}
	dots := make([]float32, len(best))
	for u := lo; u < hi; u++ {
		c, ok := m.l.cell(r, u)
		if !ok {
			continue
		}
		m.x.token(m.v, u, c)
		query := m.query[from*d : m.l.query[i+1]*d]
		if m.canonical && !m.magnitude {
			canon.Dots(dots, m.v, query, int(d))
		}
		for t := range best {
			x := float64(dots[t])
			if !m.canonical || m.magnitude {
				x = m.dot(query[int64(t)*d : int64(t+1)*d])
			}
			best[t] = maximum(best[t], x)
		}
	}
	sum := &fixedSum{shift: int(m.shift[i])}
	for _, x := range best {
		sum.add(x)
	}
	return sum
}

// dot is a float64 product with the decoded token, of absolute values where asked for.
func (m *residualRef) dot(q []float32) float64 {
	var sum float64
	for i, x := range q {
		p := float64(x) * float64(m.v[i])
		if m.magnitude {
			p = math.Abs(p)
		}
		sum += p
	}
	return sum
}

// residualScale is, per score, the sum over query tokens of the largest Σ|q·v|.
func residualScale(r *kernel.Ref, a *ResidualMaxSimArgs) []float64 {
	m := newResidualRef(r, a)
	m.magnitude = true
	m.run(r)
	for i, x := range m.score {
		if math.IsInf(x, 0) || math.IsNaN(x) {
			m.score[i] = 0
		}
	}
	return m.score
}

// residualExtra allows for decoded vectors that were rounded to f16, twice over.
func residualExtra(r *kernel.Ref, a *ResidualMaxSimArgs) []float64 {
	if a.Query.DType == f32 {
		return nil
	}
	scale := residualScale(r, a)
	for i := range scale {
		scale[i] *= spacing(f16)
	}
	return scale
}
