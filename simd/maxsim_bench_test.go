package simd

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/backend/num"
)

// BenchmarkMaxSim reports, beside the time, the share of the multiply-add rate measured
// between the launches on the same core: minimum of both, since machines are shared.
func BenchmarkMaxSim(b *testing.B) {
	shapes := []struct{ lq, nd, ld, d int64 }{
		{32, 1, 100, 128}, {32, 100, 180, 128}, {32, 1000, 300, 128}, {32, 1000, 300, 48}, {32, 1000, 300, 64},
		{32, 1000, 180, 96}, {32, 10, 1030, 128}, {1024, 10, 1024, 128},
	}
	for _, l := range Levels()[1:] {
		for _, x := range []struct {
			variant string
			dt      backend.DType
			level   Level
		}{{l.String(), backend.F32, l}, {l.String(), backend.BF16, l}, {"avx512bf16", backend.BF16, AVX512}, {"amx", backend.BF16, AVX512}} {
			if x.level != l {
				continue
			}
			for _, s := range shapes {
				b.Run(fmt.Sprintf("%s/%v/%dx%dx%dx%d", x.variant, x.dt, s.lq, s.nd, s.ld, s.d), func(b *testing.B) {
					benchMaxSim(b, l, x.variant, x.dt, s.lq, s.nd, s.ld, s.d)
				})
			}
		}
	}
}

func benchMaxSim(b *testing.B, l Level, variant string, dt backend.DType, lq, nd, ld, d int64) {
	s := openLevel(b, l, 1)
	docs := make([]int64, nd)
	for i := range docs {
		docs[i] = ld
	}
	x := newRagged(1, int(d), []int64{lq}, docs)
	a := x.f32(b, s)
	a.Winner = backend.View{}
	if dt == backend.BF16 {
		for _, v := range []*backend.View{&a.Query, &a.Doc} {
			h := make([]uint16, v.Elements())
			for i, f := range Slice[float32](v) {
				h[i] = num.BF16FromFloat32(f)
			}
			n := v.Dims
			require.NoError(b, v.Buf.Free())
			*v = backend.NewView(upload(b, s, bytesOf(h)), 0, dt, n[0], n[1])
		}
	}
	p, err := kernels.MaxSim.Prepare(s, a, kernel.WithVariant(variant))
	if errors.Is(err, backend.ErrUnsupported) {
		b.Skip(err)
	}
	require.NoError(b, err)
	unit := rateLoops[l]["fma_f32"]
	const passes = 4000 // some 8 µs, so that the clock costs under 1 %
	best, rate := math.Inf(1), 0.0
	for b.Loop() {
		t0 := time.Now()
		unit.run(passes)
		t1 := time.Now()
		err := p.Launch(a)
		best = min(best, time.Since(t1).Seconds())
		if err != nil {
			b.Fatal(err)
		}
		rate = max(rate, passes*unit.perPass/t1.Sub(t0).Seconds())
	}
	flop := 2 * float64(lq) * float64(nd) * float64(ld) * float64(d)
	b.ReportMetric(best*1e3, "min-ms")
	b.ReportMetric(flop/best/1e9, "GFLOP/s")
	b.ReportMetric(rate/1e9, "peak-GFLOP/s")
	b.ReportMetric(100*flop/best/rate, "%peak")
	require.NoError(b, p.Close())
}
