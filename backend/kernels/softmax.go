package kernels

import (
	"math"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// SoftmaxArgs are the operands of [Softmax]. Axes: rows of n elements. Y may be X.
type SoftmaxArgs struct {
	X backend.View `kernel:"in T rows,n strided"`
	Y backend.View `kernel:"out T rows,n alias=X"`
}

// SoftmaxBackwardArgs are the operands of [SoftmaxBackward]; Y is the forward output. DX
// may be DY.
type SoftmaxBackwardArgs struct {
	Y  backend.View `kernel:"in T rows,n"`
	DY backend.View `kernel:"in T rows,n"`
	DX backend.View `kernel:"out T rows,n alias=DY"`
}

// Softmax is e^(x−max)/Σ over each row, of any width. A row of −∞ alone gives zeros; a
// row with NaN or +∞ is all NaN.
var Softmax = kernel.Declare(kernel.Spec[SoftmaxArgs]{
	Name: "softmax", Family: "rowmap",
	Source: "definition, with the row maximum subtracted",
	Doc:    "e^(x − max)/Σ over each row. A row of −∞ alone gives zeros; a row with NaN or +∞ is all NaN.",
	Vars:   []string{"T"}, Instances: rowTypes,
	Reference: func(r *kernel.Ref, a *SoftmaxArgs) error {
		y, _ := softmaxRef(r, a)
		r.Write(&a.Y, y)
		return nil
	},
	Tolerance: map[string]kernel.Tolerance{
		// The argument's rounding is relative to |x − max| and appears whole in the exponential.
		"Y": kernel.Rounding[SoftmaxArgs]{Terms: "n+8", Slack: 1, Scale: func(r *kernel.Ref, a *SoftmaxArgs) []float64 {
			_, scale := softmaxRef(r, a)
			return scale
		}},
	},
	Independent: "rows",
	Cost: func(c *backend.Call) kernel.Cost {
		n := float64(c.Axes[0] * c.Axes[1])
		return kernel.Cost{FLOP: 4 * n, Special: n, Read: viewBytes(c, 0), Write: viewBytes(c, 1)}
	},
	Cases: softmaxCases("X"),
	Bench: softmaxBench(),
})

// SoftmaxBackward is dx = y ⊙ (dy − Σ dy·y) over each row.
var SoftmaxBackward = kernel.Declare(kernel.Spec[SoftmaxBackwardArgs]{
	Name: "softmax_backward", Family: "rowmap",
	Source: "derivative of softmax",
	Doc:    "dx = y ⊙ (dy − Σ dy·y) over each row; where y is 0 in a whole row, dx is 0.",
	Vars:   []string{"T"}, Instances: rowTypes,
	Reference: func(r *kernel.Ref, a *SoftmaxBackwardArgs) error {
		dx, _ := softmaxBackwardRef(r, a)
		r.Write(&a.DX, dx)
		return nil
	},
	Tolerance: map[string]kernel.Tolerance{
		"DX": kernel.Rounding[SoftmaxBackwardArgs]{Terms: "n+8", Slack: 1, Scale: func(r *kernel.Ref, a *SoftmaxBackwardArgs) []float64 {
			_, scale := softmaxBackwardRef(r, a)
			return scale
		}},
	},
	Independent: "rows",
	Cost: func(c *backend.Call) kernel.Cost {
		n := float64(c.Axes[0] * c.Axes[1])
		return kernel.Cost{FLOP: 4 * n, Read: viewBytes(c, 0, 1), Write: viewBytes(c, 2)}
	},
	Cases: softmaxCases("Y"),
	Bench: softmaxBench(),
})

func softmaxRef(r *kernel.Ref, a *SoftmaxArgs) (y, scale []float64) {
	x := r.Read(&a.X)
	rows, n := int(a.X.Dims[0]), int(a.X.Dims[1])
	y, scale = make([]float64, len(x)), make([]float64, len(x))
	for i := range rows {
		row := x[i*n : (i+1)*n]
		top := negInf
		for _, v := range row {
			if v > top || math.IsNaN(v) {
				top = v
			}
			if math.IsNaN(top) {
				break
			}
		}
		if math.IsInf(top, -1) {
			continue // nothing has probability; zeros
		}
		var sum float64
		for j, v := range row {
			y[i*n+j] = math.Exp(v - top)
			sum += y[i*n+j]
		}
		for j, v := range row {
			y[i*n+j] /= sum
			if y[i*n+j] > 0 {
				scale[i*n+j] = y[i*n+j] * (1 + math.Abs(v-top))
			}
		}
	}
	return y, scale
}

func softmaxBackwardRef(r *kernel.Ref, a *SoftmaxBackwardArgs) (dx, scale []float64) {
	y, dy := r.Read(&a.Y), r.Read(&a.DY)
	rows, n := int(a.Y.Dims[0]), int(a.Y.Dims[1])
	dx, scale = make([]float64, len(y)), make([]float64, len(y))
	for i := range rows {
		var dot, abs float64
		for j := i * n; j < (i+1)*n; j++ {
			dot += y[j] * dy[j]
			abs += math.Abs(y[j] * dy[j])
		}
		for j := i * n; j < (i+1)*n; j++ {
			dx[j] = y[j] * (dy[j] - dot)
			scale[j] = math.Abs(y[j]) * (math.Abs(dy[j]) + abs)
		}
	}
	return dx, scale
}

func softmaxCases(field string) []kernel.Case {
	mk := func(name string, rows, n int64, fill func(kernel.Rand, []float64)) kernel.Case {
		c := kernel.Case{Name: name, Dims: kernel.Dims{"rows": rows, "n": n}}
		if fill != nil {
			c.Fill = fills{field: fill}
		}
		return c
	}
	cases := []kernel.Case{
		mk("one", 1, 1, nil), mk("two", 2, 8, nil), mk("odd", 5, 37, nil), mk("wide", 3, 1023, nil), mk("wider", 2, 4100, nil),
		mk("widest", 1, 70000, nil), mk("many-rows", 130, 5, nil), mk("nan", 3, 40, fillOne(math.NaN(), 50)), mk("empty", 0, 8, nil), mk("no-width", 4, 0, nil),
	}
	if field == "X" {
		cases = append(cases, mk("extreme", 4, 33, fillExtreme), mk("masked-block", 4, 600, fillMaskedBlock),
			mk("all-masked", 3, 70, fillNegInf), mk("inf", 3, 40, fillOne(math.Inf(1), 50)))
	} else {
		cases = append(cases, mk("zero-rows", 3, 70, fillZero))
	}
	return append(cases, softmaxWhole(field, mk)...)
}

// softmaxWhole are values that are not ordinary in rows of whole vectors, for which bodies have ways of their own.
func softmaxWhole(field string, mk func(string, int64, int64, func(kernel.Rand, []float64)) kernel.Case) []kernel.Case {
	cases := []kernel.Case{
		mk("nan-whole", 3, 64, fillOne(math.NaN(), 100)), mk("signed-nan-whole", 3, 64, fillOne(math.Copysign(math.NaN(), -1), 100)),
		mk("nan-wide", 2, 4096, fillOne(math.NaN(), 5000)), mk("nan-widest", 2, 40960, fillOne(math.NaN(), 81000)),
	}
	if field != "X" {
		return append(cases, mk("zero-whole", 3, 64, fillZero), mk("inf-whole", 3, 64, fillOne(math.Inf(1), 100)))
	}
	return append(cases, mk("extreme-whole", 4, 64, fillExtreme), mk("masked-whole", 4, 1024, fillMaskedBlock), mk("all-masked-whole", 3, 64, fillNegInf),
		mk("all-masked-wide", 1, 40960, fillNegInf), mk("inf-whole", 3, 64, fillOne(math.Inf(1), 100)), mk("positive-whole", 4, 96, fillPositive))
}

// fillMaskedBlock masks the leading half of each row of 600 with −∞.
func fillMaskedBlock(r kernel.Rand, x []float64) {
	for i := range x {
		x[i] = r.NormFloat64()
		if i%600 < 300 {
			x[i] = negInf
		}
	}
}

func fillNegInf(_ kernel.Rand, x []float64) {
	for i := range x {
		x[i] = negInf
	}
}

func softmaxBench() []kernel.Case {
	mk := func(name string, rows, n int64) kernel.Case {
		return kernel.Case{Name: name, Dims: kernel.Dims{"rows": rows, "n": n}}
	}
	return []kernel.Case{mk("1024x2048", 1024, 2048), mk("2048x4096", 2048, 4096), mk("8192x4096", 8192, 4096), mk("32768x256", 32768, 256), mk("512x65536", 512, 65536)}
}
