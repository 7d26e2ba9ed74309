package canon

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNormsByHand(t *testing.T) {
	require.Equal(t, 5.0, Norm([]float32{3, -4}))
	require.Zero(t, Norm(nil))
	require.Equal(t, 0x1p-149, Norm([]float32{0x1p-149}))
	require.Equal(t, math.Sqrt(2*math.MaxFloat32*math.MaxFloat32), Norm([]float32{math.MaxFloat32, -math.MaxFloat32}))
	require.Equal(t, 13.0, MaxNorm([]float32{3, -4, 5, 12, 0, 0}, 2))
	require.Zero(t, MaxNorm(nil, 2))
	require.Zero(t, MaxNorm([]float32{1}, 0))
	require.True(t, math.IsNaN(MaxNorm([]float32{1, float32(math.NaN()), 2}, 1)))
}

func TestNormalizeByHand(t *testing.T) {
	x := []float32{3, -4}
	Normalize(x, x)
	require.Equal(t, []float32{0.6, -0.8}, x)

	zero := []float32{0, float32(math.Copysign(0, -1))}
	Normalize(zero, zero)
	require.Equal(t, []uint32{0, 1 << 31}, []uint32{math.Float32bits(zero[0]), math.Float32bits(zero[1])})

	// Below the floor of 1e-12 on ‖x‖², that is 1e-6 on ‖x‖.
	tiny := []float32{0x1p-30}
	Normalize(tiny, tiny)
	require.Equal(t, float32(0x1p-30/1e-6), tiny[0])

	inf := []float32{float32(math.Inf(1)), 1}
	Normalize(inf, inf)
	require.True(t, inf[0] != inf[0] && inf[1] == 0)
	Normalize(nil, nil)
}

// The result is the exact quotient's float32, or, where the exact one is within
// float64's rounding of a tie, one of its neighbours.
func TestNormalizeAgainstExactArithmetic(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		x := vectors(r, 1+r.IntN(40), false)
		got := make([]float32, len(x))
		Normalize(got, x)
		sum := new(big.Float).SetPrec(500)
		for _, v := range x {
			b := new(big.Float).SetPrec(500).SetFloat64(float64(v))
			sum.Add(sum, b.Mul(b, b))
		}
		norm := new(big.Float).SetPrec(500).Sqrt(sum)
		for i, v := range x {
			q := new(big.Float).SetPrec(500).SetFloat64(float64(v))
			want, _ := q.Quo(q, norm).Float64()
			low, high := float32(want*(1-0x1p-46)), float32(want*(1+0x1p-46))
			require.True(t, got[i] == low || got[i] == high, "%v of norm %v: got %v", v, norm, got[i])
		}
	}
}

func TestQuantilesByHand(t *testing.T) {
	dst := make([]float64, 5)
	require.NoError(t, Quantiles(dst, []float32{4, 1, 3, 2}, []float64{0, 0.5, 1, 0.25, 0.1}))
	require.Equal(t, []float64{1, 2.5, 4, 1.75, 1.3}, dst)
	require.NoError(t, Quantiles(dst[:1], []float32{3, 1, 1, 0, 5}, []float64{0.3}))
	require.Equal(t, []float64{1}, dst[:1])
	require.NoError(t, Quantiles(dst[:2], []float32{7}, []float64{0, 1}))
	require.Equal(t, []float64{7, 7}, dst[:2])
	require.NoError(t, Quantiles(nil, []float32{7}, nil))
}

func TestQuantilesDoNotDependOnOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	levels := []float64{0, 0.125, 0.3, 0.5, 0.75, 1}
	for range 50 {
		x := vectors(r, 1+r.IntN(50), false)
		for i := range x {
			if r.IntN(2) == 0 {
				x[i] = float32(math.Copysign(0, float64(x[i])))
			}
		}
		want, got := make([]float64, len(levels)), make([]float64, len(levels))
		require.NoError(t, Quantiles(want, x, levels))
		r.Shuffle(len(x), func(i, j int) { x[i], x[j] = x[j], x[i] })
		require.NoError(t, Quantiles(got, x, levels))
		for i := range want {
			require.Equal(t, math.Float64bits(want[i]), math.Float64bits(got[i]))
			require.False(t, want[i] == 0 && math.Signbit(want[i]))
		}
	}
}

func TestQuantilesRefuse(t *testing.T) {
	dst := []float64{42}
	for _, c := range []struct {
		x     []float32
		level float64
		text  string
	}{
		{[]float32{1}, 1.5, "canon: quantile at level 1.5: invalid argument of a quantile"},
		{[]float32{1}, -0.1, "canon: quantile at level -0.1: invalid argument of a quantile"},
		{[]float32{1}, math.NaN(), "canon: quantile at level NaN: invalid argument of a quantile"},
		{nil, 0.5, "canon: quantile of 0 values: invalid argument of a quantile"},
		{[]float32{1, float32(math.Inf(1))}, 0.5, "canon: quantile with value 1 being +Inf: invalid argument of a quantile"},
	} {
		err := Quantiles(dst, c.x, []float64{c.level})
		require.ErrorIs(t, err, ErrQuantile)
		require.EqualError(t, err, c.text)
		require.Equal(t, []float64{42}, dst)
	}
}
