package simd

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/backend/num"
)

// usableRowUnits are the units that this machine can run.
func usableRowUnits(t testing.TB) []*rowUnit {
	t.Helper()
	info := backend.Info{Features: features(Detected())}
	var usable []*rowUnit
	for _, u := range rowUnits() {
		if info.Missing(append(append([]string(nil), u.requires...), u.half...)) == "" {
			usable = append(usable, u)
		}
	}
	require.NotEmpty(t, usable)
	return usable
}

var elemTypes = [rowTypes]backend.DType{elemF32: backend.F32, elemBF16: backend.BF16, elemF16: backend.F16}

// rowOf rounds x to type t.
func rowOf(t int, x []float32) []byte {
	raw := make([]byte, len(x)*rowSize(t)+1)
	for i, v := range x {
		storeRow(&raw[0], t, i, v)
	}
	return raw[:len(x)*rowSize(t)]
}

// normals are n random numbers, the same for a seed on every machine.
func normals(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 7))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.IntN(1<<16)-1<<15) / (1 << 13)
	}
	return x
}

func newRowLocal() *rowLocal {
	return (*rowLocal)(unsafe.Pointer(unsafe.SliceData(aligned(rowLocalBytes))))
}

// TestRowMax finds the maximum wherever it stands, NaN and -Inf included.
func TestRowMax(t *testing.T) {
	for _, u := range usableRowUnits(t) {
		for e := range rowTypes {
			l := newRowLocal()
			for _, n := range []int{0, 1, 31, 32, 33, 64, 95} {
				x := make([]float32, n)
				for i := range x {
					x[i] = -float32(i%7) - 1
				}
				for i := range x {
					keep := x[i]
					for _, top := range []float32{-.5, 0, float32(math.Inf(1))} {
						x[i] = top
						require.Equal(t, top, u.rowMax(l, unsafe.SliceData(rowOf(e, x)), e, n), "%s type %d n %d at %d", u.variant, e, n, i)
						require.Equal(t, i, u.rowFind(unsafe.SliceData(rowOf(e, x)), e, n, top), "%s type %d n %d", u.variant, e, n)
					}
					x[i] = float32(math.NaN())
					require.True(t, math.IsNaN(float64(u.rowMax(l, unsafe.SliceData(rowOf(e, x)), e, n))), "%s type %d n %d at %d", u.variant, e, n, i)
					x[i] = keep
				}
				require.Equal(t, -1, u.rowFind(unsafe.SliceData(rowOf(e, x)), e, n, 9))
			}
			none := []float32{negInf32, negInf32}
			require.Equal(t, negInf32, u.rowMax(l, unsafe.SliceData(rowOf(e, none)), e, 2))
			zeros := []float32{float32(math.Copysign(0, -1)), 0}
			require.Equal(t, 0, u.rowFind(unsafe.SliceData(rowOf(e, zeros)), e, 2, 0), "zeros are equal")
		}
	}
}

// TestTailIsAVector: a tail gives the bits of the same row continued by zeros.
func TestTailIsAVector(t *testing.T) {
	for _, u := range usableRowUnits(t) {
		for e := range rowTypes {
			l := newRowLocal()
			x := normals(3, 4200)
			y := normals(4, 4200)
			for _, n := range []int{1, 31, 33, 63, 100, 4095, 4097, 4150} {
				long := append(append([]float32(nil), x[:n]...), make([]float32, -n&31)...)
				other := append(append([]float32(nil), y[:n]...), make([]float32, -n&31)...)
				a, b := rowOf(e, long), rowOf(e, other)
				require.Equal(t, u.rowSquare(l, &a[0], e, len(long)), u.rowSquare(l, &a[0], e, n), "%s %d", u.variant, n)
				require.Equal(t, u.rowDot(l, &a[0], &b[0], e, len(long), 0), u.rowDot(l, &a[0], &b[0], e, n, 0), "%s %d", u.variant, n)
			}
		}
	}
}

// TestAroundTheCache: the stores differ, the bits do not.
func TestAroundTheCache(t *testing.T) {
	const groups = 5
	for _, u := range usableRowUnits(t) {
		for e := range rowTypes {
			x, y := rowOf(e, normals(1, 32*groups)), rowOf(e, normals(2, 32*groups))
			w := Words[float32](bytesOf(normals(3, 32*groups)))
			size := int64(len(x))
			both := func(name string, run func(out *byte, nt int)) {
				plain, past := aligned(size), aligned(size)
				run(&plain[0], 0)
				run(&past[0], 1)
				require.Equal(t, plain, past, "%s %s type %d", u.variant, name, e)
				require.NotEqual(t, make([]byte, size), plain)
			}
			both("scale", func(out *byte, nt int) { u.scale[e](&w[0], out, groups, 1.5, nt) })
			both("softmaxGrad", func(out *byte, nt int) { u.softmaxGrad[e](&x[0], &y[0], out, groups, .25, 64, nt) })
			both("rmsGrad", func(out *byte, nt int) { u.rmsGrad[e](&x[0], &y[0], &w[0], out, groups, .5, .25, 64, nt) })
			for round := range 2 {
				both("rmsScale", func(out *byte, nt int) { u.rmsScale[round][e](&x[0], &w[0], out, groups, .3, 64, nt) })
			}
		}
	}
}

// TestAround says which outputs go around the cache.
func TestAround(t *testing.T) {
	at := func(n uintptr) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(unsafe.SliceData(aligned(128))), n) }
	require.Equal(t, 1, around(at(0), elemF32, 1<<12, 1<<12, false))
	require.Equal(t, 0, around(at(0), elemF32, 1<<12, 1<<12, true), "in place")
	require.Equal(t, 0, around(at(4), elemF32, 1<<12, 1<<12, false), "not aligned")
	require.Equal(t, 0, around(at(0), elemF32, 1<<13, 1<<12-1, false), "rows not aligned")
	require.Equal(t, 0, around(at(0), elemBF16, 1<<10, 1<<12, false), "small")
}

// TestExp measures the exponential against f64: within 2 ulp where the result is normal.
func TestExp(t *testing.T) {
	for _, u := range usableRowUnits(t) {
		lanes, e, l := Words[float32](aligned(128)), Words[float32](aligned(128)), newRowLocal()
		worst := 0.0
		check := func(z *[rowGroup]float32) {
			u.exp[elemF32]((*byte)(unsafe.Pointer(z)), &e[0], 1, &lanes[0], &l.top.max, 0)
			for i, v := range z {
				want := math.Exp(float64(v))
				if want < 0x1p-126 {
					require.Less(t, math.Abs(float64(e[i])-want), 0x1p-126, "%s exp(%g)", u.variant, v)
					continue
				}
				_, exponent := math.Frexp(want)
				worst = max(worst, math.Abs(float64(e[i])-want)/math.Ldexp(1, exponent-24))
			}
		}
		var z [rowGroup]float32
		r := rand.New(rand.NewPCG(1, 2))
		for i := range 40000 {
			for j := range z {
				z[j] = -r.Float32() * []float32{88.5, 10, 1, .01}[i%4]
			}
			check(&z)
		}
		check(&[rowGroup]float32{0, -1e-30, -0x1p-126, -87.33654, -87.4, -88, -88.1, -104, -1e30, negInf32})
		require.LessOrEqual(t, worst, 2.0, "%s: worst error in ulp", u.variant)
		require.Zero(t, e[9], "exp(-Inf)")
		require.EqualValues(t, 1, e[0], "exp(0)")
	}
}

// launchRows runs every row kernel once on rows of n elements and hashes all outputs.
func launchRows(t *testing.T, s backend.Stream, variant string, dt backend.DType, rows, n int64) []uint64 {
	t.Helper()
	up := func(seed uint64, d backend.DType, dims ...int64) backend.View {
		c := int64(1)
		for _, v := range dims {
			c *= v
		}
		e := rowType(d)
		return backend.NewView(upload(t, s, rowOf(e, normals(seed, int(c)))), 0, d, dims...)
	}
	with := kernel.WithVariant(variant)
	x, dy, w, y, dw := up(1, dt, rows, n), up(2, dt, rows, n), up(3, dt, n), up(4, dt, rows, n), up(5, dt, n)
	rstd := up(6, backend.F32, rows)
	var sums []uint64
	hash := func(views ...*backend.View) {
		h := fnv.New64a()
		for _, v := range views {
			h.Write(unsafe.Slice((*byte)(Pointer(v)), v.Bytes()))
		}
		sums = append(sums, h.Sum64())
	}
	for _, c := range []kernels.Casting{kernels.CastLlama, kernels.CastGemma, kernels.CastNone} {
		require.NoError(t, kernels.RMSNorm.Launch(s, &kernels.RMSNormArgs{X: x, Weight: w, Y: y, RStd: rstd, Eps: 1e-5, Offset: .5, Casting: c}, with))
		hash(&y, &rstd)
		require.NoError(t, kernels.RMSNormBackward.Launch(s, &kernels.RMSNormBackwardArgs{DY: dy, X: x, Weight: w, RStd: rstd, DX: y, DW: dw, Offset: .5, Casting: c}, with))
		hash(&y, &dw)
	}
	require.NoError(t, kernels.Softmax.Launch(s, &kernels.SoftmaxArgs{X: x, Y: y}, with))
	hash(&y)
	require.NoError(t, kernels.SoftmaxBackward.Launch(s, &kernels.SoftmaxBackwardArgs{Y: y, DY: dy, DX: x}, with))
	hash(&x)
	return sums
}

// fusedBits are the hashes of launchRows for the class of all assembly units, on amd64 and
// on arm64: whoever changes the order of an addition changes them knowingly.
var fusedBits = [rowTypes][]uint64{
	elemF32:  {0x7890723f13f2bf8, 0x129e99b98daf6297, 0x7890723f13f2bf8, 0x129e99b98daf6297, 0x29116794545d16c7, 0x5a111f1729b1da9, 0xc7768bc4fd368cca, 0x42c60144cb2eefa5},
	elemBF16: {0x1ec96fda414c6d63, 0xbbadcdc142b49c28, 0x3f658c005258e3d8, 0x2ea8ecb333b0500d, 0x619c328f50cfd56d, 0xb4b7a2c1751b2cdf, 0x4ef0595f07c268a8, 0x2f6cdb02dee1a4a2},
	elemF16:  {0x47045fbbf15bda6e, 0x47b0d87704bca5fe, 0x787da2f85a77d2ec, 0xfb43e7856c84999f, 0x1d2d7551444710b, 0xb338ecd4f73e098, 0x816cc035ee80e8a7, 0xcbe74cf1646d3fe8},
}

// TestRowBits: neither the level nor the number of workers shows in a result.
func TestRowBits(t *testing.T) {
	for _, u := range usableRowUnits(t) {
		for e, dt := range elemTypes {
			l, ok := ParseLevel(u.variant)
			require.True(t, ok)
			var first []uint64
			for _, workers := range []int{1, 2, 5} {
				got := launchRows(t, openLevel(t, l, workers), u.variant, dt, 700, 517)
				if first == nil {
					first = got
				}
				require.Equal(t, first, got, "%s %v with %d workers", u.variant, dt, workers)
			}
			if u.class == "fused" {
				require.Equal(t, fusedBits[e], first, "%s %v", u.variant, dt)
			}
		}
	}
}

// TestRowsAllocateNothing: prepared launches leave the heap alone.
func TestRowsAllocateNothing(t *testing.T) {
	s := openLevel(t, Detected(), 2)
	view := func(d backend.DType, dims ...int64) backend.View { return randomRows(t, s, d, dims...) }
	f := backend.F32
	score, one := view(f, 64, 512), view(f, 1)
	launches := map[string]func() error{
		"rms_norm":                       prepared(t, kernels.RMSNorm, s, &kernels.RMSNormArgs{X: score, Y: view(f, 64, 512), RStd: view(f, 64), Eps: 1e-6}),
		"rms_norm_backward":              prepared(t, kernels.RMSNormBackward, s, &kernels.RMSNormBackwardArgs{X: score, DY: view(f, 64, 512), RStd: view(f, 64), DX: view(f, 64, 512), Weight: view(f, 512), DW: view(f, 512)}),
		"softmax":                        prepared(t, kernels.Softmax, s, &kernels.SoftmaxArgs{X: score, Y: view(f, 64, 512)}),
		"softmax_backward":               prepared(t, kernels.SoftmaxBackward, s, &kernels.SoftmaxBackwardArgs{Y: score, DY: view(f, 64, 512), DX: view(f, 64, 512)}),
		"hardest_negative_loss":          prepared(t, kernels.HardestNegativeLoss, s, &kernels.HardestNegativeLossArgs{Score: score, Loss: one, Temperature: 1, Reduction: kernels.ReduceMean}),
		"hardest_negative_loss_backward": prepared(t, kernels.HardestNegativeLossBackward, s, &kernels.HardestNegativeLossBackwardArgs{Score: score, DLoss: one, DScore: view(f, 64, 512), Temperature: 1, Reduction: kernels.ReduceMean, Tie: kernels.TieEvenSplit}),
		"topk":                           prepared(t, kernels.TopK, s, &kernels.TopKArgs{Score: score, Value: view(f, 64, 9), Index: backend.NewView(upload(t, s, make([]byte, 64*9*4)), 0, backend.I32, 64, 9)}),
		"rbf_matmul":                     prepared(t, kernels.RBFMatmul, s, &kernels.RBFMatmulArgs{X: view(f, 64, 8), Y: view(f, 300, 8), V: view(f, 300, 2), O: view(f, 64, 2), Gamma: .1}),
	}
	for name, launch := range launches {
		require.Zero(t, testing.AllocsPerRun(50, func() {
			if err := launch(); err != nil {
				t.Fatal(err)
			}
		}), name)
	}
}

func prepared[A any](t *testing.T, k *kernel.Kernel[A], s backend.Stream, a *A) func() error {
	t.Helper()
	p, err := k.Prepare(s, a)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return func() error { return p.Launch(a) }
}

// TestNearestBF16: the stores round to nearest with ties to even, over every upper half.
func TestNearestBF16(t *testing.T) {
	for _, u := range usableRowUnits(t) {
		out, in := aligned(64), Words[float32](aligned(128))
		for base := uint32(0); base < 1<<16; base += 8 {
			var want [rowGroup]uint16
			for i := range in {
				low := []uint32{0, 0x7fff, 0x8000, 0x8001}[i%4]
				v := math.Float32frombits((base+uint32(i/4))<<16 | low)
				if v != v {
					v = cleanNaN(v)
				}
				in[i] = v
				for j := range rowGroup {
					if rowPlace(elemBF16, j) == i {
						want[j] = num.BF16FromFloat32(v)
					}
				}
			}
			u.scale[elemBF16](&in[0], &out[0], 1, 1, 0)
			for i, w := range want {
				got := Words[uint16](out)[i]
				if num.BF16ToFloat32(w) != num.BF16ToFloat32(w) {
					require.True(t, num.BF16ToFloat32(got) != num.BF16ToFloat32(got), "%s base %x", u.variant, base)
					continue
				}
				require.Equal(t, w, got, "%s base %x at %d", u.variant, base, i)
			}
		}
	}
}
