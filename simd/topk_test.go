package simd

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
)

// topkOf launches one variant and returns values and indices.
func topkOf(t *testing.T, s backend.Stream, variant string, b, n, k int64, score []float32, live []int64) ([]float32, []int32) {
	t.Helper()
	a := &kernels.TopKArgs{Score: backend.NewView(upload(t, s, bytesOf(score)), 0, backend.F32, b, n),
		Value: backend.NewView(upload(t, s, make([]byte, 4*b*k)), 0, backend.F32, b, k),
		Index: backend.NewView(upload(t, s, make([]byte, 4*b*k)), 0, backend.I32, b, k)}
	if live != nil {
		a.Live = backend.NewView(upload(t, s, bytesOf(live)), 0, backend.I64, b)
	}
	require.NoError(t, kernels.TopK.Launch(s, a, kernel.WithVariant(variant)))
	return Slice[float32](&a.Value), Slice[int32](&a.Index)
}

// rankAll is the definition: a stable sort by score, NaN last.
func rankAll(score []float32) []int32 {
	order := make([]int32, len(score))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(i, j int32) int {
		x, y := score[i], score[j]
		switch {
		case x > y || x == x && y != y:
			return -1
		case x < y || x != x && y == y:
			return 1
		}
		return 0
	})
	return order
}

// topkScores draws scores of one kind.
func topkScores(kind string, n int) []float32 {
	r := rand.New(rand.NewPCG(uint64(n), 11))
	x := make([]float32, n)
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for i := range x {
		switch kind {
		case "normal":
			x[i] = float32(r.NormFloat64())
		case "ties":
			x[i] = float32(r.IntN(5) - 2)
		case "rising":
			x[i] = float32(i)
		case "falling":
			x[i] = -float32(i)
		case "specials":
			x[i] = []float32{0, float32(math.Copysign(0, -1)), inf, -inf, nan, 1e-45, -1e-45, 3, -3, math.MaxFloat32}[r.IntN(10)]
		case "mostly NaN":
			if x[i] = nan; r.IntN(n/20+1) == 0 {
				x[i] = float32(r.IntN(3))
			}
		case "mostly -Inf":
			if x[i] = -inf; r.IntN(n/20+1) == 0 {
				x[i] = float32(r.NormFloat64())
			}
		}
	}
	return x
}

// TestTopKIsTheSort over sizes around the list, the scan's limit and the parts of a row.
func TestTopKIsTheSort(t *testing.T) {
	sizes := [][3]int64{{1, 1, 1}, {2, 31, 31}, {3, 33, 5}, {1, topkSlack + 2*7, 7}, {2, topkSlack + 2*7 + 1, 7}, {2, 9000, 100}, {1, 10000, 4096}, {1, 10000, 4097},
		{2, 3 * topkSplit, 50}, {1, 2*topkSplit + 17, 5000}, {1, 2*topkSplit - 1, 10}}
	for _, kind := range []string{"normal", "ties", "rising", "falling", "specials", "mostly NaN", "mostly -Inf"} {
		for _, size := range sizes {
			b, n, k := size[0], size[1], size[2]
			score := topkScores(kind, int(b*n))
			want := make([]int32, 0, b*k)
			bits := make([]uint32, 0, b*k)
			for i := range b {
				row := score[i*n : (i+1)*n]
				for _, at := range rankAll(row)[:k] {
					want, bits = append(want, at), append(bits, math.Float32bits(row[at]))
				}
			}
			for _, l := range Levels() {
				for _, workers := range []int{1, 3} {
					value, index := topkOf(t, openLevel(t, l, workers), l.String(), b, n, k, score, nil)
					require.Equal(t, want, index, "%s %v %v", kind, size, l)
					require.Equal(t, bits, Words[uint32](bytesOf(value)), "%s %v %v", kind, size, l)
				}
			}
		}
	}
}

// TestTopKFindsTheNext: a score one place above all others is found in every lane of the scan.
func TestTopKFindsTheNext(t *testing.T) {
	const b, n = 64, 640
	for _, one := range []float32{1, -1} {
		score, want := make([]float32, b*n), make([]int32, b)
		for i := range score {
			score[i] = one
		}
		for i := range b {
			want[i] = int32(n - b - 40 + i)
			score[i*n+int(want[i])] = math.Nextafter32(one, 2)
		}
		for _, l := range Levels() {
			_, index := topkOf(t, openLevel(t, l, 1), l.String(), b, n, 1, score, nil)
			require.Equal(t, want, index, "%v", l)
		}
	}
}

// TestTopKLive: counts are clamped, and what is missing is -Inf with index -1, split or not.
func TestTopKLive(t *testing.T) {
	for _, n := range []int64{40, 2*topkSplit + 5} {
		const k = 20
		live := []int64{-5, 0, 1, 7, n, n + 9}
		b := int64(len(live))
		score := topkScores("normal", int(b*n))
		for _, l := range Levels() {
			value, index := topkOf(t, openLevel(t, l, 2), l.String(), b, n, k, score, live)
			for i, c := range live {
				want := rankAll(score[int64(i)*n:][:min(max(c, 0), n)])
				for j := range int64(k) {
					at, v := int32(-1), negInf32
					if j < int64(len(want)) {
						at, v = want[j], score[int64(i)*n+int64(want[j])]
					}
					require.Equal(t, at, index[int64(i)*k+j], "%v live %d place %d", l, c, j)
					require.Equal(t, v, value[int64(i)*k+j])
				}
			}
		}
	}
}

// TestTopKManyRows are not split, however long.
func TestTopKManyRows(t *testing.T) {
	require.EqualValues(t, 1, topkPartsOf(topkFew, 1<<30))
	require.EqualValues(t, topkParts, topkPartsOf(1, 1<<30))
	require.EqualValues(t, 1, topkPartsOf(1, 2*topkSplit-1))
}

// TestTopKSelect on orders that are hard for a median of three, and on every k.
func TestTopKSelect(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	orders := map[string]func(n int) []uint64{
		"random": func(n int) []uint64 {
			x := make([]uint64, n)
			for i, p := range r.Perm(n) {
				x[i] = uint64(p) << 20
			}
			return x
		},
		"organ pipe": func(n int) []uint64 {
			x := make([]uint64, n)
			for i := range x {
				x[i] = uint64(2*min(i, n-1-i) + 2*i/n)
			}
			return x
		},
		"killer": func(n int) []uint64 {
			n = max(n&^1, 2)
			x := make([]uint64, n)
			for i := range n / 2 {
				x[i] = uint64(i + 1 + i&1*(n/2-1))
				x[n/2+i] = uint64(2 * (i + 1) << 32)
			}
			return x
		},
	}
	for name, order := range orders {
		for _, n := range []int{1, 2, 15, 17, 100, 3000} {
			x := order(n)
			sorted := slices.Sorted(slices.Values(x))
			for k := 1; k <= len(x); k += 1 + len(x)/29 {
				y := slices.Clone(x)
				topkSelect(y, k)
				require.Equal(t, sorted[k-1], y[k-1], "%s n %d k %d", name, n, k)
				slices.Sort(y[:k])
				require.Equal(t, sorted[:k], y[:k], "%s n %d k %d", name, n, k)
			}
			y := slices.Clone(x)
			k := (len(x) + 1) / 2
			require.Equal(t, sorted[k-1], topkCut(y, make([]uint64, len(y)), k))
			front := slices.DeleteFunc(slices.Clone(x), func(v uint64) bool { return v > sorted[k-1] })
			require.Equal(t, front, y[:k], "%s n %d: cut out of order", name, n)
		}
	}
	topkSelect(nil, 0)
	topkSelect([]uint64{3}, 2)
}

// TestTopKSortIsStable: equal scores stay by index, on both sides of the radix sort's length.
func TestTopKSortIsStable(t *testing.T) {
	for _, n := range []int{0, 1, topkRadix - 1, topkRadix, 5000} {
		for _, kind := range []string{"normal", "ties", "specials"} {
			x := make([]uint64, n)
			for i, v := range topkScores(kind, n) {
				x[i] = topkKey(v, i)
			}
			sorted := slices.Sorted(slices.Values(x))
			topkSort(x, make([]uint64, n))
			require.Len(t, x, len(sorted))
			for i := range sorted {
				require.Equal(t, sorted[i], x[i], "%s %d at %d", kind, n, i)
			}
		}
	}
}

// TestTopKKeyOrder: the order of keys is the order of scores.
func TestTopKKeyOrder(t *testing.T) {
	inf := float32(math.Inf(1))
	falling := []float32{inf, math.MaxFloat32, 1, 1e-45, 0, -1e-45, -1, -math.MaxFloat32, -inf, float32(math.NaN())}
	for i := range falling[1:] {
		require.Less(t, topkKey(falling[i], math.MaxInt32), topkKey(falling[i+1], 0), "%v before %v", falling[i], falling[i+1])
	}
	require.Equal(t, topkKey(0, 3), topkKey(float32(math.Copysign(0, -1)), 3))
	require.Less(t, topkKey(falling[9], math.MaxInt32), uint64(topkNone))
}
