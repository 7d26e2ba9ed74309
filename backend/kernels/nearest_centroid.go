package kernels

import (
	"math"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/kernel"
)

// NearestCentroidArgs are the operands of [NearestCentroid]. Axes: n tokens, k centroids, d
// components.
type NearestCentroidArgs struct {
	Token    backend.View `kernel:"in f32 n,d"`
	Centroid backend.View `kernel:"in f32 k,d"`
	Code     backend.View `kernel:"out i32 n"`
	Score    backend.View `kernel:"out f32 n opt"` // the dot product with it
}

// NearestCentroid gives each token the centroid of the largest dot product, the lowest on
// ties: the nearest one where centroids have unit norm. Dot products are canonical (package
// canon), so codes are the same everywhere. A token with a NaN dot product gets code −1 and
// is reported.
var NearestCentroid = kernel.Declare(kernel.Spec[NearestCentroidArgs]{
	Name: "nearest_centroid", Family: "plaid",
	Source: "definition; Lloyd, Least squares quantization in PCM, IEEE Trans. Information Theory, 1982",
	Doc: "The centroid of the largest canonical dot product with each token, the lowest on ties, −0 equal to +0. " +
		"A token with a NaN dot product gets code −1 and score NaN, and is a data error. The tokens × centroids matrix is never stored.",
	Faults: []string{"a dot product with a centroid is NaN"},
	Check: func(a *NearestCentroidArgs) error {
		if a.Token.Dims[1] < 1 {
			return argument("nearest_centroid", "Token", "d", "tokens need at least one component", 1, a.Token.Dims[1])
		}
		return checkCentroids("nearest_centroid", a.Centroid.Dims[0])
	},
	Reference: func(r *kernel.Ref, a *NearestCentroidArgs) error {
		token, centroid := floats32(r.Read(&a.Token)), floats32(r.Read(&a.Centroid))
		n, k, d := int(a.Token.Dims[0]), int(a.Centroid.Dims[0]), int(a.Token.Dims[1])
		code, score, dots := make([]int64, n), make([]float64, n), make([]float32, k)
		for i := range n {
			canon.Dots(dots, token[i*d:(i+1)*d], centroid, d)
			best := 0
			for c, x := range dots {
				if x != x {
					best = -1
					break
				}
				if x > dots[best] {
					best = c
				}
			}
			code[i], score[i] = int64(best), math.NaN()
			if best < 0 {
				r.Fault(1, "Token", int64(i))
				continue
			}
			score[i] = float64(dots[best])
		}
		r.WriteInts(&a.Code, code)
		r.Write(&a.Score, score)
		return nil
	},
	Tolerance:   map[string]kernel.Tolerance{"Code": kernel.Exact{}, "Score": kernel.Exact{}},
	Independent: "n",
	Cost: func(c *backend.Call) kernel.Cost {
		return kernel.Cost{FLOP: 2 * float64(c.Axes[0]) * float64(c.Axes[1]) * float64(c.Axes[2]), Read: viewBytes(c, 0, 1), Write: viewBytes(c, 2, 3)}
	},
	Derive: deriveNearest,
	Cases: derived(deriveNearest,
		kernel.Case{Name: "one", Dims: kernel.Dims{"n": 1, "k": 1, "d": 1}},
		kernel.Case{Name: "small", Dims: kernel.Dims{"n": 13, "k": 21, "d": 33}},
		kernel.Case{Name: "aligned", Dims: kernel.Dims{"n": 64, "k": 128, "d": 64}},
		kernel.Case{Name: "d128", Dims: kernel.Dims{"n": 150, "k": 270, "d": 128}, Absent: []string{"Score"}},
		kernel.Case{Name: "ties", Dims: kernel.Dims{"n": 90, "k": 200, "d": 8}, Fill: fills{"Token": fillIntegers, "Centroid": fillIntegers}},
		kernel.Case{Name: "zeros", Dims: kernel.Dims{"n": 9, "k": 40, "d": 16}, Fill: fills{"Token": fillZero}},
		kernel.Case{Name: "many-centroids", Dims: kernel.Dims{"n": 5, "k": 3000, "d": 24}, Absent: []string{"Score"}},
		kernel.Case{Name: "no-tokens", Dims: kernel.Dims{"n": 0, "k": 5, "d": 8}},
		kernel.Case{Name: "nan", Dims: kernel.Dims{"n": 60, "k": 37, "d": 16}, Fill: fills{"Token": fillSpecials}, Faults: true},
		kernel.Case{Name: "nan-centroid", Dims: kernel.Dims{"n": 7, "k": 100, "d": 16}, Fill: fills{"Centroid": fillOne(math.NaN(), 777)}, Faults: true},
	),
	Bench: []kernel.Case{
		{Name: "cranfield-64", Dims: kernel.Dims{"n": 1 << 15, "k": 4096, "d": 64}, Absent: []string{"Score"}, Note: "a block of tokens of a small collection"},
		{Name: "block-128", Dims: kernel.Dims{"n": 1 << 14, "k": 4096, "d": 128}, Absent: []string{"Score"}, Note: "the same at 128 components"},
		{Name: "build-20k", Dims: kernel.Dims{"n": 2440000, "k": 16384, "d": 128}, Absent: []string{"Score"}, Note: "one pass over 20,000 documents"},
	},
})

func deriveNearest(c *kernel.Case) {
	c.Dims["k"], c.Dims["d"] = max(c.Dims["k"], 1), max(c.Dims["d"], 1)
}
