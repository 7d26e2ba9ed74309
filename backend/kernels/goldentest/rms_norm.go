package goldentest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/harness"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/internal/golden"
)

var _ = register("rms_norm", func(t *testing.T, r *runner) {
	t.Run("any", r.rmsNormAny)
	t.Run("casting", r.rmsNormCasting)
	t.Run("roundings", r.rmsNormRoundings)
})

// normVector holds what forward and backward share.
type normVector struct {
	dims kernel.Dims
	x, w []float64 // w nil = no weight
	rstd []float64
	c    *golden.Case
}

func normOf(t *testing.T, c *golden.Case) *normVector {
	n, width := rows(c.Array(t, "x").Shape)
	v := &normVector{dims: kernel.Dims{"rows": int64(n), "n": int64(width)}, x: c.Floats(t, "x"), c: c}
	if c.Bool(t, "weight") {
		v.w = c.Floats(t, "w")
	}
	if c.Has("rstd") {
		v.rstd = c.Floats(t, "rstd")
		return v
	}
	for i := range n { // in the casting cases it follows from the inputs
		var mean float64
		for _, x := range v.x[i*width : (i+1)*width] {
			mean += x * x / float64(width)
		}
		v.rstd = append(v.rstd, 1/math.Sqrt(mean+c.Float(t, "eps")))
	}
	return v
}

// weighted adds the weight where there is one.
func (v *normVector) weighted(in map[string][]float64) map[string][]float64 {
	if v.w != nil {
		in["Weight"] = v.w
	}
	return in
}

func (v *normVector) forward(t *testing.T, cast kernels.Casting, ulps float64, types ...backend.DType) vector {
	return vector{kernel: kernels.RMSNorm, dims: v.dims, ulps: ulps, types: types,
		attrs: map[string]any{"Eps": v.c.Float(t, "eps"), "Offset": v.c.Float(t, "offset"), "Casting": cast},
		in:    v.weighted(map[string][]float64{"X": v.x}),
		want:  map[string][]float64{"Y": v.c.Floats(t, "y"), "RStd": v.rstd}}
}

func (v *normVector) backward(t *testing.T, cast kernels.Casting, types ...backend.DType) vector {
	b := vector{kernel: kernels.RMSNormBackward, dims: v.dims, types: types,
		attrs: map[string]any{"Offset": v.c.Float(t, "offset"), "Casting": cast},
		in:    v.weighted(map[string][]float64{"DY": v.c.Floats(t, "d_y"), "X": v.x, "RStd": v.rstd}),
		want:  map[string][]float64{"DX": v.c.Floats(t, "grad_x")}}
	if v.c.Has("grad_w") {
		b.want["DW"] = v.c.Floats(t, "grad_w")
	}
	return b
}

// rmsNormAny: in exact arithmetic the three modes agree, so in f32 they differ by the
// roundings that each makes on the way: x·r in llama; mean, sum with eps, r, x·r and
// offset + weight in none.
func (r *runner) rmsNormAny(t *testing.T) {
	golden.Run(t, golden.Claim{Area: "transformer", Op: "rms_norm", When: []string{"io_dtype="},
		Arrays: []string{"x", "w", "d_y", "y", "rstd", "grad_x", "grad_w"}}, func(t *testing.T, c *golden.Case) {
		v := normOf(t, c)
		for cast, ulps := range map[kernels.Casting]float64{kernels.CastLlama: 1, kernels.CastGemma: 0, kernels.CastNone: 4} {
			r.check(t, v.forward(t, cast, ulps, backend.F32))
			r.check(t, v.backward(t, cast, backend.F32))
		}
	})
}

// rmsNormCasting: the roundings of a mode to a narrow type, before the last one, which the
// vectors' y and gradients do not have and y_public_low_precision has.
func (r *runner) rmsNormCasting(t *testing.T) {
	modes := map[string]kernels.Casting{"llama": kernels.CastLlama, "gemma": kernels.CastGemma, "none": kernels.CastNone}
	golden.Run(t, golden.Claim{Area: "transformer", Op: "rms_norm", When: []string{"io_dtype!="},
		Arrays: []string{"x", "w", "d_y", "y", "y_public_low_precision", "grad_x", "grad_w"}}, func(t *testing.T, c *golden.Case) {
		cast, ok := modes[c.Attribute("casting_mode")]
		require.True(t, ok)
		dt := map[string]backend.DType{"bfloat16": backend.BF16, "float16": backend.F16}[c.Attribute("io_dtype")]
		v := normOf(t, c)
		r.check(t, v.forward(t, cast, 0, dt))
		r.check(t, v.backward(t, cast, dt))
		y := c.Floats(t, "y")
		for i, public := range c.Floats(t, "y_public_low_precision") {
			require.InDelta(t, kernel.Round(dt, y[i]), public, harness.ULP(dt, public), "element %d", i)
		}
	})
}
