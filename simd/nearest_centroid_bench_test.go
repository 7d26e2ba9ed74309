package simd

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
)

// atPeak launches until the benchmark is satisfied and reports the shortest launch, beside
// the multiply-add rate measured between launches on the same core, as BenchmarkMaxSim.
func atPeak(b *testing.B, l Level, macs float64, launch func() error) {
	unit := rateLoops[l]["fma_f32"]
	const passes = 4000
	best, rate := math.Inf(1), 0.0
	for b.Loop() {
		t0 := time.Now()
		unit.run(passes)
		t1 := time.Now()
		err := launch()
		best = min(best, time.Since(t1).Seconds())
		if err != nil {
			b.Fatal(err)
		}
		rate = max(rate, passes*unit.perPass/t1.Sub(t0).Seconds())
	}
	b.ReportMetric(best*1e3, "min-ms")
	b.ReportMetric(macs/best/1e9, "GFMA/s")
	b.ReportMetric(rate/2e9, "peak-GFMA/s")
	b.ReportMetric(200*macs/best/rate, "%peak")
}

func normalMatrix(b *testing.B, s backend.Stream, seed uint64, dims ...int64) backend.View {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return backend.NewView(upload(b, s, bytesOf(normals(seed, int(n)))), 0, backend.F32, dims...)
}

func emptyMatrix(b *testing.B, s backend.Stream, t backend.DType, dims ...int64) backend.View {
	n := int64(t.Size())
	for _, d := range dims {
		n *= d
	}
	return backend.NewView(upload(b, s, make([]byte, n)), 0, t, dims...)
}

func BenchmarkNearestCentroid(b *testing.B) {
	for _, l := range Levels()[1:] {
		for _, d := range []int64{48, 64, 96, 128, 768} {
			b.Run(fmt.Sprintf("%v/8192x4096x%d", l, d), func(b *testing.B) {
				s := openLevel(b, l, 1)
				n, k := int64(8192), int64(4096)
				a := &kernels.NearestCentroidArgs{Token: normalMatrix(b, s, 1, n, d), Centroid: normalMatrix(b, s, 2, k, d), Code: emptyMatrix(b, s, backend.I32, n)}
				p, err := kernels.NearestCentroid.Prepare(s, a, kernel.WithVariant(l.String()))
				require.NoError(b, err)
				atPeak(b, l, float64(n*k*d), func() error { return p.Launch(a) })
				require.NoError(b, p.Close())
			})
		}
	}
}

func BenchmarkCentroidScores(b *testing.B) {
	for _, l := range Levels()[1:] {
		for _, x := range [][4]int64{{21, 4096, 64, 8}, {32, 16384, 128, 8}, {32, 131072, 128, 8}, {32, 16384, 128, 0}, {2048, 16384, 128, 8}} {
			b.Run(fmt.Sprintf("%v/%dx%dx%dx%d", l, x[0], x[1], x[2], x[3]), func(b *testing.B) {
				s := openLevel(b, l, 1)
				tq, k, d, p := x[0], x[1], x[2], x[3]
				a := &kernels.CentroidScoresArgs{Query: normalMatrix(b, s, 1, tq, d), Centroid: normalMatrix(b, s, 2, k, d), Score: emptyMatrix(b, s, backend.F32, k, tq)}
				if p > 0 {
					a.Cell, a.CellScore = emptyMatrix(b, s, backend.I32, tq, p), emptyMatrix(b, s, backend.F32, tq, p)
				}
				q, err := kernels.CentroidScores.Prepare(s, a, kernel.WithVariant(l.String()))
				require.NoError(b, err)
				atPeak(b, l, float64(tq*k*d), func() error { return q.Launch(a) })
				require.NoError(b, q.Close())
			})
		}
	}
}

// BenchmarkCentroidScoresInt8 is measured against the float32 rate, which it exceeds.
func BenchmarkCentroidScoresInt8(b *testing.B) {
	for _, u := range int8Units()[:len(int8Assembly())] {
		for _, x := range [][4]int64{{21, 4096, 64, 8}, {32, 16384, 128, 8}, {32, 131072, 128, 8}, {32, 16384, 128, 0}} {
			b.Run(fmt.Sprintf("%s/%dx%dx%dx%d", u.variant, x[0], x[1], x[2], x[3]), func(b *testing.B) {
				s := openLevel(b, Detected(), 1)
				tq, k, d, p := x[0], x[1], x[2], x[3]
				a := &kernels.CentroidScoresInt8Args{Query: int8Matrix(b, s, 1, tq, d), Centroid: int8Matrix(b, s, 2, k, d),
					QueryScale: normalMatrix(b, s, 3, tq), CentroidScale: normalMatrix(b, s, 4, k), Score: emptyMatrix(b, s, backend.F32, k, tq)}
				if p > 0 {
					a.Cell, a.CellScore = emptyMatrix(b, s, backend.I32, tq, p), emptyMatrix(b, s, backend.F32, tq, p)
				}
				q, err := kernels.CentroidScoresInt8.Prepare(s, a, kernel.WithVariant(u.variant))
				if err != nil {
					b.Skip(err)
				}
				atPeak(b, Detected(), float64(tq*k*d), func() error { return q.Launch(a) })
				require.NoError(b, q.Close())
			})
		}
	}
}

func int8Matrix(b *testing.B, s backend.Stream, seed uint64, rows, cols int64) backend.View {
	x := make([]int8, rows*cols)
	for i, v := range normals(seed, len(x)) {
		x[i] = int8(v * 30)
	}
	return backend.NewView(upload(b, s, bytesOf(x)), 0, backend.I8, rows, cols)
}
