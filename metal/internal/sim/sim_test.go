package sim_test

import (
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/internal/testneed"
	"github.com/likbench/likbench/metal/internal/sim"
	"github.com/likbench/likbench/metal/mtl"
)

func device(t testing.TB, o sim.Order) mtl.Device {
	t.Helper()
	if err := sim.Available(); err != nil {
		testneed.Skip(t, "clang", err.Error())
	}
	drv, err := sim.New(sim.Config{Order: o})
	require.NoError(t, err)
	d, err := drv.Default()
	require.NoError(t, err)
	return d
}

func library(t testing.TB, d mtl.Device) mtl.Library {
	t.Helper()
	src, err := os.ReadFile("testdata/row.metal")
	require.NoError(t, err)
	l, err := d.NewLibrary(string(src))
	require.NoError(t, err)
	return l
}

// buffer is device memory viewed as values.
func buffer[T any](t testing.TB, d mtl.Device, values []T) (mtl.Buffer, []T) {
	t.Helper()
	var v T
	b, err := d.NewBuffer(int64(len(values)) * int64(unsafe.Sizeof(v)))
	require.NoError(t, err)
	s := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b.Bytes()))), len(values))
	copy(s, values)
	return b, s
}

func launch(t testing.TB, d mtl.Device, l mtl.Library, entry string, constants []uint32, dis mtl.Dispatch, buffers ...mtl.Buffer) error {
	t.Helper()
	p, err := l.Pipeline(entry, constants)
	require.NoError(t, err)
	dis.Pipeline = p
	for _, b := range buffers {
		dis.Buffers = append(dis.Buffers, mtl.Bound{Buffer: b})
	}
	q, err := d.NewQueue()
	require.NoError(t, err)
	c, err := q.CommandBuffer()
	require.NoError(t, err)
	require.NoError(t, c.Dispatch(&dis))
	require.NoError(t, c.Commit())
	return c.Wait()
}

func grid(groups, threads uint64) mtl.Dispatch {
	return mtl.Dispatch{Groups: mtl.Size{X: groups, Y: 1, Z: 1}, ThreadsGroup: mtl.Size{X: threads, Y: 1, Z: 1}}
}

func words(v ...uint32) (b []byte) {
	for _, w := range v {
		b = binary.NativeEndian.AppendUint32(b, w)
	}
	return b
}

// rowMax runs the test kernel and counts wrong rows.
func rowMax(t *testing.T, o sim.Order, entry string) (wrong int) {
	const rows, tokens, dim = 7, 301, 64
	d := device(t, o)
	l := library(t, d)
	rng := rand.New(rand.NewPCG(1, 2))
	q, doc := make([]float32, rows*dim), make([]float32, tokens*dim)
	for i := range q {
		q[i] = float32(rng.IntN(33)-16) / 16
	}
	for i := range doc {
		doc[i] = float32(rng.IntN(33)-16) / 16
	}
	bq, _ := buffer(t, d, q)
	var bd mtl.Buffer
	if strings.HasSuffix(entry, "f16") {
		h := make([]uint16, len(doc))
		for i, f := range doc {
			if b := math.Float32bits(f); f != 0 { // exact for multiples of 1/16
				h[i] = uint16(b>>16&0x8000 | (b>>23-112)<<10&0x7c00 | b>>13&0x3ff)
			}
		}
		bd, _ = buffer(t, d, h)
	} else {
		bd, _ = buffer(t, d, doc)
	}
	bo, out := buffer(t, d, make([]float32, rows))
	dis := grid(rows, 128)
	dis.Bytes, dis.Dynamic = words(tokens, dim), 16
	require.NoError(t, launch(t, d, l, entry, nil, dis, bq, bd, bo))
	for r := range rows {
		best := math.Inf(-1)
		for k := range tokens {
			s := 0.0
			for i := range dim {
				s += float64(q[r*dim+i]) * float64(doc[k*dim+i])
			}
			best = max(best, s)
		}
		if float64(out[r]) != best {
			wrong++
		}
	}
	return wrong
}

func TestRowMaximum(t *testing.T) {
	for _, o := range sim.Orders {
		require.Zero(t, rowMax(t, o, "row_max_f32"), o)
		require.Zero(t, rowMax(t, o, "row_max_f16"), o)
	}
}

// TestOrdersFindAMissingBarrier: no single order would do.
func TestOrdersFindAMissingBarrier(t *testing.T) {
	wrong := 0
	for _, o := range sim.Orders {
		wrong += rowMax(t, o, "row_max_racy")
	}
	require.NotZero(t, wrong)
}

func TestMatrixProduct(t *testing.T) {
	const m, n, k = 32, 24, 40
	for _, o := range sim.Orders {
		d := device(t, o)
		a, b := make([]float32, m*k), make([]float32, n*k)
		for i := range a {
			a[i] = float32(i%17 - 8)
		}
		for i := range b {
			b[i] = float32(i*7%19 - 9)
		}
		ba, _ := buffer(t, d, a)
		bb, _ := buffer(t, d, b)
		bc, c := buffer(t, d, make([]float32, m*n))
		dis := grid(n/8, 32)
		dis.Groups.Y, dis.Bytes = m/8, words(k)
		require.NoError(t, launch(t, d, library(t, d), "tile_product", nil, dis, ba, bb, bc))
		for i := range m {
			for j := range n {
				var s float32
				for x := range k {
					s += a[i*k+x] * b[j*k+x]
				}
				require.Equal(t, s, c[i*n+j], "%v %d %d", o, i, j)
			}
		}
	}
}

func TestBarrierFaults(t *testing.T) {
	for _, o := range sim.Orders {
		d := device(t, o)
		b, _ := buffer(t, d, make([]uint32, 64))
		l := library(t, d)
		require.ErrorContains(t, launch(t, d, l, "divergent", nil, grid(1, 32), b), "divergent barrier")
		require.ErrorContains(t, launch(t, d, l, "exits_early", nil, grid(1, 64), b), "after some threads had returned")
		require.ErrorContains(t, launch(t, d, l, "greedy", nil, grid(1, 32), b), "36000 bytes of threadgroup memory, at most 32768")
	}
}

func TestAtomicsConstantsAndPoison(t *testing.T) {
	for _, o := range sim.Orders {
		d := device(t, o)
		b, v := buffer(t, d, make([]uint32, 4))
		require.NoError(t, launch(t, d, library(t, d), "counts", []uint32{42}, grid(2, 32), b))
		require.Equal(t, []uint32{64, 63, 42, 1}, v)
	}
}

func TestSimdgroupFunctions(t *testing.T) {
	for _, o := range sim.Orders {
		d := device(t, o)
		b, v := buffer(t, d, make([]uint32, 32))
		require.NoError(t, launch(t, d, library(t, d), "prefix", nil, grid(1, 32), b))
		for i, got := range v {
			require.EqualValues(t, i*(i+1)/2+(i^1)*1000, got)
		}
	}
}

func TestIntegers(t *testing.T) {
	for _, o := range sim.Orders {
		d := device(t, o)
		bytes := make([]int8, 32)
		for i := range bytes {
			bytes[i] = int8(i*8 - 128)
		}
		b, _ := buffer(t, d, bytes)
		bo, out := buffer(t, d, make([]int64, 4*32))
		require.NoError(t, launch(t, d, library(t, d), "integers", nil, grid(1, 32), b, bo))
		for i := range 32 {
			x := uint32(0x00f00000) >> (i % 24)
			require.Equal(t, int64(bytes[i^1])<<32, out[4*i])
			require.EqualValues(t, bits.LeadingZeros32(x), out[4*i+1], "%#x", x)
			require.EqualValues(t, bits.TrailingZeros32(x), out[4*i+2], "%#x", x)
			require.EqualValues(t, bits.Reverse32(x), out[4*i+3], "%#x", x)
		}
	}
}

// TestHalfMatrices: products of halves add up in float, where a half would overflow.
func TestHalfMatrices(t *testing.T) {
	const one, large = 0x3c00, 0x7800 // 1 and 2^15
	for _, o := range sim.Orders {
		d := device(t, o)
		a := make([]uint16, 64)
		for i := range 8 {
			a[i*8+i], a[i*8] = large, one
		}
		ba, _ := buffer(t, d, a)
		bc, c := buffer(t, d, make([]float32, 64))
		require.NoError(t, launch(t, d, library(t, d), "half_product", nil, grid(1, 32), ba, bc))
		for i := range 8 {
			for j := range 8 {
				want := float32(2) // the first column of ones, and what the sum started with
				if i == j && i > 0 {
					want += 1 << 30
				}
				require.Equal(t, want, c[i*8+j], "%d %d", i, j)
			}
		}
	}
}

func TestEntriesAreTheInstances(t *testing.T) {
	d := device(t, sim.Forward)
	require.ElementsMatch(t, []string{"row_max_f32", "row_max_f16", "row_max_racy", "tile_product", "divergent", "exits_early", "counts", "prefix", "greedy", "integers", "half_product"},
		sim.Entries(library(t, d)))
	_, err := library(t, d).Pipeline("row_max", nil)
	require.ErrorContains(t, err, "no such function")
}

// TestWhatMetalLacksDoesNotCompile: the shim must refuse what Apple's compiler refuses.
func TestWhatMetalLacksDoesNotCompile(t *testing.T) {
	d := device(t, sim.Forward)
	for name, body := range map[string]string{
		"double":         "kernel void f(device float *x [[buffer(0)]]) { double y = x[0]; x[0] = y; }",
		"log1p":          "kernel void f(device float *x [[buffer(0)]]) { x[0] = log1p(x[0]); }",
		"long long":      "kernel void f(device long *x [[buffer(0)]]) { long long y = x[0]; x[0] = y; }",
		"no space":       "static float g(float *p) { return *p; }\nkernel void f(device float *x [[buffer(0)]]) { x[0] = 1; }",
		"space changed":  "kernel void f(device float *x [[buffer(0)]], threadgroup float *s [[threadgroup(0)]]) { device float *y = s; x[0] = *y; }",
		"mixed sizes":    "kernel void f(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]], uint2 g [[threadgroup_position_in_grid]]) { x[i] = g.x; }",
		"keyword":        "struct args { ulong half; };\nkernel void f(constant args &a [[buffer(0)]], device float *x [[buffer(1)]]) { x[0] = a.half; }",
		"constant write": "kernel void f(constant float &a [[buffer(0)]]) { a = 1; }",
	} {
		_, err := d.NewLibrary("#include <metal_stdlib>\nusing namespace metal;\n" + body)
		require.Error(t, err, name)
	}
	_, err := d.NewLibrary("#include <metal_stdlib>\n#line 7 \"src/thing.h\"\nnonsense;\n")
	require.ErrorContains(t, err, "thing.h:7", "messages point at the file a person edits")
}

func TestLaunchLimits(t *testing.T) {
	d := device(t, sim.Forward)
	l := library(t, d)
	p, err := l.Pipeline("counts", nil)
	require.NoError(t, err)
	q, err := d.NewQueue()
	require.NoError(t, err)
	c, err := q.CommandBuffer()
	require.NoError(t, err)
	for name, dis := range map[string]mtl.Dispatch{
		"empty grid": grid(0, 32), "threads": grid(1, 2048),
		"unaligned": {Groups: mtl.Size{X: 1, Y: 1, Z: 1}, ThreadsGroup: mtl.Size{X: 1, Y: 1, Z: 1}, Dynamic: 8},
	} {
		dis.Pipeline = p
		require.Error(t, c.Dispatch(&dis), name)
	}
}

func TestEventsMustBeSignalledBeforeTheWait(t *testing.T) {
	d := device(t, sim.Forward)
	q, err := d.NewQueue()
	require.NoError(t, err)
	e, err := d.NewEvent()
	require.NoError(t, err)
	run := func(record func(mtl.CommandBuffer) error) error {
		c, err := q.CommandBuffer()
		require.NoError(t, err)
		require.NoError(t, record(c))
		require.NoError(t, c.Commit())
		return c.Wait()
	}
	require.ErrorContains(t, run(func(c mtl.CommandBuffer) error { return c.WaitFor(e, 1) }), "would hang")
	require.NoError(t, run(func(c mtl.CommandBuffer) error { return c.Signal(e, 1) }))
	require.NoError(t, run(func(c mtl.CommandBuffer) error { return c.WaitFor(e, 1) }))
}

// TestPreemption: the scheduler interrupts threads that are on fiber stacks.
func TestPreemption(t *testing.T) {
	d := device(t, sim.Shuffled)
	l := library(t, d)
	b, _ := buffer(t, d, make([]uint32, 64))
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = make([]byte, 1<<14)
				runtime.Gosched()
			}
		}
	}()
	defer close(stop)
	for range 500 {
		require.NoError(t, launch(t, d, l, "prefix", nil, grid(2, 32), b))
	}
}
