package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/num"
)

// units are the arithmetic of the levels of this machine above generic, by variant.
func units() map[string]*maxsimUnit {
	found := map[string]*maxsimUnit{}
	has := features(Detected())
	for name, u := range maxsimUnits {
		need := map[string]string{"avx512bf16": "avx512_bf16", "neonbf16": "bf16", "amx": "amx_bf16"}[name]
		if slices.Contains(has, name) || slices.Contains(has, need) {
			found[name] = u
		}
	}
	return found
}

// same requires equal bits, any NaN being equal to another.
func same(t *testing.T, want, got []float32, what string) {
	t.Helper()
	for i, w := range want {
		if w != w {
			require.True(t, got[i] != got[i], "%s: element %d is %v, want NaN", what, i, got[i])
			continue
		}
		require.Equal(t, w, got[i], "%s: element %d", what, i) // -0 and +0 are equal, as in scores
	}
}

// TestScansEqualGeneric: maxima, winners and scales over values with NaN, infinities,
// zeros of both signs and ties.
func TestScansEqualGeneric(t *testing.T) {
	special := []float32{float32(math.NaN()), float32(math.Inf(1)), negInf, 0, float32(math.Copysign(0, -1)), 1, 1, -1}
	for name, u := range units() {
		r := rand.New(rand.NewPCG(1, 2))
		for n := 1; n <= 50; n++ {
			for lanes := u.width; lanes <= u.width*u.vectors; lanes += u.width {
				what := fmt.Sprintf("%s, %d rows of %d", name, n, lanes)
				dots := make([]float32, n*lanes)
				for i := range dots {
					dots[i] = float32(r.IntN(9) - 4)
					if r.IntN(20) == 0 {
						dots[i] = special[r.IntN(len(special))]
					}
				}
				best := make([]float32, lanes)
				for i := range best {
					best[i] = special[r.IntN(len(special))]
				}
				at := make([]int32, lanes)
				wantBest, gotBest := slices.Clone(best), slices.Clone(best)
				maxsimMaxGeneric(&dots[0], n, lanes, &wantBest[0])
				u.max(&dots[0], n, lanes, &gotBest[0])
				same(t, wantBest, gotBest, what)

				wantAt, gotAt := slices.Clone(at), slices.Clone(at)
				wantBest, gotBest = slices.Clone(best), slices.Clone(best)
				maxsimWinnerGeneric(&dots[0], n, lanes, &wantBest[0], &wantAt[0], 100)
				u.winner(&dots[0], n, lanes, &gotBest[0], &gotAt[0], 100)
				same(t, wantBest, gotBest, what)
				require.Equal(t, wantAt, gotAt, what)

				scale := make([]float32, max(n, lanes))
				for i := range scale {
					scale[i] = r.Float32()
				}
				want := slices.Clone(dots)
				maxsimScaleGeneric(&want[0], n, lanes, &scale[0], &scale[0])
				u.scale(&dots[0], n, lanes, &scale[0], &scale[0])
				same(t, want, dots, what)
			}
		}
	}
}

// TestRowsEqualGeneric: packing and widening, which move bits, and normalising, which
// rounds.
func TestRowsEqualGeneric(t *testing.T) {
	for name, u := range units() {
		r := rand.New(rand.NewPCG(3, 4))
		for d := 1; d <= 40; d++ {
			for rows := 1; rows <= packRows; rows++ {
				what := fmt.Sprintf("%s, %d rows of %d", name, rows, d)
				stride := d + rows%3
				f, h := make([]float32, rows*stride), make([]uint16, rows*stride)
				for i := range f {
					f[i] = float32(r.NormFloat64())
					h[i] = num.BF16FromFloat32(f[i])
				}
				lanes := u.width * u.vectors
				want, got := make([]float32, d*lanes), make([]float32, d*lanes)
				maxsimPackGeneric(&f[0], stride*4, rows, d, &want[0], lanes)
				u.pack(&f[0], stride*4, rows, d, &got[0], lanes)
				require.Equal(t, want, got, what)
				clear(want)
				clear(got)
				maxsimPackBF16Generic(&h[0], stride*2, rows, d, &want[0], lanes)
				u.packBF16(&h[0], stride*2, rows, d, &got[0], lanes)
				require.Equal(t, want, got, what)
				u.widen(&got[0], &h[0], d)
				for i := range d {
					require.Equal(t, num.BF16ToFloat32(h[i]), got[i], what)
				}
			}
			if u.pack16 != nil {
				lanes, stride := u.width*u.vectors, d+3
				f := make([]float32, 16*stride)
				for i := range f {
					f[i] = float32(r.NormFloat64())
				}
				want, got := make([]float32, d*lanes), make([]float32, d*lanes)
				for j := 0; j < 16; j += packRows {
					maxsimPackGeneric(&f[j*stride], stride*4, packRows, d, &want[j], lanes)
				}
				u.pack16(&f[0], stride*4, d, &got[0], lanes)
				require.Equal(t, want, got, "%s, 16 rows of %d", name, d)
			}
			x := make([]float32, (d+7)&^7)
			for i := range d {
				x[i] = float32(r.NormFloat64())
			}
			want := slices.Clone(x)
			maxsimNormalizeGeneric(&want[0], len(x), normFloor)
			u.normalize(&x[0], len(x), normFloor)
			for i := range x { // a sum of d squares rounds d times, halved by the root; then one division
				require.InEpsilon(t, 1+math.Abs(float64(want[i])), 1+math.Abs(float64(x[i])), float64(d+4)*0x1p-24, "%s, %d", name, d)
			}
			x[d/2] = float32(math.NaN())
			u.normalize(&x[0], len(x), normFloor)
			require.True(t, x[0] != x[0], "%s: a NaN component makes a row NaN", name)
			clear(x)
			u.normalize(&x[0], len(x), normFloor)
			require.Equal(t, make([]float32, len(x)), x, "%s: a row of zeros stays zero", name)
		}
	}
}
