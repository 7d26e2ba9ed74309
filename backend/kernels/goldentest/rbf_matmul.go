package goldentest

import (
	"testing"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/internal/golden"
)

var _ = register("rbf_matmul", func(t *testing.T, r *runner) {
	golden.Run(t, golden.Claim{Area: "pairwise", Op: "rbf-matmul", When: []string{"kernel=rbf", "distance_form=difference"},
		Arrays: []string{"X", "Y", "V", "gamma", "lengthscales", "O"}}, func(t *testing.T, c *golden.Case) {
		x, y, v := c.Floats(t, "X"), c.Floats(t, "Y"), c.Floats(t, "V")
		n, d := rows(c.Array(t, "X").Shape)
		m, _ := rows(c.Array(t, "Y").Shape)
		_, columns := rows(c.Array(t, "V").Shape)
		gamma := 1 / float64(d) // the vectors' default
		if c.Has("gamma") {
			gamma = c.Floats(t, "gamma")[0]
		}
		var types []backend.DType
		if c.Has("lengthscales") { // one per component: the points divided by them beforehand
			types = []backend.DType{backend.F64} // quotients are not exact in f32
			for i := range x {
				x[i] /= c.Floats(t, "lengthscales")[i%d]
			}
			for i := range y {
				y[i] /= c.Floats(t, "lengthscales")[i%d]
			}
		}
		if c.Bool(t, "transpose") { // Kᵀ·V is the kernel with the points swapped
			x, y, n, m = y, x, m, n
		}
		r.check(t, vector{kernel: kernels.RBFMatmul, types: types, attrs: map[string]any{"Gamma": gamma},
			dims: kernel.Dims{"n": int64(n), "m": int64(m), "d": int64(d), "c": int64(columns)},
			in:   map[string][]float64{"X": x, "Y": y, "V": v}, want: map[string][]float64{"O": c.Floats(t, "O")}})
	})
})
