package simd

import (
	"bytes"
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/backend/num"
)

// TestRMSNormByHand: spec transformer-kernels §4.1, a row of zeros, and where the modes round.
func TestRMSNormByHand(t *testing.T) {
	for _, l := range Levels() {
		s := openLevel(t, l, 1)
		a := &kernels.RMSNormArgs{X: backend.NewView(upload(t, s, bytesOf([]float32{1, 2, 3, 4, 0, 0, 0, 0})), 0, backend.F32, 2, 4),
			Y: backend.NewView(upload(t, s, make([]byte, 32)), 0, backend.F32, 2, 4), RStd: backend.NewView(upload(t, s, make([]byte, 8)), 0, backend.F32, 2), Eps: 1e-6}
		require.NoError(t, kernels.RMSNorm.Launch(s, a, kernel.WithVariant(l.String())))
		for i, want := range []float64{.36514835, .73029670, 1.09544504, 1.46059339, 0, 0, 0, 0} {
			require.InDelta(t, want, Slice[float32](&a.Y)[i], 1e-7, "%v", l)
		}
		require.EqualValues(t, float32(1/math.Sqrt(1e-6)), Slice[float32](&a.RStd)[1])

		h := func(x ...float64) []uint16 {
			r := make([]uint16, len(x))
			for i, v := range x {
				r[i] = num.BF16FromFloat64(v)
			}
			return r
		}
		bf := func(x []uint16, dims ...int64) backend.View {
			return backend.NewView(upload(t, s, bytesOf(x)), 0, backend.BF16, dims...)
		}
		for c, want := range map[kernels.Casting]float64{
			// r is 1/√1.5 = .8165, in bf16 .81640625: its product with the weight lies on another
			// side of .912109375 than the unrounded one.
			kernels.CastLlama: round16(round16(1/math.Sqrt(1.5)) * 1.1171875),
			kernels.CastGemma: round16(1 / math.Sqrt(1.5) * 1.1171875),
			kernels.CastNone:  round16(round16(round16(1/math.Sqrt(1.5))*1) * 1.1171875),
		} {
			a := &kernels.RMSNormArgs{X: bf(h(1, 1, 2, 0), 1, 4), Weight: bf(h(1.1171875, 1, 1, 1), 4), Y: bf(h(0, 0, 0, 0), 1, 4),
				RStd: backend.NewView(upload(t, s, make([]byte, 4)), 0, backend.F32, 1), Casting: c}
			require.NoError(t, kernels.RMSNorm.Launch(s, a, kernel.WithVariant(l.String())))
			require.Equal(t, want, num.BF16ToFloat64(Slice[uint16](&a.Y)[0]), "%v casting %d", l, c)
		}
	}
}

func round16(v float64) float64 { return num.BF16ToFloat64(num.BF16FromFloat64(v)) }

// TestRMSWorkspaceIsMonotone: more rows or columns never need less.
func TestRMSWorkspaceIsMonotone(t *testing.T) {
	size := func(rows, n int64) int64 { return padded(n) * (1 + rmsBackwardTiles(rows, n)) }
	for rows := int64(0); rows < 3000; rows += 131 {
		last := int64(0)
		for n := int64(0); n < 40000; n += 77 {
			require.LessOrEqual(t, last, size(rows, n), "rows %d n %d", rows, n)
			require.LessOrEqual(t, size(rows, n), size(rows+1, n), "rows %d n %d", rows, n)
			last = size(rows, n)
		}
	}
}

// TestRMSPiped: reading the next rows while these are written changes no bit. Outputs in place of inputs are not written around
// the cache, and so go the plain way.
func TestRMSPiped(t *testing.T) {
	const n = rowBlock + 2*rowGroup
	for _, l := range Levels() {
		for _, dt := range elemTypes {
			for _, c := range []kernels.Casting{kernels.CastLlama, kernels.CastGemma} {
				s := openLevel(t, l, 1)
				rows := int64(aroundBytes/n/dt.Size() + 3)
				x, dy, w := randomRows(t, s, dt, rows, n), randomRows(t, s, dt, rows, n), randomRows(t, s, dt, n)
				out := func(dims ...int64) backend.View { return randomRows(t, s, dt, dims...) }
				rstd := func() backend.View { return randomRows(t, s, backend.F32, rows) }

				fast := &kernels.RMSNormArgs{X: x, Weight: w, Y: out(rows, n), RStd: rstd(), Eps: 1e-6, Casting: c}
				require.NoError(t, kernels.RMSNorm.Launch(s, fast, kernel.WithVariant(l.String())))
				back := &kernels.RMSNormBackwardArgs{DY: dy, X: x, Weight: w, RStd: fast.RStd, DX: out(rows, n), DW: out(n), Casting: c}
				require.NoError(t, kernels.RMSNormBackward.Launch(s, back, kernel.WithVariant(l.String())))

				plainBack := *back
				plainBack.DX, plainBack.DW = dy, out(n)
				require.NoError(t, kernels.RMSNormBackward.Launch(s, &plainBack, kernel.WithVariant(l.String())))
				plain := *fast
				plain.Y, plain.RStd = x, rstd()
				require.NoError(t, kernels.RMSNorm.Launch(s, &plain, kernel.WithVariant(l.String())))
				for i, p := range [][2]*backend.View{{&fast.Y, &plain.Y}, {&fast.RStd, &plain.RStd}, {&back.DX, &plainBack.DX}, {&back.DW, &plainBack.DW}} {
					a, b := (*byte)(Pointer(p[0])), (*byte)(Pointer(p[1]))
					require.True(t, bytes.Equal(unsafe.Slice(a, p[0].Bytes()), unsafe.Slice(b, p[1].Bytes())), "%v %v casting %d output %d", l, dt, c, i)
				}
			}
		}
	}
}
