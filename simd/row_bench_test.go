package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/backend/num"
)

// randomRows uploads rows of normal numbers of type dt.
func randomRows(t testing.TB, s backend.Stream, dt backend.DType, dims ...int64) backend.View {
	t.Helper()
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	r := rand.New(rand.NewPCG(uint64(n), uint64(dt)))
	var base [1 << 12]float32
	for i := range base {
		base[i] = float32(r.NormFloat64())
	}
	raw := make([]byte, n*dt.Size())
	p := unsafe.Pointer(unsafe.SliceData(raw))
	for i := range int(n) {
		v := base[(i*7+i>>12)&(len(base)-1)]
		switch dt {
		case backend.BF16:
			unsafe.Slice((*uint16)(p), n)[i] = num.BF16FromFloat32(v)
		case backend.F16:
			unsafe.Slice((*uint16)(p), n)[i] = num.F16FromFloat32(v)
		case backend.F64:
			unsafe.Slice((*float64)(p), n)[i] = float64(v)
		default:
			unsafe.Slice((*float32)(p), n)[i] = v
		}
	}
	return backend.NewView(upload(t, s, raw), 0, dt, dims...)
}

// copier times a copy around the caches by the device's workers, each in a part of its own.
type copier struct {
	src, dst [][]byte
	run      func(dst, src *byte, n int)
}

func newCopier(l Level, workers int, bytes int64) *copier {
	c := &copier{run: memoryLoops[l].copyNT}
	if c.run == nil { // no such stores at this level
		c.run = func(dst, src *byte, n int) { copy(unsafe.Slice(dst, n), unsafe.Slice(src, n)) }
	}
	for range workers {
		n := bytes / int64(workers) &^ 4095
		c.src, c.dst = append(c.src, aligned(n)), append(c.dst, aligned(n))
		for i := int64(0); i < n; i += 4096 {
			c.src[len(c.src)-1][i], c.dst[len(c.dst)-1][i] = 1, 1
		}
	}
	return c
}

// rate is the bytes read and written per second.
func (c *copier) rate() float64 {
	var wg sync.WaitGroup
	start := time.Now()
	n := 0
	for w := range c.src {
		n += 2 * len(c.src[w])
		wg.Go(func() { c.run(&c.dst[w][0], &c.src[w][0], len(c.src[w])) })
	}
	wg.Wait()
	return float64(n) / time.Since(start).Seconds()
}

// benchRows reports the share of the copy's bandwidth, measured between the launches: the best of both.
func benchRows(b *testing.B, l Level, workers int, bytes int64, launch func() error) {
	c := newCopier(l, workers, 128<<20)
	best, rate := math.Inf(1), 0.0
	for b.Loop() {
		rate = max(rate, c.rate())
		t := time.Now()
		err := launch()
		best = min(best, time.Since(t).Seconds())
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(best*1e3, "min-ms")
	b.ReportMetric(float64(bytes)/best/1e9, "GB/s")
	b.ReportMetric(rate/1e9, "copy-GB/s")
	b.ReportMetric(100*float64(bytes)/best/rate, "%copy")
}

// BenchmarkRows runs the row kernels where they are bound by memory.
func BenchmarkRows(b *testing.B) {
	const rows, n = 8192, 4096
	for _, l := range Levels()[1:] {
		for _, dt := range []backend.DType{backend.F32, backend.BF16, backend.F16} {
			for _, workers := range []int{1, 2} {
				name := func(k string) string { return fmt.Sprintf("%s/%v/%v/w%d", k, l, dt, workers) }
				b.Run(name("rms_norm"), func(b *testing.B) {
					s := openLevel(b, l, workers)
					a := &kernels.RMSNormArgs{X: randomRows(b, s, dt, rows, n), Weight: randomRows(b, s, dt, n),
						Y: randomRows(b, s, dt, rows, n), RStd: randomRows(b, s, backend.F32, rows), Eps: 1e-6}
					p, err := kernels.RMSNorm.Prepare(s, a, kernel.WithVariant(l.String()))
					require.NoError(b, err)
					benchRows(b, l, workers, 2*rows*n*dt.Size(), func() error { return p.Launch(a) })
					require.NoError(b, p.Close())
				})
				b.Run(name("rms_norm_backward"), func(b *testing.B) {
					s := openLevel(b, l, workers)
					a := &kernels.RMSNormBackwardArgs{DY: randomRows(b, s, dt, rows, n), X: randomRows(b, s, dt, rows, n), Weight: randomRows(b, s, dt, n),
						RStd: randomRows(b, s, backend.F32, rows), DX: randomRows(b, s, dt, rows, n), DW: randomRows(b, s, dt, n)}
					p, err := kernels.RMSNormBackward.Prepare(s, a, kernel.WithVariant(l.String()))
					require.NoError(b, err)
					benchRows(b, l, workers, 3*rows*n*dt.Size(), func() error { return p.Launch(a) })
					require.NoError(b, p.Close())
				})
				b.Run(name("softmax"), func(b *testing.B) {
					s := openLevel(b, l, workers)
					a := &kernels.SoftmaxArgs{X: randomRows(b, s, dt, rows, n), Y: randomRows(b, s, dt, rows, n)}
					p, err := kernels.Softmax.Prepare(s, a, kernel.WithVariant(l.String()))
					require.NoError(b, err)
					benchRows(b, l, workers, 2*rows*n*dt.Size(), func() error { return p.Launch(a) })
					require.NoError(b, p.Close())
				})
				b.Run(name("softmax_backward"), func(b *testing.B) {
					s := openLevel(b, l, workers)
					a := &kernels.SoftmaxBackwardArgs{Y: randomRows(b, s, dt, rows, n), DY: randomRows(b, s, dt, rows, n), DX: randomRows(b, s, dt, rows, n)}
					p, err := kernels.SoftmaxBackward.Prepare(s, a, kernel.WithVariant(l.String()))
					require.NoError(b, err)
					benchRows(b, l, workers, 3*rows*n*dt.Size(), func() error { return p.Launch(a) })
					require.NoError(b, p.Close())
				})
			}
		}
	}
}

// BenchmarkRBFMatmul reports pairs per second on one worker.
func BenchmarkRBFMatmul(b *testing.B) {
	for _, l := range Levels()[1:] {
		for _, dt := range []backend.DType{backend.F32, backend.F64} {
			for _, s := range [][2]int64{{3, 1}, {8, 1}, {8, 2}, {32, 1}, {32, 16}, {128, 1}, {512, 1}} {
				b.Run(fmt.Sprintf("%v/%v/d%d-c%d", l, dt, s[0], s[1]), func(b *testing.B) {
					const n, m = 2048, 2048
					st := openLevel(b, l, 1)
					a := &kernels.RBFMatmulArgs{X: randomRows(b, st, dt, n, s[0]), Y: randomRows(b, st, dt, m, s[0]), V: randomRows(b, st, dt, m, s[1]),
						O: randomRows(b, st, dt, n, s[1]), Gamma: 1 / float64(s[0])}
					p, err := kernels.RBFMatmul.Prepare(st, a, kernel.WithVariant(l.String()))
					require.NoError(b, err)
					best := math.Inf(1)
					for b.Loop() {
						t := time.Now()
						err := p.Launch(a)
						best = min(best, time.Since(t).Seconds())
						if err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(n*m/best/1e6, "Mpairs/s")
					require.NoError(b, p.Close())
				})
			}
		}
	}
}

// BenchmarkTopK reports scores per second on one worker.
func BenchmarkTopK(b *testing.B) {
	for _, l := range Levels() {
		for _, s := range [][3]int64{{1, 1000, 10}, {225, 1400, 100}, {1, 1 << 20, 100}, {1, 11429, 11429}, {16, 11429, 4096}} {
			b.Run(fmt.Sprintf("%v/%dx%d-%d", l, s[0], s[1], s[2]), func(b *testing.B) {
				st := openLevel(b, l, 1)
				a := &kernels.TopKArgs{Score: randomRows(b, st, backend.F32, s[0], s[1]),
					Value: randomRows(b, st, backend.F32, s[0], s[2]), Index: backend.NewView(upload(b, st, make([]byte, s[0]*s[2]*4)), 0, backend.I32, s[0], s[2])}
				p, err := kernels.TopK.Prepare(st, a, kernel.WithVariant(l.String()))
				require.NoError(b, err)
				best := math.Inf(1)
				for b.Loop() {
					t := time.Now()
					err := p.Launch(a)
					best = min(best, time.Since(t).Seconds())
					if err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(best*1e6, "min-µs")
				b.ReportMetric(float64(s[0]*s[1])/best/1e6, "Mscores/s")
				require.NoError(b, p.Close())
			})
		}
	}
}
