package simd

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
)

// hardestCase launches both directions on rows of 3 scores and returns losses, negatives and gradients.
func hardestCase(t *testing.T, s backend.Stream, variant string, rows int64, score []float32, tie kernels.Tie) (loss []float32, negative []int32, grad []float32) {
	t.Helper()
	cols := int64(len(score)) / rows
	f := func(n ...int64) backend.View {
		c := int64(1)
		for _, v := range n {
			c *= v
		}
		return backend.NewView(upload(t, s, make([]byte, 4*c)), 0, backend.F32, n...)
	}
	x := backend.NewView(upload(t, s, bytesOf(score)), 0, backend.F32, rows, cols)
	a := &kernels.HardestNegativeLossArgs{Score: x, Loss: f(rows), Negative: backend.NewView(upload(t, s, make([]byte, 4*rows)), 0, backend.I32, rows), Temperature: 1}
	require.NoError(t, kernels.HardestNegativeLoss.Launch(s, a, kernel.WithVariant(variant)))
	ones := make([]float32, rows)
	for i := range ones {
		ones[i] = 1
	}
	b := &kernels.HardestNegativeLossBackwardArgs{Score: x, DLoss: backend.NewView(upload(t, s, bytesOf(ones)), 0, backend.F32, rows),
		DScore: f(rows, cols), Temperature: 1, Tie: tie}
	require.NoError(t, kernels.HardestNegativeLossBackward.Launch(s, b, kernel.WithVariant(variant)))
	return Slice[float32](&a.Loss), Slice[int32](&a.Negative), Slice[float32](&b.DScore)
}

// TestHardestByHand: spec training-and-evaluation §1.2, ties, extremes and a masked document.
func TestHardestByHand(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, l := range Levels() {
		s := openLevel(t, l, 1)
		loss, negative, grad := hardestCase(t, s, l.String(), 1, []float32{0, 0, 0}, kernels.TieEvenSplit)
		require.Equal(t, []float32{float32(math.Ln2)}, loss)
		require.Equal(t, []int32{1}, negative)
		require.Equal(t, []float32{-.5, .25, .25}, grad)
		_, _, grad = hardestCase(t, s, l.String(), 1, []float32{0, 0, 0}, kernels.TieLowest)
		require.Equal(t, []float32{-.5, .5, 0}, grad)

		loss, negative, grad = hardestCase(t, s, l.String(), 2, []float32{10000, -10000, -inf, 10000, -10000, 3}, kernels.TieLowest)
		require.Equal(t, []float32{0, 20000}, loss)
		require.Equal(t, []int32{1, 0}, negative)
		require.Equal(t, []float32{-0, 0, 0, 1, -1, 0}, grad)
		require.NoError(t, s.Sync())
	}
}

// TestHardestFaults: each data error has its code and column, the row is NaN and the others are not.
func TestHardestFaults(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		row   [3]float32 // of two; its positive is column 1
		why   string
		index int64
	}{
		{[3]float32{1, nan, 2}, "positive", 4}, {[3]float32{1, inf, 2}, "positive", 4}, {[3]float32{1, -inf, 2}, "positive", 4},
		{[3]float32{1, 0, nan}, "NaN or +Inf", 5}, {[3]float32{inf, 0, 2}, "NaN or +Inf", 3}, {[3]float32{inf, nan, 2}, "NaN or +Inf", 3},
		{[3]float32{-inf, 0, -inf}, "no finite negative", 3}, {[3]float32{nan, nan, -inf}, "no finite negative", 3},
	} {
		for _, l := range Levels() {
			s := openLevel(t, l, 1)
			loss, negative, grad := hardestCase(t, s, l.String(), 2, append([]float32{0, 0, 0}, c.row[:]...), kernels.TieLowest)
			require.Equal(t, float32(math.Ln2), loss[0])
			require.True(t, math.IsNaN(float64(loss[1])), "%v", c.row)
			require.Equal(t, []int32{1, -1}, negative)
			for j, g := range grad {
				require.Equal(t, j >= 3, math.IsNaN(float64(g)), "%v column %d", c.row, j)
			}
			err := s.Sync()
			var arg *backend.ArgumentError
			require.ErrorAs(t, err, &arg, "%v", c.row)
			require.Equal(t, "Score", arg.Operand)
			require.ErrorContains(t, err, c.why)
		}
	}
}
