package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
)

// TestKMeansUpdateIsTheDefinition: centroids that span several tiles, that have no tokens, at
// either end too, and values below and beyond what assembly converts.
func TestKMeansUpdateIsTheDefinition(t *testing.T) {
	for _, q := range [][3]int{{1, 1, 1}, {50, 300, 16}, {5000, 3, 40}, {20000, 1, 23}, {9000, 500, 64}} {
		for _, shift := range []int64{40, 53, 3, -2} {
			n, k, d := q[0], q[1], q[2]
			r := rand.New(rand.NewPCG(uint64(n), uint64(shift)))
			token, code := make([]float32, n*d), make([]int32, n)
			for i := range token {
				token[i] = float32(r.NormFloat64())
				switch r.IntN(50) {
				case 0:
					token[i] = float32(r.IntN(41)-20) / 16 // ties
				case 1:
					token[i] = math.Float32frombits(r.Uint32() & 0x3fffffff) // from tiny on
				case 2:
					token[i] = float32(math.Ldexp(r.NormFloat64()/16, int(min(51-shift, 60)))) // around the limit
				}
			}
			for i := range code {
				code[i] = int32(r.IntN(k)/3*3) - int32(r.IntN(8)/7)
			}
			sum, count := make([]int64, k*d), make([]int64, k)
			for i, c := range code {
				if c < 0 {
					continue
				}
				count[c]++
				for j := range d {
					sum[int(c)*d+j] += int64(math.RoundToEven(math.Ldexp(float64(token[i*d+j]), int(shift))))
				}
			}
			for _, l := range Levels() {
				for _, workers := range []int{1, 3} {
					what := fmt.Sprint(q, shift, l, workers)
					s := openLevel(t, l, workers)
					a := &kernels.KMeansUpdateArgs{Token: matrixOf(t, s, backend.F32, token, int64(n), int64(d)), Code: matrixOf(t, s, backend.I32, code, int64(n)),
						Sum: matrixOf(t, s, backend.I64, make([]int64, k*d), int64(k), int64(d)), Count: matrixOf(t, s, backend.I64, make([]int64, k), int64(k)), Shift: shift}
					require.NoError(t, kernels.KMeansUpdate.Launch(s, a, kernel.WithVariant(l.String())))
					require.NoError(t, s.Sync(), what)
					require.Equal(t, count, Slice[int64](&a.Count), what)
					require.Equal(t, sum, Slice[int64](&a.Sum), what)
				}
			}
		}
	}
}

// TestKMeansAddIsGeneric: a block at a time, up to the limit, and unchanged beyond it.
func TestKMeansAddIsGeneric(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	const rows, stride = 9, 21
	for _, u := range kmeansAssembly() {
		if l, ok := ParseLevel(u.variant); !ok || l > Detected() {
			continue
		}
		for trial := range 200 {
			token := make([]float32, rows*stride)
			for i := range token {
				token[i] = float32(math.Ldexp(r.NormFloat64(), r.IntN(20)-10))
			}
			if trial%3 == 0 {
				token[r.IntN(len(token))] = []float32{float32(math.NaN()), float32(math.Inf(-1)), -2048, 2048, 2047.9999}[r.IntN(5)]
			}
			index := make([]int32, rows+16)
			for i := range rows {
				index[i] = int32(r.IntN(rows))
			}
			want, got := make([]int64, kmeansBlock), make([]int64, kmeansBlock)
			want[3], got[3] = -7, -7
			ok := kmeansAddGeneric(&token[trial%5], &index[0], trial%rows, stride, 0x1p40, 2048, &want[0])
			require.Equal(t, ok, u.add(&token[trial%5], &index[0], trial%rows, stride, 0x1p40, 2048, &got[0]), "%s %d", u.variant, trial)
			require.Equal(t, want, got, "%s %d", u.variant, trial)
		}
	}
}
