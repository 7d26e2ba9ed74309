package codec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/canon"
)

// squaredError is what a table loses on values.
func squaredError(t *Table, values []float32) float64 {
	var sum float64
	for _, v := range values {
		e := float64(v) - float64(t.Weights[t.Bucket(v)])
		sum += e * e
	}
	return sum
}

// spiked are residuals of a collection whose tokens are mostly centroids.
func spiked(n int) []float32 {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]float32, n)
	for i := range out {
		if r.IntN(5) == 0 {
			out[i] = float32(r.NormFloat64() * .1)
		}
	}
	return out
}

func TestFitTableByHand(t *testing.T) {
	values := []float32{-1, -1, -.5, 0, 0, 0, 2, 3}
	table, err := FitTable(1, slices.Values([][]float32{values}))
	require.NoError(t, err)
	require.Equal(t, []float32{-2.5 / 6, 2.5}, table.Weights)
	require.Equal(t, []float32{float32((float64(float32(-2.5/6)) + 2.5) / 2)}, table.Cutoffs)

	table, err = FitTable(2, slices.Values([][]float32{values}))
	require.NoError(t, err)
	require.Equal(t, []float32{-2.5 / 3, 0, 2, 3}, table.Weights)
	require.NoError(t, table.Check())
}

func TestFitTableFewValues(t *testing.T) {
	table, err := FitTable(4, slices.Values([][]float32{{.25, .25}, {-1}}))
	require.NoError(t, err)
	require.NoError(t, table.Check())
	require.Zero(t, squaredError(table, []float32{.25, -1}))
	table, err = FitTable(8, slices.Values([][]float32{{0, 0}}))
	require.NoError(t, err)
	require.NoError(t, table.Check())
	require.Equal(t, make([]float32, 256), table.Weights)
}

func TestFitTableBeatsQuantiles(t *testing.T) {
	values := spiked(20000)
	for _, bits := range []int{1, 2, 4, 8} {
		fit, err := FitTable(bits, slices.Values([][]float32{values}))
		require.NoError(t, err)
		require.NoError(t, fit.Check())
		quantiles, err := NewTable(bits, slices.Values([][]float32{values}))
		require.NoError(t, err)
		require.Less(t, squaredError(fit, values), .7*squaredError(quantiles, values), "%d bits", bits)
	}
}

// TestFitTableOrder: neither order nor grouping shows.
func TestFitTableOrder(t *testing.T) {
	values := spiked(5000)
	one, err := FitTable(4, slices.Values([][]float32{values}))
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(3, 4))
	r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	many, err := FitTable(4, slices.Chunk(values, 77))
	require.NoError(t, err)
	require.Equal(t, one, many)
}

func TestFitTableRefuses(t *testing.T) {
	_, err := FitTable(3, slices.Values([][]float32{{1}}))
	require.ErrorIs(t, err, ErrBits)
	for _, v := range [][]float32{nil, {1, float32(math.NaN())}, {float32(math.Inf(1))}} {
		_, err := FitTable(2, slices.Values([][]float32{v}))
		require.ErrorIs(t, err, canon.ErrQuantile)
	}
}
