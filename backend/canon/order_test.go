package canon

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLessByHand(t *testing.T) {
	inf, nan, zero := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	inOrder := []Result[float64, int]{
		{inf, 9}, {2, 3}, {2, 4}, {zero, 0}, {0, 1}, {zero, 2}, {-1, 0}, {-inf, 5}, {-nan, 1}, {nan, 2},
	}
	for i, a := range inOrder {
		for j, b := range inOrder {
			require.Equal(t, i < j, Less(a.Score, a.ID, b.Score, b.ID), "%v before %v", a, b)
		}
	}
	fixed := []Fixed{PosInf, 7, 0, -7, NegInf, NaN}
	require.True(t, slices.IsSortedFunc(fixed, func(a, b Fixed) int {
		return compare(Result[Fixed, int]{a, 0}, Result[Fixed, int]{b, 0})
	}))
	require.True(t, Less(NaN, int32(1), NaN, 2))
}

// messy draws scores with many ties, both zeros, infinities and NaNs.
func messy(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		switch r.IntN(8) {
		case 0:
			x[i] = float32(math.NaN())
		case 1:
			x[i] = float32(math.Inf(1 - 2*r.IntN(2)))
		case 2:
			x[i] = float32(math.Copysign(0, float64(1-2*r.IntN(2))))
		default:
			x[i] = float32(r.IntN(5)) - 2
		}
	}
	return x
}

func requireSameResults(t *testing.T, want, got []Result[float32, int]) {
	t.Helper()
	require.Equal(t, len(want), len(got))
	for i := range want {
		require.Equal(t, want[i].ID, got[i].ID, "place %d", i)
		require.Equal(t, math.Float32bits(want[i].Score), math.Float32bits(got[i].Score), "place %d", i)
	}
}

func TestSelectionEqualsSorting(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s Selector[float32, int]
	for range 300 {
		scores := messy(r, r.IntN(60))
		var all []Result[float32, int]
		for i, x := range scores {
			all = append(all, Result[float32, int]{x, i})
		}
		// A selection sort from the definition, independent of the heap and of Sort.
		var want []Result[float32, int]
		for left := slices.Clone(all); len(left) > 0; {
			first := 0
			for i := range left {
				if Less(left[i].Score, left[i].ID, left[first].Score, left[first].ID) {
					first = i
				}
			}
			want = append(want, left[first])
			left = slices.Delete(left, first, first+1)
		}
		for _, k := range []int{-1, 0, 1, 2, len(all) / 2, len(all), len(all) + 3} {
			first := want[:min(max(k, 0), len(want))]
			requireSameResults(t, first, TopK[float32](nil, scores, k))
			s.Reset(k)
			r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			for _, x := range all {
				admitted := s.Admits(x.Score, x.ID)
				before := slices.Clone(s.heap)
				s.Push(x.Score, x.ID)
				require.Equal(t, admitted, !sameHeap(before, s.heap))
			}
			require.Equal(t, len(first), s.Len())
			requireSameResults(t, first, s.AppendTo(nil))
			require.Zero(t, s.Len())
		}
		Sort(all)
		requireSameResults(t, want, all)
	}
}

func sameHeap(a, b []Result[float32, int]) bool {
	return slices.EqualFunc(a, b, func(x, y Result[float32, int]) bool { return x.ID == y.ID })
}

func TestSelectorReusesMemory(t *testing.T) {
	var s Selector[Fixed, int32]
	dst := make([]Result[Fixed, int32], 0, 10)
	require.LessOrEqual(t, testing.AllocsPerRun(10, func() {
		s.Reset(10)
		for i := range int32(100) {
			s.Push(Fixed(i*37%101), i)
		}
		dst = s.AppendTo(dst[:0])
	}), 0.0)
	require.Equal(t, Fixed(100), dst[0].Score)
}

func FuzzTopK(f *testing.F) {
	f.Add(uint64(1), 10, 3)
	f.Fuzz(func(t *testing.T, seed uint64, n, k int) {
		if n < 0 || n > 500 {
			return
		}
		scores := messy(rand.New(rand.NewPCG(seed, 0)), n)
		all := TopK[float32](nil, scores, n)
		require.Len(t, all, n)
		seen := make([]bool, n)
		for i, x := range all {
			require.False(t, seen[x.ID])
			seen[x.ID] = true
			require.True(t, i == 0 || Less(all[i-1].Score, all[i-1].ID, x.Score, x.ID))
		}
		requireSameResults(t, all[:min(max(k, 0), n)], TopK[float32](nil, scores, k))
	})
}
