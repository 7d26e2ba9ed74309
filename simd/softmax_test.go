package simd

import (
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestSoftmaxPiped: writing the row before while computing this one changes no bit, rows without
// arithmetic in between included.
func TestSoftmaxPiped(t *testing.T) {
	for _, u := range usableRowUnits(t) {
		for e := range rowTypes {
			for _, n := range []int{32, 4096, 4096 + 64, softmaxRow} {
				var rows [][]byte
				for i := range 7 {
					x := normals(uint64(i+1), n)
					switch i {
					case 2:
						x[n-1] = float32(math.NaN())
					case 4, 6:
						for j := range x {
							x[j] = negInf32
						}
					}
					rows = append(rows, rowOf(e, x))
				}
				size := n * rowSize(e)
				run := func(nt int) []byte {
					out := aligned(int64(len(rows) * size))
					room := Words[float32](aligned(8 * int64(n)))
					s := softmaxRows{rowUnit: u, l: newRowLocal(), t: e, n: n, nt: nt, e: room[:n], spare: room[n:]}
					for i, x := range rows {
						s.row(&x[0], (*byte)(unsafe.Pointer(&out[i*size])))
					}
					s.finish()
					return out
				}
				require.Equal(t, run(0), run(1), "%s type %d n %d", u.variant, e, n)
			}
		}
	}
}

// TestSoftmaxByHand: two equal logits, one that dwarfs the other, nothing at all.
func TestSoftmaxByHand(t *testing.T) {
	for _, u := range usableRowUnits(t) {
		s := softmaxRows{rowUnit: u, l: newRowLocal(), t: elemF32, n: 2, e: Words[float32](aligned(128))}
		for _, c := range []struct{ x, y [2]float32 }{
			{[2]float32{3, 3}, [2]float32{.5, .5}}, {[2]float32{1e4, -1e4}, [2]float32{1, 0}}, {[2]float32{negInf32, 7}, [2]float32{0, 1}},
			{[2]float32{negInf32, negInf32}, [2]float32{}},
		} {
			var y [2]float32
			s.row((*byte)(unsafe.Pointer(&c.x)), (*byte)(unsafe.Pointer(&y)))
			require.Equal(t, c.y, y, "%s %v", u.variant, c.x)
		}
		for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
			x, y := [2]float32{1, bad}, [2]float32{}
			s.row((*byte)(unsafe.Pointer(&x)), (*byte)(unsafe.Pointer(&y)))
			require.True(t, y[0] != y[0] && y[1] != y[1], "%s %v", u.variant, bad)
		}
	}
}
