package canon

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScaleByHand(t *testing.T) {
	for _, c := range []struct {
		n    int64
		m    float64
		want int
	}{
		{0, 0, 62},
		{1, 0, 62},
		{0, 1, 62},
		{1, 1, 62},
		{2, 1, 61},
		{3, 1, 60},
		{4, 1, 60},
		{5, 1, 59},
		{32, 1, 57},
		{32, math.Nextafter(1, 2), 56},
		{32, 2, 56},
		{32, 0.5, 58},
		{32, math.Nextafter(0.5, 1), 57},
		{1, 0x1p-149, 62 + 149},
		{1, math.SmallestNonzeroFloat64, 62 + 1074},
		{math.MaxInt64, math.MaxFloat64, 62 - 63 - 1024},
	} {
		s, err := NewScale(c.n, c.m)
		require.NoError(t, err)
		require.Equal(t, c.want, s.Shift(), "n %d, m %v", c.n, c.m)
		n, m := s.Bound()
		require.Equal(t, c.n, n)
		require.Equal(t, c.m, m)
	}
}

func TestScaleRefusesImpossibleBounds(t *testing.T) {
	for _, m := range []float64{-1, math.Inf(1), math.Inf(-1), math.NaN()} {
		_, err := NewScale(3, m)
		require.ErrorIs(t, err, ErrScale)
	}
	_, err := NewScale(-1, 1)
	require.ErrorIs(t, err, ErrScale)
	require.EqualError(t, err, "canon: scale for -1 addends of magnitude 1: invalid bounds of a fixed-point sum")
}

func mustScale(t *testing.T, n int64, m float64) Scale {
	t.Helper()
	s, err := NewScale(n, m)
	require.NoError(t, err)
	return s
}

func TestFixedRoundsHalfToEven(t *testing.T) {
	s := mustScale(t, 1, 0x1p40) // step 2^−22
	for _, c := range []struct {
		steps float64
		want  Fixed
	}{
		{0, 0}, {0.5, 0}, {1.5, 2}, {2.5, 2}, {-0.5, 0}, {-1.5, -2}, {-2.5, -2},
		{math.Nextafter(0.5, 1), 1}, {math.Nextafter(1.5, 0), 1}, {1 << 51, 1 << 51},
		{0x1p51 + 0.5, 1 << 51}, {0x1p51 + 1.5, 1<<51 + 2},
	} {
		got, err := s.Fixed(c.steps * 0x1p-22)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%v steps", c.steps)
	}
}

// Fixed against arbitrary precision, for scales from the smallest to the largest.
func TestFixedAgainstExactArithmetic(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		m := math.Ldexp(1+r.Float64(), r.IntN(2040)-1020)
		s := mustScale(t, 1+r.Int64N(1<<r.IntN(40)), m)
		x := math.Ldexp((2*r.Float64()-1)*m, -r.IntN(70))
		got, err := s.Fixed(x)
		require.NoError(t, err)
		require.Equal(t, roundExactly(x, s.Shift()), int64(got), "%x at shift %d", x, s.Shift())
	}
}

// roundExactly returns x·2^shift rounded half to even.
func roundExactly(x float64, shift int) int64 {
	v := new(big.Float).SetPrec(3000).SetFloat64(x)
	v.SetMantExp(v, shift)
	twice, _ := new(big.Float).SetPrec(3000).SetMantExp(v, 1).Int(nil)
	floor, _ := v.Int(nil) // towards zero
	rest := new(big.Float).SetPrec(3000).Sub(v, new(big.Float).SetPrec(3000).SetInt(floor))
	order := rest.Abs(rest).Cmp(big.NewFloat(0.5))
	if order > 0 || order == 0 && floor.Bit(0) == 1 {
		floor.Add(floor, big.NewInt(int64(twice.Sign())))
	}
	return floor.Int64()
}

func TestSumOfTheLargestAddendsFits(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 1000, 1024, 1025} {
		for _, m := range []float64{1, math.Nextafter(1, 0), math.Nextafter(1, 2), math.MaxFloat64, math.SmallestNonzeroFloat64} {
			for _, sign := range []float64{1, -1} {
				s := mustScale(t, n, m).Sum()
				for range n {
					require.NoError(t, s.Add(sign*m))
				}
				require.LessOrEqual(t, int64(s.Fixed()), int64(1)<<62)
				require.GreaterOrEqual(t, int64(s.Fixed()), -int64(1)<<62)
				require.Equal(t, n*roundExactly(sign*m, s.scale.Shift()), int64(s.Fixed()))
			}
		}
	}
}

func TestSumRefusesWhatWasNotPromised(t *testing.T) {
	s := mustScale(t, 2, 1).Sum()
	require.NoError(t, s.Add(-1))
	err := s.Add(math.Nextafter(1, 2))
	require.ErrorIs(t, err, ErrRange)
	require.EqualError(t, err, "canon: addend 1.0000000000000002, magnitude at most 1: outside the bounds of the fixed-point sum")
	require.NoError(t, s.Add(0.25))
	require.EqualError(t, s.Add(0), "canon: addend 0 after all 2: outside the bounds of the fixed-point sum")
	require.Equal(t, -0.75, s.Value())
	require.ErrorIs(t, s.Merge(s), ErrRange)
	other := mustScale(t, 3, 1).Sum()
	require.ErrorIs(t, s.Merge(other), ErrRange)

	zero := mustScale(t, 5, 0).Sum()
	require.NoError(t, zero.Add(math.Copysign(0, -1)))
	require.ErrorIs(t, zero.Add(math.SmallestNonzeroFloat64), ErrRange)
	require.Equal(t, uint64(0), math.Float64bits(zero.Value()))

	var none Sum
	require.ErrorIs(t, none.Add(0), ErrRange)
	require.Zero(t, none.Value())
}

func TestSumOfSpecialValues(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		x    []float64
		want Fixed
	}{
		{nil, 0},
		{[]float64{inf, 1}, PosInf},
		{[]float64{1, -inf}, NegInf},
		{[]float64{-inf, inf}, NaN},
		{[]float64{nan, 1}, NaN},
		{[]float64{inf, nan}, NaN},
	} {
		s := mustScale(t, 2, 1).Sum()
		for _, x := range c.x {
			require.NoError(t, s.Add(x))
		}
		require.Equal(t, c.want, s.Fixed(), "%v", c.x)
	}
	s := mustScale(t, 2, 1)
	require.True(t, math.IsNaN(s.Float(NaN)))
	require.Equal(t, inf, s.Float(PosInf))
	require.Equal(t, -inf, s.Float(NegInf))
	require.Equal(t, -1.0, s.Float(-1<<61))
}

// The same bits for every order and every grouping, where float64 sums differ.
func TestSumDoesNotDependOnOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		n := 1 + r.IntN(100)
		scale := mustScale(t, int64(n), 4)
		x := make([]float64, n)
		for i := range x {
			x[i] = math.Ldexp(2*r.Float64()-1, 2-r.IntN(60))
		}
		whole := scale.Sum()
		for _, v := range x {
			require.NoError(t, whole.Add(v))
		}
		r.Shuffle(n, func(i, j int) { x[i], x[j] = x[j], x[i] })
		parts := make([]Sum, 1+r.IntN(5))
		for i := range parts {
			parts[i] = scale.Sum()
		}
		for _, v := range x {
			require.NoError(t, parts[r.IntN(len(parts))].Add(v))
		}
		total := scale.Sum()
		for _, p := range parts {
			require.NoError(t, total.Merge(p))
		}
		require.Equal(t, whole.Fixed(), total.Fixed())
		require.Error(t, total.Add(0), "all addends are used")
	}
}

func TestAddTo(t *testing.T) {
	s := mustScale(t, 3, 2)
	total := make([]int64, 3)
	require.NoError(t, s.AddTo(total, []float32{1, -2, 0x1p-70}))
	require.NoError(t, s.AddTo(total, []float32{0.5, 2}))
	require.Equal(t, []float64{1.5, 0, 0}, []float64{s.Float(Fixed(total[0])), s.Float(Fixed(total[1])), s.Float(Fixed(total[2]))})

	for _, bad := range []float32{2.0000002, float32(math.NaN()), float32(math.Inf(-1))} {
		before := append([]int64(nil), total...)
		require.ErrorIs(t, s.AddTo(total, []float32{1, bad}), ErrRange)
		require.Equal(t, before, total)
	}
	require.EqualError(t, s.AddTo(total, []float32{0, 3}),
		"canon: element 1 is 3, magnitude at most 2: outside the bounds of the fixed-point sum")
	require.NoError(t, s.AddTo(total, nil))

	r := rand.New(rand.NewPCG(5, 6))
	x := vectors(r, 64, false)
	s = mustScale(t, 10, 8)
	total = make([]int64, 64)
	require.NoError(t, s.AddTo(total, x))
	for i, v := range x {
		f, err := s.Fixed(float64(v))
		require.NoError(t, err)
		require.Equal(t, int64(f), total[i])
	}
}

func FuzzSum(f *testing.F) {
	f.Add(uint64(1), 1.0, 0.3)
	f.Add(uint64(9), 0x1p-149, 1.0)
	f.Add(uint64(3), math.MaxFloat64, -0.5)
	f.Fuzz(func(t *testing.T, seed uint64, m, ratio float64) {
		n := int64(seed % 64)
		scale, err := NewScale(n, m)
		if err != nil {
			require.True(t, m < 0 || m-m != 0)
			return
		}
		r := rand.New(rand.NewPCG(seed, 1))
		s, want := scale.Sum(), new(big.Int)
		for range n {
			x := ratio * m * (2*r.Float64() - 1)
			if !(math.Abs(x) <= m) {
				return
			}
			require.NoError(t, s.Add(x))
			want.Add(want, big.NewInt(roundExactly(x, scale.Shift())))
		}
		require.True(t, want.IsInt64())
		require.Equal(t, want.Int64(), int64(s.Fixed()))
	})
}
