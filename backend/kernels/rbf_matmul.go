package kernels

import (
	"fmt"
	"math"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// RBFMatmulArgs are the operands of [RBFMatmul]. Axes: n row points, m column points, d
// components, c right-hand sides.
type RBFMatmulArgs struct {
	X     backend.View `kernel:"in T n,d"`
	Y     backend.View `kernel:"in T m,d"`
	V     backend.View `kernel:"in T m,c"`
	O     backend.View `kernel:"out T n,c"`
	Gamma float64      `kernel:"attr"` // per squared distance; ≥ 0
}

// RBFMatmul is O = K·V with K_ij = e^(−γ‖x_i − y_j‖²), never stored: extra memory does
// not grow with n·m. Distances are sums of squared differences, so near points far from
// the origin keep their accuracy. m = 0 gives zeros; points without
// components (d = 0) are an error.
var RBFMatmul = kernel.Declare(kernel.Spec[RBFMatmulArgs]{
	Name: "rbf_matmul", Family: "pairwise",
	Source: "Charlier et al., KeOps, JMLR 2021 (streamed reduction); definition",
	Doc: "O = K·V with K_ij = e^(−γ‖x_i − y_j‖²), streamed. In f32 at most 256 terms are added per f32 lane and tiles are added in f64 " +
		"(two f32 on Metal).",
	Vars: []string{"T"}, Instances: [][]backend.DType{{f32}, {f64}},
	Check: func(a *RBFMatmulArgs) error {
		if a.X.Dims[1] < 1 {
			return argument("rbf_matmul", "X", "d", "points need at least one component", 1, a.X.Dims[1])
		}
		if !(a.Gamma >= 0) || math.IsInf(a.Gamma, 1) {
			return number("rbf_matmul", "Gamma", a.Gamma, "is negative or not finite")
		}
		return nil
	},
	Reference: func(r *kernel.Ref, a *RBFMatmulArgs) error {
		o, _ := rbfRef(r, a)
		r.Write(&a.O, o)
		return nil
	},
	Tolerance: map[string]kernel.Tolerance{
		// d roundings in a distance appear times γ·u in the value; 256 additions per lane.
		"O": kernel.Rounding[RBFMatmulArgs]{Terms: "d+264", Slack: 1, Scale: func(r *kernel.Ref, a *RBFMatmulArgs) []float64 {
			_, scale := rbfRef(r, a)
			if a.X.DType == f64 { // f64 lanes run over all of m
				for i := range scale {
					scale[i] *= 1 + float64(a.Y.Dims[0])/256
				}
			}
			return scale
		}},
	},
	Independent: "n",
	Cost: func(c *backend.Call) kernel.Cost {
		pairs := float64(c.Axes[0]) * float64(c.Axes[2])
		unit := "fma_f32"
		if c.Types[0] == f64 {
			unit = "fma_f64"
		}
		// A subtraction occupies the unit as an FMA does: count it as one.
		return kernel.Cost{FLOP: pairs * (4*float64(c.Axes[1]) + 2*float64(c.Axes[3])), Special: pairs,
			Read: viewBytes(c, 0, 1, 2), Write: viewBytes(c, 3), Unit: unit}
	},
	Cases: rbfCases(),
	Bench: []kernel.Case{
		rbfCase("1k", 1024, 1024, 8, 1, .125, nil),
		rbfCase("4k", 4096, 4096, 8, 1, .125, nil),
		rbfCase("16k-d3", 16384, 16384, 3, 1, 1./3, nil),
		rbfCase("8k-d64-c16", 8192, 8192, 64, 16, 1./64, nil),
		rbfCase("few-rows", 64, 65536, 16, 4, 1./16, nil),
	},
})

func rbfRef(r *kernel.Ref, a *RBFMatmulArgs) (o, scale []float64) {
	x, y, v := r.Read(&a.X), r.Read(&a.Y), r.Read(&a.V)
	n, d, m, c := int(a.X.Dims[0]), int(a.X.Dims[1]), int(a.Y.Dims[0]), int(a.V.Dims[1])
	o, scale = make([]float64, n*c), make([]float64, n*c)
	for i := range n {
		for j := range m {
			var u float64
			for k := range d {
				t := x[i*d+k] - y[j*d+k]
				u += t * t
			}
			u *= a.Gamma
			k := math.Exp(-u)
			for l := range c {
				t := k * v[j*c+l]
				o[i*c+l] += t
				if t != 0 {
					scale[i*c+l] += math.Abs(t) * (1 + u)
				}
			}
		}
	}
	return o, scale
}

func rbfCase(name string, n, m, d, c int64, gamma float64, fill func(kernel.Rand, []float64)) kernel.Case {
	out := kernel.Case{Name: name, Dims: kernel.Dims{"n": n, "m": m, "d": d, "c": c}, Attrs: map[string]any{"Gamma": gamma}}
	if fill != nil {
		out.Fill = fills{"X": fill, "Y": fill}
	}
	return out
}

// rbfPoints are points of few components, few and many, against one column, and what is near that.
func rbfPoints() []kernel.Case {
	out := []kernel.Case{rbfCase("one-column-wide", 40, 70, 12, 1, .1, nil), rbfCase("sixteen-columns", 70, 90, 5, 13, .2, nil)}
	for _, d := range []int64{1, 2, 3, 4, 6, 8} {
		out = append(out, rbfCase(fmt.Sprintf("points-%d", d), 70, 150, d, 1, .25, nil),
			rbfCase(fmt.Sprintf("many-points-%d", d), 1100, 150, d, 1, .25, nil))
	}
	for i := range out {
		out[i].Smoke = true
	}
	return out
}

func rbfCases() []kernel.Case {
	return append([]kernel.Case{
		rbfCase("one", 1, 1, 1, 1, 1, nil),
		rbfCase("small", 7, 11, 5, 3, .2, nil),
		rbfCase("columns", 33, 300, 8, 1, .125, nil),
		rbfCase("wide-c", 5, 40, 3, 70, .5, nil),
		rbfCase("wide-d", 6, 20, 130, 2, .01, nil),
		rbfCase("many-columns", 3, 1500, 4, 2, .25, nil),
		rbfCase("offset", 6, 9, 4, 2, .25, fillOffset),
		rbfCase("duplicates", 8, 9, 3, 2, .5, fillIntegers),
		rbfCase("underflow", 5, 6, 3, 2, 1000, fillIntegers),
		rbfCase("flat", 4, 5, 3, 2, 0, nil),
		rbfCase("nan", 4, 40, 3, 2, .5, fillOne(math.NaN(), 4)),
		rbfCase("infinite", 4, 40, 3, 2, .5, fillOne(math.Inf(1), 4)),
		rbfCase("infinite-flat", 4, 40, 3, 2, 0, fillOne(math.Inf(-1), 4)), // 0 · ∞
		rbfCase("infinite-far", 4, 40, 3, 2, 1e-37, fillOne(math.Inf(1), 4)),
		rbfCase("specials", 64, 96, 8, 1, .125, fillSpecials),
		rbfCase("specials-wide", 32, 64, 24, 20, .02, fillSpecials),
		rbfCase("specials-points", 1100, 150, 3, 1, .25, fillSpecials),
		rbfCase("no-columns", 4, 0, 3, 2, .5, nil),
		rbfCase("no-rows", 0, 5, 3, 2, .5, nil),
		rbfCase("no-right-hand-side", 3, 5, 2, 0, .5, nil),
	}, rbfPoints()...)
}

// fillOffset draws near points far from the origin.
func fillOffset(r kernel.Rand, x []float64) {
	for i := range x {
		x[i] = 1e6 + float64(r.Int64N(32))/16
	}
}
