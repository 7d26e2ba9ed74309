package goldentest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/internal/golden"
)

var _ = register("hardest_negative_loss", func(t *testing.T, r *runner) {
	t.Run("lowest", func(t *testing.T) {
		golden.Run(t, golden.Claim{Area: "maxsim", Op: "hardest_negative", When: []string{"reduction=mean", "tie="},
			Arrays: []string{"scores", "loss", "per_row", "grad_scores"}}, func(t *testing.T, c *golden.Case) { r.hardest(t, c, kernels.TieLowest) })
	})
	t.Run("even-split", func(t *testing.T) {
		golden.Run(t, golden.Claim{Area: "maxsim", Op: "hardest_negative", When: []string{"reduction=mean", "tie=even_split"},
			Arrays: []string{"scores", "loss", "per_row", "grad_scores"}}, func(t *testing.T, c *golden.Case) { r.hardest(t, c, kernels.TieEvenSplit) })
	})
})

// hardest runs every reduction: the vectors give the mean and the rows.
func (r *runner) hardest(t *testing.T, c *golden.Case, tie kernels.Tie) {
	n, cols := rows(c.Array(t, "scores").Shape)
	perRow, loss, grad := c.Floats(t, "per_row"), c.Floats(t, "loss"), c.Floats(t, "grad_scores")
	var sum float64
	for _, x := range perRow {
		sum += x
	}
	require.InDelta(t, loss[0], sum/float64(n), vectorError*math.Max(1, sum))
	scaled := func(f float64) []float64 {
		out := make([]float64, len(grad))
		for i, g := range grad {
			out[i] = g * f
		}
		return out
	}
	for _, x := range []struct {
		reduction   kernels.Reduction
		loss, dloss []float64
		grad        []float64
	}{
		{kernels.ReduceMean, loss, []float64{1}, grad},
		{kernels.ReduceSum, []float64{sum}, []float64{.5}, scaled(float64(n) / 2)},
		{kernels.ReduceNone, perRow, repeat(n, 2), scaled(2 * float64(n))},
	} {
		dims := kernel.Dims{"rows": int64(n), "cols": int64(cols), "o": int64(len(x.loss))}
		attrs := map[string]any{"Temperature": c.Float(t, "temperature"), "Offset": c.Int(t, "offset"), "Reduction": x.reduction}
		r.check(t, vector{kernel: kernels.HardestNegativeLoss, dims: dims, attrs: attrs,
			in: map[string][]float64{"Score": c.Floats(t, "scores")}, want: map[string][]float64{"Loss": x.loss}})
		back := map[string]any{"Tie": tie}
		for k, v := range attrs {
			back[k] = v
		}
		r.check(t, vector{kernel: kernels.HardestNegativeLossBackward, dims: dims, attrs: back,
			in: map[string][]float64{"Score": c.Floats(t, "scores"), "DLoss": x.dloss}, want: map[string][]float64{"DScore": x.grad}})
	}
}

func repeat(n int, x float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = x
	}
	return out
}
