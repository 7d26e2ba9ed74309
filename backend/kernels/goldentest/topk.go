package goldentest

import (
	"testing"

	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/internal/golden"
)

var _ = register("topk", func(t *testing.T, r *runner) {
	golden.Run(t, golden.Claim{Area: "maxsim", Op: "topk", When: []string{"order=score descending, index ascending"},
		Arrays: []string{"scores", "indices", "values"}}, func(t *testing.T, c *golden.Case) {
		b, n := rows(c.Array(t, "scores").Shape)
		r.check(t, vector{kernel: kernels.TopK, dims: kernel.Dims{"b": int64(b), "n": int64(n), "k": int64(c.Int(t, "k"))},
			in:   map[string][]float64{"Score": c.Floats(t, "scores")},
			want: map[string][]float64{"Value": c.Floats(t, "values"), "Index": c.Floats(t, "indices")}})
	})
})
