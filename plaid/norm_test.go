package plaid

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/canon"
)

func TestMaxNormIsCanonical(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		dim, n := 1+r.IntN(70), r.IntN(12)
		x := make([]float32, n*dim)
		for i := range x {
			x[i] = float32(r.NormFloat64()) * float32(math.Exp2(float64(r.IntN(200)-100)))
		}
		require.Equal(t, canon.MaxNorm(x, dim), maxNorm(x, dim))
		if n > 0 {
			for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				x[r.IntN(len(x))] = float32(bad)
				norm := maxNorm(x, dim)
				require.True(t, norm-norm != 0)
			}
		}
	}
}

func TestScaleIsCanonical(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 100 {
		dim, n := 1+r.IntN(70), 1+r.IntN(9)
		x := make([]float32, n*dim)
		for i := range x {
			x[i] = float32(r.NormFloat64()) * float32(math.Exp2(float64(r.IntN(60)-30)))
		}
		bound := math.Exp2(float64(r.IntN(9) - 4))
		q, err := canon.NewQuery(x, nil, dim, bound)
		require.NoError(t, err)
		sc, err := scale(int64(n), maxNorm(x, dim), dim, bound)
		require.NoError(t, err)
		require.Equal(t, q.Scale(), sc)
	}
}
