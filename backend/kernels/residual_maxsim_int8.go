package kernels

import (
	"math"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/kernel"
)

// ResidualMaxSimInt8Args are the operands of [ResidualMaxSimInt8]. Axes: k centroids, tq
// query tokens in all, d components, nq queries, td document tokens in all, rb = d·Bits/8
// bytes a row, nd documents, w = 2^Bits values, c places for candidates.
type ResidualMaxSimInt8Args struct {
	CentroidScore backend.View   `kernel:"in T k,tq strided"` // a row for each centroid
	Query         backend.View   `kernel:"in i8 tq,d"`
	Unit          backend.View   `kernel:"in f32 tq"` // what one step of the integer product stands for
	QueryOff      kernel.Offsets `kernel:"in i64 nq+1 offsets=tq"`
	Code          backend.View   `kernel:"in i32 td"`
	Packed        backend.View   `kernel:"in u8 td,rb"`
	DocOff        kernel.Offsets `kernel:"in i64 nd+1 offsets=td"`
	Table         backend.View   `kernel:"in i8 w"` // the value of each bucket
	InvNorm       backend.View   `kernel:"in f32 td opt"`
	Candidate     backend.View   `kernel:"in i32 nq,c"` // document numbers, −1 = none
	Count         backend.View   `kernel:"in i64 nq opt count=c"`
	Score         backend.View   `kernel:"out f32 nq,c"`
	Bits          int64          `kernel:"attr"` // 1, 2, 4 or 8
}

// ResidualMaxSimInt8 screens documents that an index keeps as centroids and residuals:
// scores of centroids are given, residuals are multiplied as integers. Its result is the
// same bits everywhere, but not the canonical score.
var ResidualMaxSimInt8 = kernel.Declare(kernel.Spec[ResidualMaxSimInt8Args]{
	Name: "residual_maxsim_int8", Family: "plaid",
	Source: "Scheerer et al., WARP, SIGIR 2025 (scores from centroids plus a table of residuals), in integers",
	Doc: "Per candidate the float32 sum, over query tokens in ascending order from +0, of the largest value among its document tokens: " +
		"fma(float32(Σ Query·Table[bucket]), Unit, CentroidScore of the token's centroid), times InvNorm where given; the integer sum is exact. " +
		"Places past Count, candidate −1 and documents without tokens score −∞; otherwise a query without tokens scores 0. NaN gives NaN. " +
		"Candidates outside the index (−∞) and codes outside the centroids (left out) are data errors.",
	Vars: []string{"T"}, Instances: [][]backend.DType{{f32}, {f16}},
	Faults: []string{"candidate out of range", "code out of range"},
	Check: func(a *ResidualMaxSimInt8Args) error {
		const name, most = "residual_maxsim_int8", math.MaxInt32 / (128 * 128)
		if d := a.Query.Dims[1]; d > most {
			return argument(name, "Query", "d", "an integer dot product could leave 32 bits", most, d)
		}
		if err := checkBits(name, a.Bits, a.Query.Dims[1], &a.Packed, "Table", &a.Table); err != nil {
			return err
		}
		return checkCentroids(name, a.CentroidScore.Dims[0])
	},
	Reference:   residualInt8Ref,
	Tolerance:   map[string]kernel.Tolerance{"Score": kernel.Exact{}},
	Independent: "c",
	Cost: func(c *backend.Call) kernel.Cost {
		tokens := float64(c.Axes[8]) * float64(c.Axes[4]) / max(float64(c.Axes[6]), 1)
		return kernel.Cost{
			FLOP: 2 * float64(c.Axes[1]) * tokens * float64(c.Axes[2]), Unit: "dot_i8",
			Read: viewBytes(c, 0, 1, 2, 3, 6, 7, 9, 10) + tokens*(4+float64(c.Axes[5])+4), Write: viewBytes(c, 11),
		}
	},
	Derive: deriveResidualInt8,
	Cases: append(residualCases(deriveResidualInt8, []string{"InvNorm"}, nil),
		derived(deriveResidualInt8, kernel.Case{Name: "specials", Dims: kernel.Dims{"d": 16, "nq": 2, "nd": 30, "k": 60, "c": 40},
			Lens: map[string][]int64{"tq": {4, 2}, "td": uniform(30, 3)}, Absent: []string{"InvNorm"}, Fill: fills{"CentroidScore": fillSpecials}},
			kernel.Case{Name: "thousands-of-places", Dims: kernel.Dims{"d": 128, "nq": 1, "nd": 13, "k": 11, "c": 4101},
				Lens: map[string][]int64{"tq": {5}, "td": {13, 0, 1, 40, 2, 65, 32, 33, 16, 17, 0, 48, 31}}, Smoke: true},
			kernel.Case{Name: "thousands-of-places-bad-codes", Dims: kernel.Dims{"d": 128, "nq": 1, "nd": 13, "k": 37, "c": 4096},
				Lens: map[string][]int64{"tq": {3}, "td": {13, 0, 1, 40, 2, 65, 32, 33, 16, 17, 0, 48, 31}}, Absent: []string{"InvNorm"}, Fill: fills{"Code": fillBelow(-3, 41)}, Faults: true})...),
	Bench: residualBench(deriveResidualInt8, []string{"Count"}),
})

func deriveResidualInt8(c *kernel.Case) {
	deriveResidual(c)
	for _, name := range []string{"Weight", "Shift"} {
		delete(c.Fill, name)
	}
	setFills(c, fills{"Query": fillInt8, "Table": fillInt8, "Unit": fillConstant(float64(float32(1e-5)))})
}

func residualInt8Ref(r *kernel.Ref, a *ResidualMaxSimInt8Args) error {
	s, q, unit := floats32(r.Read(&a.CentroidScore)), r.Ints(&a.Query), floats32(r.Read(&a.Unit))
	packed, table, inv := r.Ints(&a.Packed), r.Ints(&a.Table), r.Read(&a.InvNorm)
	k, tq, d, rb := a.CentroidScore.Dims[0], a.CentroidScore.Dims[1], a.Query.Dims[1], a.Packed.Dims[1]
	l := readListing(r, &a.QueryOff, &a.DocOff, &a.Candidate, &a.Count, &a.Code, tq, a.Code.Dims[0], k)
	out, v := make([]float64, a.Score.Elements()), make([]int64, d)
	l.each(r, func(i, e, lo, hi int64) {
		if lo == hi {
			out[i*l.c+e] = negInf
			return
		}
		best := make([]float64, l.query[i+1]-l.query[i])
		for t := range best {
			best[t] = negInf
		}
		for u := lo; u < hi; u++ {
			c, ok := l.cell(r, u)
			if !ok {
				continue
			}
			for j := range d {
				v[j] = table[bucketOf(packed[u*rb:(u+1)*rb], j, a.Bits)]
			}
			for t := range best {
				at := l.query[i] + int64(t)
				var dot int64
				for j, x := range v {
					dot += x * q[at*d+int64(j)]
				}
				x := canon.FMA(float32(dot), unit[at], s[c*tq+at])
				if inv != nil {
					x = float32(x * float32(inv[u]))
				}
				best[t] = maximum(best[t], float64(x))
			}
		}
		var sum float32
		for _, x := range best {
			sum = float32(sum + float32(x))
		}
		out[i*l.c+e] = float64(sum)
	})
	r.Write(&a.Score, out)
	return nil
}
