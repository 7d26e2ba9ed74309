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
					case 3: // beyond what is near, so that exponentials vanish
						for j := range x {
							x[j] *= 25
						}
						x[n/2] = negInf32
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
					s := softmaxRows{rowUnit: u, l: newRowLocal(), t: e, n: n, nt: nt, e: Words[float32](aligned(4 * int64(n)))}
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

// TestSoftmaxShort measures rows of 16-bit elements against f64: near and far from zero, with elements whose exponential is
// almost or altogether nothing, and maxima so large that all others are.
func TestSoftmaxShort(t *testing.T) {
	const n = 64
	for _, u := range usableRowUnits(t) {
		for _, e := range []int{elemBF16, elemF16} {
			ulp := 0x1p-7
			if e == elemF16 {
				ulp = 0x1p-10
			}
			for _, top := range []float32{0, 3, -700, 5000, 60000, -60000, 1 << 19, 1 << 20, -1 << 20, -1 << 24, 1e30, -3e38} {
				if e == elemF16 && math.Abs(float64(top)) > 65504 {
					continue
				}
				for _, spread := range []float32{1, 80, 87, 89, 1e4} {
					x := make([]float32, n)
					for i := range x {
						x[i] = top - spread*float32(i)/n
					}
					x[n-1] = negInf32
					row := rowOf(e, x)
					for i := range x {
						x[i] = loadRow(&row[0], e, i)
					}
					var sum float64
					for _, v := range x {
						sum += math.Exp(float64(v - x[0]))
					}
					out := aligned(3 * n * int64(rowSize(e)))
					s := softmaxRows{rowUnit: u, l: newRowLocal(), t: e, n: n, nt: 1, e: Words[float32](aligned(4 * n))}
					for i := range 3 {
						s.row(&row[0], step(&out[0], e, i*n))
					}
					s.finish()
					require.Equal(t, out[:n*rowSize(e)], out[n*rowSize(e):2*n*rowSize(e)], "%s type %d top %g spread %g", u.variant, e, top, spread)
					for i, v := range x {
						want, got := math.Exp(float64(v-x[0]))/sum, float64(loadRow(&out[0], e, n+i))
						require.InDelta(t, want, got, ulp*want*.6+0x1p-24, "%s type %d top %g spread %g at %d", u.variant, e, top, spread, i)
					}
					require.Zero(t, loadRow(&out[0], e, n+n-1))
				}
			}
		}
	}
}

// TestRowExtremes finds the largest signed, smallest unsigned and largest unsigned code wherever they stand.
func TestRowExtremes(t *testing.T) {
	for _, u := range usableRowUnits(t) {
		for _, e := range []int{elemBF16, elemF16} {
			if u.extremes[e] == nil {
				continue
			}
			for _, n := range []int{32, 64, 96} {
				x := make([]uint16, n)
				for at := range x {
					for _, signs := range []uint16{0, 1 << 15, 0x5555, 0xffff} {
						for i := range x {
							x[i] = uint16(7*i+1) | signs<<(i%16)&(1<<15)
						}
						for _, code := range []uint16{0, 0x7fff, 0x8000, 0xffff} {
							x[at] = code
							signed, least, most := int16(math.MinInt16), uint16(math.MaxUint16), uint16(0)
							for _, c := range x {
								signed, least, most = max(signed, int16(c)), min(least, c), max(most, c)
							}
							want := uint64(uint16(signed)) | uint64(least)<<16 | uint64(most)<<32
							require.Equal(t, want, u.extremes[e]((*byte)(unsafe.Pointer(&x[0])), n/rowGroup), "%s n %d at %d code %x", u.variant, n, at, code)
						}
					}
				}
			}
		}
	}
}
