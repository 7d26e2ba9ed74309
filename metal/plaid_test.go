package metal

import (
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"testing/fstest"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/internal/testneed"
	"github.com/likbench/likbench/metal/internal/flatten"
	"github.com/likbench/likbench/metal/internal/sim"
	"github.com/likbench/likbench/metal/mtl"
)

// The arithmetic of plaid/fixed.h and plaid/exact.h, an element at a time.
const arithmeticProbe = `#include "plaid/fixed.h"
kernel void probe(device const float *x [[buffer(0)]], device const long *v [[buffer(1)]], device const int *shift [[buffer(2)]],
                  device long *steps [[buffer(3)]], device float *back [[buffer(4)]], device float *inverse [[buffer(5)]],
                  constant long &n [[buffer(6)]], uint i [[thread_position_in_grid]]) {
  if (i >= n) return;
  int s = steps_shift(shift[i]);
  fixed_sum sum = no_sum();
  if (!add_fixed(sum, x[i], s)) steps[i] = 1;
  else steps[i] = fixed_value(sum);
  back[i] = fixed_score(v[i], s);
  inverse[i] = inverse_norm(add_square(add_square(0, x[i]), 3));
}
`

// probeLibrary compiles a kernel of the test's own over the sources.
func probeLibrary(t *testing.T, d mtl.Device, text string) mtl.Library {
	t.Helper()
	files := fstest.MapFS{"probe/probe.metal": &fstest.MapFile{Data: []byte(text)}}
	require.NoError(t, fs.WalkDir(os.DirFS("src"), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile("src/" + path)
		files[path] = &fstest.MapFile{Data: b}
		return err
	}))
	_, texts, err := flatten.Families(files)
	require.NoError(t, err)
	l, err := d.NewLibrary(string(texts["probe"]))
	require.NoError(t, err)
	return l
}

// deviceSlice is device memory viewed as values.
func deviceSlice[T any](t *testing.T, d mtl.Device, values []T) (mtl.Bound, []T) {
	t.Helper()
	var v T
	b, err := d.NewBuffer(int64(len(values)) * int64(unsafe.Sizeof(v)))
	require.NoError(t, err)
	s := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b.Bytes()))), len(values))
	copy(s, values)
	return mtl.Bound{Buffer: b}, s
}

// arithmeticInputs are floats, counts and shifts: every kind of each with every other, then random bits.
func arithmeticInputs() (x []float32, v []int64, shift []int32) {
	floats := []float32{0, float32(math.Copysign(0, -1)), 1, -1.5, 0x1p-149, -0x1.8p-127, 0x1p-126, math.MaxFloat32, .5, 2.5, 0x1.fffffep61, 0x1p62,
		float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}
	counts := []int64{0, 1, -1, 1<<24 - 1, 1<<24 + 1, 1<<25 + 2, 1<<25 + 6, 1<<62 - 1, -1<<62 + 1, math.MaxInt64 - 1, math.MaxInt64, math.MinInt64, math.MinInt64 + 1, 1<<60 + 1<<36, 1<<60 + 1<<36 + 1}
	shifts := []int32{0, 1, -1, 24, 40, 62, 100, 126, 149, 150, 173, 211, 212, -62, -64, -65, -127, -150, 1000, -1000, math.MaxInt32, math.MinInt32}
	for i := range floats {
		for _, s := range shifts {
			x, v, shift = append(x, floats[i]), append(v, counts[i]), append(shift, s)
		}
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 50000 {
		x = append(x, math.Float32frombits(r.Uint32()))
		v = append(v, int64(r.Uint64())>>r.IntN(64))
		shift = append(shift, int32(r.IntN(500)-250))
	}
	return x, v, shift
}

// wantSteps is x·2^shift rounded half to even, 1 where it is 2^62 or more.
func wantSteps(x float32, shift int) int64 {
	steps := math.Ldexp(float64(x), shift)
	switch {
	case x != x:
		return math.MinInt64
	case math.IsInf(float64(x), 1):
		return math.MaxInt64
	case math.IsInf(float64(x), -1):
		return math.MinInt64 + 1
	case math.Abs(steps) >= 0x1p62:
		return 1
	}
	return int64(math.RoundToEven(steps))
}

func wantScore(v int64, shift int) float32 {
	switch v {
	case math.MinInt64:
		return float32(math.NaN())
	case math.MaxInt64:
		return float32(math.Inf(1))
	case math.MinInt64 + 1:
		return float32(math.Inf(-1))
	}
	return float32(math.Ldexp(float64(float32(v)), -shift))
}

// TestFixedPointArithmetic holds integer arithmetic on the bits of floats against Go's float64.
func TestFixedPointArithmetic(t *testing.T) {
	if err := sim.Available(); err != nil {
		testneed.Skip(t, "clang", err.Error())
	}
	drv, err := sim.New(sim.Config{})
	require.NoError(t, err)
	d, err := drv.Default()
	require.NoError(t, err)
	p, err := probeLibrary(t, d, arithmeticProbe).Pipeline("probe", nil)
	require.NoError(t, err)
	x, v, shift := arithmeticInputs()
	n := len(x)
	bx, _ := deviceSlice(t, d, x)
	bv, _ := deviceSlice(t, d, v)
	bs, _ := deviceSlice(t, d, shift)
	bsteps, steps := deviceSlice(t, d, make([]int64, n))
	bback, back := deviceSlice(t, d, make([]float32, n))
	binverse, inverse := deviceSlice(t, d, make([]float32, n))
	count := int64(n)
	q, err := d.NewQueue()
	require.NoError(t, err)
	c, err := q.CommandBuffer()
	require.NoError(t, err)
	require.NoError(t, c.Dispatch(&mtl.Dispatch{Pipeline: p, Buffers: []mtl.Bound{bx, bv, bs, bsteps, bback, binverse}, Bytes: unsafe.Slice((*byte)(unsafe.Pointer(&count)), 8),
		Groups: mtl.Size{X: uint64(CeilDiv(count, 32)), Y: 1, Z: 1}, ThreadsGroup: mtl.Size{X: 32, Y: 1, Z: 1}}))
	require.NoError(t, c.Commit())
	require.NoError(t, c.Wait())
	bits := func(f float32) uint32 {
		if f != f {
			return 0x7fc00000
		}
		return math.Float32bits(f)
	}
	for i := range x {
		s := int(shift[i])
		if want := wantSteps(x[i], s); want != steps[i] {
			require.Equal(t, want, steps[i], "%v·2^%d", x[i], s)
		}
		if want := wantScore(v[i], s); bits(want) != math.Float32bits(back[i]) {
			require.Equal(t, want, back[i], "%d·2^-%d", v[i], s)
		}
		sum := float32(x[i]*x[i]) + 9
		if want := 1 / max(float32(math.Sqrt(float64(sum))), 1e-12); bits(want) != math.Float32bits(inverse[i]) {
			require.Equal(t, want, inverse[i], "inverse norm of (%v, 3)", x[i])
		}
	}
}
