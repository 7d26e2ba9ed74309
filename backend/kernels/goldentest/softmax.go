package goldentest

import (
	"testing"

	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/internal/golden"
)

var _ = register("softmax", func(t *testing.T, r *runner) {
	golden.Run(t, golden.Claim{Area: "transformer", Op: "softmax",
		Arrays: []string{"x", "d_y", "y", "grad_x"}}, func(t *testing.T, c *golden.Case) {
		n, width := rows(c.Array(t, "x").Shape)
		dims := kernel.Dims{"rows": int64(n), "n": int64(width)}
		r.check(t, vector{kernel: kernels.Softmax, dims: dims,
			in: map[string][]float64{"X": c.Floats(t, "x")}, want: map[string][]float64{"Y": c.Floats(t, "y")}})
		r.check(t, vector{kernel: kernels.SoftmaxBackward, dims: dims,
			in: map[string][]float64{"Y": c.Floats(t, "y"), "DY": c.Floats(t, "d_y")}, want: map[string][]float64{"DX": c.Floats(t, "grad_x")}})
	})
})
