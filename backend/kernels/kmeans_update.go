package kernels

import (
	"math"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// KMeansUpdateArgs are the operands of [KMeansUpdate]. Axes: n tokens, d components, k
// centroids. The step of the sums is 2^-Shift.
type KMeansUpdateArgs struct {
	Token backend.View `kernel:"in f32 n,d"`
	Code  backend.View `kernel:"in i32 n"` // −1 = no centroid
	Sum   backend.View `kernel:"out i64 k,d"`
	Count backend.View `kernel:"out i64 k"`
	Shift int64        `kernel:"attr"`
}

// KMeansUpdate adds up the tokens of each centroid in fixed point: each component as a
// count of steps 2^-Shift, rounded half to even, so that neither order nor grouping shows.
// The caller picks Shift so that n addends stay within 63 bits (canon.NewScale).
var KMeansUpdate = kernel.Declare(kernel.Spec[KMeansUpdateArgs]{
	Name: "kmeans_update", Family: "plaid",
	Source: "definition; Lloyd, Least squares quantization in PCM, IEEE Trans. Information Theory, 1982",
	Doc: "The sum of each centroid's tokens as counts of steps 2^-Shift, each component rounded half to even, and their number. " +
		"Code −1 leaves a token out; another code outside the centroids is a data error and leaves it out too; a component that is not finite, or of 2^62 steps or more, is one and counts 0.",
	Faults: []string{"code out of range", "component not finite or beyond the range of the sum"},
	Check: func(a *KMeansUpdateArgs) error {
		if a.Shift < -1000 || a.Shift > 1000 {
			return argument("kmeans_update", "", "Shift", "steps of 2^-Shift outside what float64 holds", 1000, a.Shift)
		}
		return checkCentroids("kmeans_update", a.Sum.Dims[0])
	},
	Reference: func(r *kernel.Ref, a *KMeansUpdateArgs) error {
		token, code := r.Read(&a.Token), r.Ints(&a.Code)
		k, d := a.Sum.Dims[0], a.Token.Dims[1]
		sum, count := make([]int64, k*d), make([]int64, k)
		for i, c := range code {
			if c < -1 || c >= k {
				r.Fault(1, "Code", int64(i))
			}
			if c < 0 || c >= k {
				continue
			}
			count[c]++
			for j := range d {
				steps := math.Ldexp(token[int64(i)*d+j], int(a.Shift))
				if !(math.Abs(steps) < 0x1p62) {
					r.Fault(2, "Token", int64(i)*d+j)
					continue
				}
				sum[c*d+j] += int64(math.RoundToEven(steps))
			}
		}
		r.WriteInts(&a.Sum, sum)
		r.WriteInts(&a.Count, count)
		return nil
	},
	Tolerance: map[string]kernel.Tolerance{"Sum": kernel.Exact{}, "Count": kernel.Exact{}},
	Cost: func(c *backend.Call) kernel.Cost {
		return kernel.Cost{FLOP: float64(c.Axes[0]) * float64(c.Axes[1]), Read: viewBytes(c, 0, 1), Write: viewBytes(c, 2, 3)}
	},
	Derive: deriveKMeans,
	Cases: derived(deriveKMeans,
		kernel.Case{Name: "one", Dims: kernel.Dims{"n": 1, "k": 1, "d": 1}},
		kernel.Case{Name: "small", Dims: kernel.Dims{"n": 70, "k": 5, "d": 33}},
		kernel.Case{Name: "aligned", Dims: kernel.Dims{"n": 300, "k": 16, "d": 64}},
		kernel.Case{Name: "sparse", Dims: kernel.Dims{"n": 40, "k": 300, "d": 24}, Note: "most centroids without tokens"},
		kernel.Case{Name: "large-values", Dims: kernel.Dims{"n": 90, "k": 3, "d": 16}, Attrs: map[string]any{"Shift": 54}},
		kernel.Case{Name: "coarse", Dims: kernel.Dims{"n": 90, "k": 3, "d": 16}, Attrs: map[string]any{"Shift": 1}, Note: "ties of rounding",
			Fill: fills{"Token": fillQuarters}},
		kernel.Case{Name: "no-tokens", Dims: kernel.Dims{"n": 0, "k": 5, "d": 8}},
		kernel.Case{Name: "bad-codes", Dims: kernel.Dims{"n": 60, "k": 7, "d": 8}, Fill: fills{"Code": fillBelow(-3, 9)}, Faults: true},
		kernel.Case{Name: "not-finite", Dims: kernel.Dims{"n": 60, "k": 7, "d": 8}, Fill: fills{"Token": fillSpecials}, Faults: true},
		kernel.Case{Name: "beyond", Dims: kernel.Dims{"n": 20, "k": 7, "d": 8}, Attrs: map[string]any{"Shift": 62}, Fill: fills{"Token": fillIntegers}, Faults: true},
	),
	Bench: derived(deriveKMeans,
		kernel.Case{Name: "cranfield-64", Dims: kernel.Dims{"n": 247210, "k": 4096, "d": 64}, Note: "the tokens of a small collection"},
		kernel.Case{Name: "build-20k", Dims: kernel.Dims{"n": 2440000, "k": 16384, "d": 128}, Note: "the tokens of 20,000 documents"},
	),
})

func deriveKMeans(c *kernel.Case) {
	c.Dims["k"] = max(c.Dims["k"], 1)
	setFills(c, fills{"Code": fillBelow(-1, c.Dims["k"])})
	if _, ok := c.Attrs["Shift"]; !ok {
		setAttr(c, "Shift", canonShift)
	}
}

// fillQuarters draws multiples of a quarter.
func fillQuarters(r kernel.Rand, x []float64) {
	for i := range x {
		x[i] = float64(r.Int64N(41)-20) / 4
	}
}
