package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
)

func codesBelow(b *testing.B, s backend.Stream, n, k int64) backend.View {
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]int32, n)
	for i := range x {
		x[i] = int32(r.Int64N(k))
	}
	return backend.NewView(upload(b, s, bytesOf(x)), 0, backend.I32, n)
}

// shortest reports the shortest launch and the rate at which it took its input.
func shortest(b *testing.B, bytes int64, launch func() error) {
	best := math.Inf(1)
	for b.Loop() {
		t := time.Now()
		err := launch()
		best = min(best, time.Since(t).Seconds())
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(best*1e3, "min-ms")
	b.ReportMetric(float64(bytes)/best/1e9, "GB/s")
}

func BenchmarkKMeansUpdate(b *testing.B) {
	for _, l := range Levels()[1:] {
		for _, d := range []int64{48, 64, 128} {
			b.Run(fmt.Sprintf("%v/100000x4096x%d", l, d), func(b *testing.B) {
				s := openLevel(b, l, 1)
				n, k := int64(100000), int64(4096)
				a := &kernels.KMeansUpdateArgs{Token: normalMatrix(b, s, 1, n, d), Code: codesBelow(b, s, n, k),
					Sum: emptyMatrix(b, s, backend.I64, k, d), Count: emptyMatrix(b, s, backend.I64, k), Shift: 40}
				p, err := kernels.KMeansUpdate.Prepare(s, a, kernel.WithVariant(l.String()))
				require.NoError(b, err)
				shortest(b, 4*n*d, func() error { return p.Launch(a) })
				require.NoError(b, p.Close())
			})
		}
	}
}

func BenchmarkResidualEncode(b *testing.B) {
	for _, l := range Levels()[1:] {
		for _, bits := range []int64{1, 2, 4, 8} {
			b.Run(fmt.Sprintf("%v/20000x4096x128x%d", l, bits), func(b *testing.B) {
				s := openLevel(b, l, 1)
				n, k, d := int64(20000), int64(4096), int64(128)
				cut := make([]float32, 1<<bits-1)
				for i := range cut {
					cut[i] = float32(i-len(cut)/2) / float32(len(cut)) * 4
				}
				a := &kernels.ResidualEncodeArgs{Token: normalMatrix(b, s, 1, n, d), Code: codesBelow(b, s, n, k), Centroid: normalMatrix(b, s, 2, k, d),
					Cutoff: backend.NewView(upload(b, s, bytesOf(cut)), 0, backend.F32, int64(len(cut))), Weight: normalMatrix(b, s, 3, 1<<bits),
					Packed: emptyMatrix(b, s, backend.U8, n, d*bits/8), InvNorm: emptyMatrix(b, s, backend.F32, n), Bits: bits}
				p, err := kernels.ResidualEncode.Prepare(s, a, kernel.WithVariant(l.String()))
				require.NoError(b, err)
				shortest(b, 4*n*d, func() error { return p.Launch(a) })
				require.NoError(b, p.Close())
			})
		}
	}
}
