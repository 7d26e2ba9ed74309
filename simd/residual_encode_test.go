package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
)

// packedBits is the bit order by definition: bits leave each bucket least significant first
// and fill each byte from its high end.
func packedBits(buckets []uint8, width int) []uint8 {
	out := make([]uint8, len(buckets)*width/8)
	for i, u := range buckets {
		for b := range width {
			n := i*width + b
			out[n/8] |= u >> b & 1 << (7 - n%8)
		}
	}
	return out
}

func TestEncodePack(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, width := range []int{1, 2, 4, 8} {
		for n := 8 / width; n < 40; n += 8 / width {
			for range 50 {
				buckets := make([]uint8, (n+7)&^7)
				for i := range n {
					buckets[i] = uint8(r.IntN(1 << width))
				}
				got := make([]uint8, n*width/8)
				encodePack(got, buckets, width)
				require.Equal(t, packedBits(buckets[:n], width), got, "%d buckets of %d bits", n, width)
			}
		}
	}
}

// TestResidualEncodeIsTheDefinition: equal cut points, differences on them, and components
// beyond whole groups.
func TestResidualEncodeIsTheDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	draw := func(n int, specials bool) []float32 {
		x := make([]float32, n)
		for i := range x {
			if x[i] = float32(r.IntN(64)-32) / 64; r.IntN(2) == 0 {
				x[i] = float32(r.NormFloat64())
			}
			if specials && r.IntN(90) == 0 {
				x[i] = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32, 1e-40}[r.IntN(5)]
			}
		}
		return x
	}
	for _, bits := range []int{1, 2, 4, 8} {
		for _, q := range [][3]int{{1, 1, 8}, {9, 4, 40}, {700, 30, 64}, {20, 3, 1032}, {17, 5, 8 / bits * 3}} {
			n, k, d := q[0], q[1], q[2]
			token, centroid, weight, cut := draw(n*d, true), draw(k*d, false), draw(1<<bits, false), draw(1<<bits-1, false)
			slices.Sort(cut)
			code := make([]int32, n)
			for i := range code {
				code[i] = int32(r.IntN(k+2) - 1)
			}
			code[0] = 0
			var packed []uint8
			inv, faults := make([]float32, n), false
			for i, c := range code {
				buckets := make([]uint8, d)
				if c < 0 || int(c) >= k {
					packed, faults = append(packed, packedBits(buckets, bits)...), true
					continue
				}
				var sum float32
				for j := range d {
					for _, x := range cut {
						if x < token[i*d+j]-centroid[int(c)*d+j] {
							buckets[j]++
						}
					}
					v := centroid[int(c)*d+j] + weight[buckets[j]]
					sum += float32(v * v)
				}
				packed = append(packed, packedBits(buckets, bits)...)
				inv[i] = 1 / max(float32(math.Sqrt(float64(sum))), 1e-12)
			}
			for _, l := range Levels() {
				what := fmt.Sprint(q, bits, l)
				s := openLevel(t, l, 2)
				a := &kernels.ResidualEncodeArgs{Token: matrixOf(t, s, backend.F32, token, int64(n), int64(d)), Code: matrixOf(t, s, backend.I32, code, int64(n)),
					Centroid: matrixOf(t, s, backend.F32, centroid, int64(k), int64(d)), Cutoff: matrixOf(t, s, backend.F32, cut, int64(len(cut))),
					Weight: matrixOf(t, s, backend.F32, weight, 1<<bits), Packed: matrixOf(t, s, backend.U8, make([]uint8, n*d*bits/8), int64(n), int64(d*bits/8)),
					InvNorm: matrixOf(t, s, backend.F32, make([]float32, n), int64(n)), Bits: int64(bits)}
				require.NoError(t, kernels.ResidualEncode.Launch(s, a, kernel.WithVariant(l.String())))
				require.Equal(t, faults, s.Sync() != nil, what)
				require.Equal(t, packed, Slice[uint8](&a.Packed), what)
				sameFloats(t, inv, Slice[float32](&a.InvNorm), what)
			}
		}
	}
}
