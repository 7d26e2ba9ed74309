package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
)

// centroidData draws n values: like components of unit vectors, from few integers so that
// products tie, or with specials among them.
func centroidData(kind string, seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 17))
	x := make([]float32, n)
	for i := range x {
		switch kind {
		case "ties":
			x[i] = float32(r.IntN(3) - 1)
		case "tiny": // products that vanish, on either side of zero
			x[i] = float32(r.NormFloat64()) * 1e-23
		default:
			x[i] = float32(r.NormFloat64()) / 8
		}
		if kind == "specials" && r.IntN(300) == 0 {
			x[i] = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32}[r.IntN(4)]
		}
	}
	return x
}

func matrixOf[T any](t testing.TB, s backend.Stream, dt backend.DType, x []T, dims ...int64) backend.View {
	t.Helper()
	return backend.NewView(upload(t, s, bytesOf(x)), 0, dt, dims...)
}

func sameFloats(t *testing.T, want, got []float32, what string) {
	t.Helper()
	require.Equal(t, len(want), len(got), what)
	for i := range want {
		if math.Float32bits(want[i]) != math.Float32bits(got[i]) {
			t.Fatalf("%s: element %d: want %x, got %x", what, i, want[i], got[i])
		}
	}
}

// TestNearestCentroidIsTheDefinition over sizes around panels, groups and chunks.
func TestNearestCentroidIsTheDefinition(t *testing.T) {
	shapes := [][3]int{{1, 1, 1}, {31, 2, 5}, {33, 97, 8}, {40, 200, 131}, {700, 61, 64}, {2100, 5, 17}, {65, 14, 1100}}
	for _, q := range shapes {
		for i, kind := range []string{"normal", "ties", "tiny", "specials"} {
			n, k, d := q[0], q[1], q[2]
			token, centroid := centroidData(kind, uint64(i), n*d), centroidData(kind, uint64(i+10), k*d)
			code, score, dots, faults := make([]int32, n), make([]float32, n), make([]float32, k), false
			for j := range n {
				canon.Dots(dots, token[j*d:(j+1)*d], centroid, d)
				code[j], score[j] = 0, dots[0]
				for c, x := range dots {
					switch {
					case x != x:
						code[j], score[j], faults = -1, canonicalNaN, true
					case x > score[j]:
						code[j], score[j] = int32(c), x
					}
					if code[j] < 0 {
						break
					}
				}
			}
			for _, l := range Levels() {
				for _, workers := range []int{1, 3} {
					what := fmt.Sprint(q, kind, l, workers)
					s := openLevel(t, l, workers)
					a := &kernels.NearestCentroidArgs{Token: matrixOf(t, s, backend.F32, token, int64(n), int64(d)), Centroid: matrixOf(t, s, backend.F32, centroid, int64(k), int64(d)),
						Code: matrixOf(t, s, backend.I32, make([]int32, n), int64(n)), Score: matrixOf(t, s, backend.F32, make([]float32, n), int64(n))}
					err := kernels.NearestCentroid.Launch(s, a, kernel.WithVariant(l.String()))
					require.NoError(t, err, what)
					require.Equal(t, faults, s.Sync() != nil, what)
					require.Equal(t, code, Slice[int32](&a.Code), what)
					sameFloats(t, score, Slice[float32](&a.Score), what)
				}
			}
		}
	}
}
