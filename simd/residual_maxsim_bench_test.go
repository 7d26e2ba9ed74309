package simd

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/backend/num"
)

// indexShape is an index of nd documents of ld tokens and one query of tq.
type indexShape struct{ nd, ld, d, tq, bits, k int64 }

func (s indexShape) String() string {
	return fmt.Sprintf("%dx%dx%dx%d-%db", s.nd, s.ld, s.d, s.tq, s.bits)
}

// indexShapes: the documents of Cranfield with 64 components, and passages with 128.
var indexShapes = []indexShape{
	{140, 176, 64, 21, 2, 4096}, {140, 176, 64, 24, 2, 256}, {140, 176, 64, 32, 2, 4096}, {140, 176, 64, 21, 4, 4096}, {140, 176, 64, 32, 4, 4096},
	{100, 300, 128, 32, 2, 4096}, {100, 300, 128, 32, 4, 4096}, {1400, 176, 64, 21, 2, 4096}, {1000, 300, 128, 32, 2, 4096},
}

// indexData is operands that the kernels of candidates share: every document is one.
type indexData struct {
	indexShape
	t         testing.TB
	s         backend.Stream
	r         *rand.Rand
	queryOff  kernel.Offsets
	docOff    kernel.Offsets
	code      backend.View
	packed    backend.View
	candidate backend.View
	inv       backend.View
	shift     backend.View
	score     backend.View
}

func newIndexData(t testing.TB, s backend.Stream, x indexShape) *indexData {
	i := &indexData{indexShape: x, t: t, s: s, r: rand.New(rand.NewPCG(1, 2))}
	n := x.nd * x.ld
	off := make([]int64, x.nd+1)
	ids, codes, packed := make([]int32, x.nd), make([]int32, n), make([]byte, n*x.d*x.bits/8)
	for j := range off {
		off[j] = int64(j) * x.ld
	}
	for j := range ids {
		ids[j] = int32(j)
	}
	for j := range codes {
		codes[j] = int32(i.r.Int64N(x.k))
	}
	for j := range packed {
		packed[j] = byte(i.r.Int64N(256))
	}
	var err error
	i.docOff, err = kernel.NewOffsets(s, upload(t, s, make([]byte, 8*(x.nd+1))), off)
	require.NoError(t, err)
	i.queryOff, err = kernel.NewOffsets(s, upload(t, s, make([]byte, 16)), []int64{0, x.tq})
	require.NoError(t, err)
	i.code = backend.NewView(upload(t, s, bytesOf(codes)), 0, backend.I32, n)
	i.packed = backend.NewView(upload(t, s, packed), 0, backend.U8, n, x.d*x.bits/8)
	i.candidate = backend.NewView(upload(t, s, bytesOf(ids)), 0, backend.I32, 1, x.nd)
	i.inv = i.floats(backend.F32, 0.9, 1.1, n)
	i.shift = backend.NewView(upload(t, s, bytesOf([]int32{40})), 0, backend.I32, 1)
	i.score = i.floats(backend.F32, 0, 1, 1, x.nd)
	return i
}

// floats is an operand of uniform numbers.
func (i *indexData) floats(dt backend.DType, low, high float32, dims ...int64) backend.View {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	x, h := make([]float32, n), make([]uint16, n)
	for j := range x {
		x[j] = low + (high-low)*i.r.Float32()
		h[j] = num.F16FromFloat32(x[j])
	}
	b := bytesOf(x)
	if dt == backend.F16 {
		b = bytesOf(h)
	}
	return backend.NewView(upload(i.t, i.s, b), 0, dt, dims...)
}

// int8s is an operand of numbers of [-most, most].
func (i *indexData) int8s(most int64, dims ...int64) backend.View {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	x := make([]byte, n)
	for j := range x {
		x[j] = byte(i.r.Int64N(2*most+1) - most)
	}
	return backend.NewView(upload(i.t, i.s, x), 0, backend.I8, dims...)
}

// benchUnit reports the best launch, and its share of the arithmetic rate measured between
// launches on the same core: operations counted for the query's tokens, and for the lanes
// that they fill.
func benchUnit(b *testing.B, l Level, x indexShape, loop string, launch func() error) {
	const passes = 4000
	unit := rateLoops[l][loop]
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
	work := 2 * float64(x.nd) * float64(x.ld) * float64(x.d) * float64(x.tq)
	width := map[Level]int64{AVX512: 16, NEON: 16}[l]
	b.ReportMetric(best*1e3, "min-ms")
	b.ReportMetric(rate/1e9, "peak-G/s")
	b.ReportMetric(100*work/best/rate, "%peak")
	b.ReportMetric(100*work/best/rate*float64(roundUp(x.tq, max(width, 8)))/float64(x.tq), "%lanes")
}

func BenchmarkResidualMaxSim(b *testing.B) {
	for _, l := range Levels()[1:] {
		for _, dt := range []backend.DType{backend.F32, backend.F16} {
			for _, x := range indexShapes {
				for _, norm := range []string{"stored", "computed"} {
					b.Run(fmt.Sprintf("%v/%v/%v/%s", l, dt, x, norm), func(b *testing.B) {
						s := openLevel(b, l, 1)
						i := newIndexData(b, s, x)
						a := &kernels.ResidualMaxSimArgs{
							Query: i.floats(dt, -.2, .2, x.tq, x.d), QueryOff: i.queryOff, Code: i.code, Packed: i.packed, DocOff: i.docOff,
							Centroid: i.floats(dt, -.2, .2, x.k, x.d), Weight: i.floats(backend.F32, -.05, .05, 1<<x.bits),
							InvNorm: i.inv, Candidate: i.candidate, Shift: i.shift, Score: i.score, Bits: x.bits,
						}
						if norm == "computed" {
							a.InvNorm, a.Normalize = backend.View{}, true
						}
						p, err := kernels.ResidualMaxSim.Prepare(s, a, kernel.WithVariant(l.String()))
						require.NoError(b, err)
						benchUnit(b, l, x, "fma_f32", func() error { return p.Launch(a) })
						require.NoError(b, p.Close())
					})
				}
			}
		}
	}
}

// BenchmarkResidualMaxSimInt8: the bound of VPMADDWD with its addition is 16 products in two
// instructions on a lane width of 8, so twice the rate of the f32 multiply-add; VPDPBUSD's is
// its own. What %peak says is against that.
func BenchmarkResidualMaxSimInt8(b *testing.B) {
	for _, l := range Levels()[1:] {
		variants := []string{l.String()}
		if _, ok := rateLoops[l]["dot_i8"]; ok && l == AVX512 {
			variants = append(variants, "avx512vnni", "amx")
		}
		for _, variant := range variants {
			for _, dt := range []backend.DType{backend.F32, backend.F16} {
				for _, x := range indexShapes {
					for _, most := range []int64{127, 63} {
						b.Run(fmt.Sprintf("%s/%v/%v/table%d", variant, dt, x, most), func(b *testing.B) {
							s := openLevel(b, l, 1)
							i := newIndexData(b, s, x)
							a := &kernels.ResidualMaxSimInt8Args{
								CentroidScore: i.floats(dt, -1, 1, x.k, x.tq), Query: i.int8s(127, x.tq, x.d), Unit: i.floats(backend.F32, 1e-5, 2e-5, x.tq),
								QueryOff: i.queryOff, Code: i.code, Packed: i.packed, DocOff: i.docOff, Table: i.int8s(most, 1<<x.bits),
								InvNorm: i.inv, Candidate: i.candidate, Score: i.score, Bits: x.bits,
							}
							values := Slice[int8](&a.Table) // as far apart as they may be
							values[0], values[len(values)-1] = int8(-most), int8(most)
							p, err := kernels.ResidualMaxSimInt8.Prepare(s, a, kernel.WithVariant(variant))
							if errors.Is(err, backend.ErrUnsupported) {
								b.Skip(err)
							}
							require.NoError(b, err)
							loop, half := "fma_f32", x
							if variant == "avx512vnni" || variant == "amx" {
								loop = "dot_i8"
							} else {
								half.d /= 2
							}
							benchUnit(b, l, half, loop, func() error { return p.Launch(a) })
							require.NoError(b, p.Close())
						})
					}
				}
			}
		}
	}
}

func BenchmarkPlaidApprox(b *testing.B) {
	for _, l := range Levels() {
		for _, x := range []indexShape{{1400, 176, 64, 21, 2, 4096}, {20000, 120, 64, 32, 2, 16384}} {
			for _, live := range []string{"all", "pruned"} {
				b.Run(fmt.Sprintf("%v/%v/%s", l, x, live), func(b *testing.B) {
					s := openLevel(b, l, 1)
					i := newIndexData(b, s, x)
					a := &kernels.PlaidApproxArgs{CentroidScore: i.floats(backend.F32, -1, 1, x.k, x.tq), QueryOff: i.queryOff, Code: i.code, DocOff: i.docOff,
						Candidate: i.candidate, Shift: i.shift, Score: i.score}
					if live == "pruned" { // one cell of sixteen
						words := make([]int32, x.k/32)
						for j := range words {
							words[j] = 1<<i.r.Int64N(15) | 1<<(16+i.r.Int64N(15))
						}
						a.Live = backend.NewView(upload(b, s, bytesOf(words)), 0, backend.I32, 1, x.k/32)
					}
					p, err := kernels.PlaidApprox.Prepare(s, a, kernel.WithVariant(l.String()))
					require.NoError(b, err)
					best := math.Inf(1)
					for b.Loop() {
						t := time.Now()
						require.NoError(b, p.Launch(a))
						best = min(best, time.Since(t).Seconds())
					}
					b.ReportMetric(best*1e3, "min-ms")
					b.ReportMetric(best*1e9/float64(x.nd*x.ld), "ns/token")
					require.NoError(b, p.Close())
				})
			}
		}
	}
}

func BenchmarkPlaidCandidates(b *testing.B) {
	for _, x := range []struct{ k, each, docs int64 }{{4096, 50, 1400}, {16384, 130, 20000}, {131072, 800, 1000000}} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%d/w%d", x.docs, workers), func(b *testing.B) {
				const tq, p = 32, 8
				s := openLevel(b, Detected(), workers)
				r := rand.New(rand.NewPCG(3, 4))
				cells, lists, off := make([]int32, tq*p), make([]int32, x.k*x.each), make([]int64, x.k+1)
				for j := range cells {
					cells[j] = int32(r.Int64N(x.k))
				}
				for j := range lists {
					lists[j] = int32(r.Int64N(x.docs))
				}
				for j := range off {
					off[j] = int64(j) * x.each
				}
				list, err := kernel.NewOffsets(s, upload(b, s, make([]byte, 8*len(off))), off)
				require.NoError(b, err)
				query, err := kernel.NewOffsets(s, upload(b, s, make([]byte, 16)), []int64{0, tq})
				require.NoError(b, err)
				view := func(dt backend.DType, bytes int64, dims ...int64) backend.View {
					return backend.NewView(upload(b, s, make([]byte, bytes)), 0, dt, dims...)
				}
				a := &kernels.PlaidCandidatesArgs{Cell: backend.NewView(upload(b, s, bytesOf(cells)), 0, backend.I32, tq, p), QueryOff: query, ListOff: list,
					ListDoc: backend.NewView(upload(b, s, bytesOf(lists)), 0, backend.I32, int64(len(lists))), Live: view(backend.I32, (x.k+31)/32*4, 1, (x.k+31)/32),
					Candidate: view(backend.I32, 4*x.docs, 1, x.docs), Count: view(backend.I64, 8, 1), Documents: x.docs}
				c, err := kernels.PlaidCandidates.Prepare(s, a)
				require.NoError(b, err)
				best := math.Inf(1)
				for b.Loop() {
					t := time.Now()
					require.NoError(b, c.Launch(a))
					best = min(best, time.Since(t).Seconds())
				}
				b.ReportMetric(best*1e3, "min-ms")
				b.ReportMetric(best*1e9/float64(tq*p*x.each), "ns/entry")
				require.NoError(b, c.Close())
			})
		}
	}
}
