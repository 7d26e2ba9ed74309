package kernels

import (
	"math"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// Casting is where rms_norm rounds to the storage dtype.
type Casting uint8

// Casting modes, named after the model families whose results they reproduce.
const (
	// CastLlama rounds x·r to T, then multiplies by the weight and rounds to T.
	CastLlama Casting = iota
	// CastGemma computes in f32 and rounds once.
	CastGemma
	// CastNone rounds every step to T: the mean of squares (itself summed in f32), its sum
	// with eps, r, x·r, offset + weight, and the product.
	CastNone
)

// RMSNormArgs are the operands of [RMSNorm]. Axes: rows of n elements. Y may be X.
type RMSNormArgs struct {
	X       backend.View `kernel:"in T rows,n strided"`
	Weight  backend.View `kernel:"in W n opt"` // absent: ones, and Offset does not count
	Y       backend.View `kernel:"out T rows,n alias=X"`
	RStd    backend.View `kernel:"out acc(T) rows"` // r of each row; with CastNone rounded to T
	Eps     float64      `kernel:"attr"`
	Offset  float64      `kernel:"attr"`
	Casting Casting      `kernel:"attr"`
}

// RMSNormBackwardArgs are the operands of [RMSNormBackward]. DX may be DY.
type RMSNormBackwardArgs struct {
	DY      backend.View `kernel:"in T rows,n"`
	X       backend.View `kernel:"in T rows,n"`
	Weight  backend.View `kernel:"in W n opt"`
	RStd    backend.View `kernel:"in acc(T) rows"` // as the forward kernel stored it
	DX      backend.View `kernel:"out T rows,n alias=DY"`
	DW      backend.View `kernel:"out W n opt"` // absent: not computed
	Offset  float64      `kernel:"attr"`
	Casting Casting      `kernel:"attr"`
}

// RMSNorm is y = x·r ⊙ (offset + w) with r = 1/√(mean(x²) + eps). Rows of length 0 give
// r = 1/√eps. Sums are f32 or better whatever T.
var RMSNorm = kernel.Declare(kernel.Spec[RMSNormArgs]{
	Name: "rms_norm", Family: "rownorm",
	Source: "Zhang and Sennrich, Root mean square layer normalization, NeurIPS 2019",
	Doc:    "y = x·r ⊙ (offset + w), r = 1/√(mean(x²) + eps), with the roundings of the llama, gemma or none casting mode; stores r.",
	Vars:   []string{"T", "W"}, Instances: weightTypes,
	Check: func(a *RMSNormArgs) error {
		if !(a.Eps >= 0) || math.IsInf(a.Eps, 1) {
			return number("rms_norm", "Eps", a.Eps, "is negative or not finite")
		}
		return checkCasting("rms_norm", a.Offset, a.Casting)
	},
	Reference: rmsNormRef,
	Tolerance: map[string]kernel.Tolerance{
		// The mean of n squares, a root, and at most four roundings to T (CastNone).
		"Y": kernel.Rounding[RMSNormArgs]{Terms: "n+8", Slack: 1, Ulps: 4, Scale: func(r *kernel.Ref, a *RMSNormArgs) []float64 {
			y, _ := rmsNormForward(r, a)
			return magnitudes(y)
		}},
		"RStd": kernel.Rounding[RMSNormArgs]{Terms: "n+8", Slack: 1, Scale: func(r *kernel.Ref, a *RMSNormArgs) []float64 {
			_, rstd := rmsNormForward(r, a)
			return rstd
		}, Extra: func(r *kernel.Ref, a *RMSNormArgs) []float64 {
			if a.Casting != CastNone {
				return nil
			}
			_, rstd := rmsNormForward(r, a)
			for i := range rstd {
				rstd[i] *= 2 * spacing(a.X.DType)
			}
			return rstd
		}},
	},
	Independent: "rows",
	Cost: func(c *backend.Call) kernel.Cost {
		n := float64(c.Axes[0] * c.Axes[1])
		return kernel.Cost{FLOP: 4 * n, Special: float64(c.Axes[0]), Read: viewBytes(c, 0, 1), Write: viewBytes(c, 2, 3)}
	},
	Cases: rmsNormCases(false),
	Bench: rmsNormBench(false),
})

// RMSNormBackward is dx = r·m − (r³/n)(Σ m·x)·x with m = dy ⊙ (offset + w), and
// dw = Σ over rows of dy ⊙ (x·r), x·r rounded to T in the llama and none modes. Everything
// else is f32 with one rounding at the end; dw is summed in a fixed order.
var RMSNormBackward = kernel.Declare(kernel.Spec[RMSNormBackwardArgs]{
	Name: "rms_norm_backward", Family: "rownorm",
	Source: "derivative of rms_norm",
	Doc:    "dx = r·m − (r³/n)(Σ m·x)·x with m = dy ⊙ (offset + w); dw = Σ over rows of dy ⊙ (x·r), summed in a fixed order.",
	Vars:   []string{"T", "W"}, Instances: weightTypes,
	Check: func(a *RMSNormBackwardArgs) error {
		return checkCasting("rms_norm_backward", a.Offset, a.Casting)
	},
	Reference: func(r *kernel.Ref, a *RMSNormBackwardArgs) error {
		b := readRMSBackward(r, a)
		r.Write(&a.DX, b.dx)
		r.Write(&a.DW, b.dw)
		return nil
	},
	Tolerance: map[string]kernel.Tolerance{
		"DX": kernel.Rounding[RMSNormBackwardArgs]{Terms: "n+8", Slack: 1, Scale: func(r *kernel.Ref, a *RMSNormBackwardArgs) []float64 {
			return readRMSBackward(r, a).dxScale
		}},
		"DW": kernel.Rounding[RMSNormBackwardArgs]{Terms: "rows+8", Slack: 1, Scale: func(r *kernel.Ref, a *RMSNormBackwardArgs) []float64 {
			return readRMSBackward(r, a).dwScale
		}, Extra: func(r *kernel.Ref, a *RMSNormBackwardArgs) []float64 {
			// x·r rounded to T may fall on the other side of a tie in every row.
			if a.Casting == CastGemma || a.X.DType == f32 {
				return nil
			}
			s := readRMSBackward(r, a).dwScale
			for i := range s {
				s[i] *= spacing(a.X.DType)
			}
			return s
		}},
	},
	Cost: func(c *backend.Call) kernel.Cost {
		n := float64(c.Axes[0] * c.Axes[1])
		return kernel.Cost{FLOP: 9 * n, Read: viewBytes(c, 0, 1, 2, 3), Write: viewBytes(c, 4, 5)}
	},
	Cases: rmsNormCases(true),
	Bench: rmsNormBench(true),
})

func checkCasting(name string, offset float64, c Casting) error {
	if c > CastNone {
		return argument(name, "Casting", "", "unknown casting mode", int64(CastNone), int64(c))
	}
	if math.IsNaN(offset) || math.IsInf(offset, 0) {
		return number(name, "Offset", offset, "is not finite")
	}
	return nil
}

func magnitudes(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = math.Abs(v)
	}
	return out
}

func rmsNormRef(r *kernel.Ref, a *RMSNormArgs) error {
	y, rstd := rmsNormForward(r, a)
	r.Write(&a.Y, y)
	r.Write(&a.RStd, rstd)
	return nil
}

func rmsNormForward(r *kernel.Ref, a *RMSNormArgs) (y, rstd []float64) {
	x, w := r.Read(&a.X), r.Read(&a.Weight)
	rows, n, t := int(a.X.Dims[0]), int(a.X.Dims[1]), a.X.DType
	round := func(v float64, modes ...Casting) float64 {
		for _, m := range modes {
			if m == a.Casting {
				return kernel.Round(t, v)
			}
		}
		return v
	}
	y, rstd = make([]float64, len(x)), make([]float64, rows)
	for i := range rows {
		row := x[i*n : (i+1)*n]
		var mean float64
		for _, v := range row {
			mean += v * v / float64(n)
		}
		mean = round(mean, CastNone)
		rs := round(1/math.Sqrt(round(mean+round(a.Eps, CastNone), CastNone)), CastNone)
		rstd[i] = rs
		for j, v := range row {
			out := round(v*rs, CastLlama, CastNone)
			if w != nil {
				out *= round(a.Offset+w[j], CastNone)
			}
			y[i*n+j] = out
		}
	}
	return y, rstd
}

// rmsBackward is the reference's result with the magnitudes of its sums.
type rmsBackward struct{ dx, dw, dxScale, dwScale []float64 }

func readRMSBackward(r *kernel.Ref, a *RMSNormBackwardArgs) *rmsBackward {
	dy, x, w, rstd := r.Read(&a.DY), r.Read(&a.X), r.Read(&a.Weight), r.Read(&a.RStd)
	rows, n := int(a.X.Dims[0]), int(a.X.Dims[1])
	b := &rmsBackward{make([]float64, len(x)), make([]float64, n), make([]float64, len(x)), make([]float64, n)}
	m := make([]float64, n)
	for i := range rows {
		var dot, abs float64
		rs := rstd[i]
		for j := range n {
			k := i*n + j
			m[j] = dy[k]
			if w != nil {
				m[j] *= a.Offset + w[j]
			}
			dot += m[j] * x[k]
			abs += math.Abs(m[j] * x[k])
			xr := x[k] * rs
			if a.Casting != CastGemma {
				xr = kernel.Round(a.X.DType, xr)
			}
			b.dw[j] += dy[k] * xr
			b.dwScale[j] += math.Abs(dy[k] * xr)
		}
		c := rs * rs * rs / float64(n)
		for j := range n {
			k := i*n + j
			b.dx[k] = rs*m[j] - c*dot*x[k]
			b.dxScale[k] = math.Abs(rs*m[j]) + math.Abs(c*abs*x[k])
		}
	}
	return b
}
