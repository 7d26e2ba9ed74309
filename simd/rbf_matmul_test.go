package simd

import (
	"fmt"
	"hash/fnv"
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
)

// rbfOf launches one variant on data of type F.
func rbfOf[F float32 | float64](t *testing.T, s backend.Stream, variant string, x, y, v []F, n, d, m, c int64, gamma float64) []F {
	t.Helper()
	dt := backend.F32
	if unsafe.Sizeof(F(0)) == 8 {
		dt = backend.F64
	}
	a := &kernels.RBFMatmulArgs{X: backend.NewView(upload(t, s, bytesOf(x)), 0, dt, n, d), Y: backend.NewView(upload(t, s, bytesOf(y)), 0, dt, m, d),
		V: backend.NewView(upload(t, s, bytesOf(v)), 0, dt, m, c), O: backend.NewView(upload(t, s, make([]byte, n*c*dt.Size())), 0, dt, n, c), Gamma: gamma}
	require.NoError(t, kernels.RBFMatmul.Launch(s, a, kernel.WithVariant(variant)))
	return Slice[F](&a.O)
}

func asType[F float32 | float64](x []float32) []F {
	r := make([]F, len(x))
	for i, v := range x {
		r[i] = F(v)
	}
	return r
}

// TestRBFByHand: one pair at distance 5, and points that only differences tell apart.
func TestRBFByHand(t *testing.T) {
	for _, l := range Levels() {
		s := openLevel(t, l, 1)
		require.InDelta(t, math.Exp(-2.5)*8, rbfOf(t, s, l.String(), []float64{0, 0}, []float64{3, 4}, []float64{8}, 1, 2, 1, 1, .1)[0], 1e-15)
		require.InDelta(t, math.Exp(-1), float64(rbfOf(t, s, l.String(), []float32{10000}, []float32{10001}, []float32{1}, 1, 1, 1, 1, 1)[0]), 1e-7)
		require.EqualValues(t, 1, rbfOf(t, s, l.String(), []float32{1e20}, []float32{1e20}, []float32{1}, 1, 1, 1, 1, 1e30)[0], "no distance, any scale")
		require.EqualValues(t, 0, rbfOf(t, s, l.String(), []float32{1e20}, []float32{-1e20}, []float32{1}, 1, 1, 1, 1, 1)[0], "a square beyond float32")
		require.EqualValues(t, 2, rbfOf(t, s, l.String(), []float32{1e20}, []float32{-1e20}, []float32{2}, 1, 1, 1, 1, 0)[0], "gamma 0 is flat")
		require.EqualValues(t, 0, rbfOf(t, s, l.String(), []float64{40}, []float64{0}, []float64{1}, 1, 1, 1, 1, 1)[0], "below the smallest float64")
	}
}

// rbfWant is the definition in f64.
func rbfWant[F float32 | float64](x, y, v []F, n, d, m, c int, gamma float64) (o, scale []float64) {
	o, scale = make([]float64, n*c), make([]float64, n*c)
	for i := range n {
		for j := range m {
			u := 0.0
			for k := range d {
				e := float64(x[i*d+k]) - float64(y[j*d+k])
				u += e * e
			}
			for l := range c {
				p := math.Exp(-gamma*u) * float64(v[j*c+l])
				o[i*c+l] += p
				scale[i*c+l] += math.Abs(p) * (1 + gamma*u)
			}
		}
	}
	return o, scale
}

// TestRBFShapes: rows around the quads, columns around panels, tiles and splits, several of each.
func TestRBFShapes(t *testing.T) {
	shapes := [][4]int64{{1, 1, 1, 1}, {3, 2, 31, 2}, {4, 7, 33, 1}, {5, 3, 600, 3}, {9, 64, 100, 17}, {257, 5, 70, 2}, {3, 2, 5000, 2}, {300, 9, 1100, 1}, {2, 700, 40, 1}}
	for _, q := range shapes {
		x, y, v := normals(1, int(q[0]*q[1])), normals(2, int(q[2]*q[1])), normals(3, int(q[2]*q[3]))
		gamma := .3 / float64(q[1])
		for _, l := range Levels() {
			for _, workers := range []int{1, 3} {
				s := openLevel(t, l, workers)
				compareRBF(t, s, l, x, y, v, q, gamma, 0x1p-24)
				compareRBF(t, s, l, asType[float64](x), asType[float64](y), asType[float64](v), q, gamma, 0x1p-53)
			}
		}
	}
}

func compareRBF[F float32 | float64](t *testing.T, s backend.Stream, l Level, x, y, v []F, q [4]int64, gamma, unit float64) {
	t.Helper()
	got := rbfOf(t, s, l.String(), x, y, v, q[0], q[1], q[2], q[3], gamma)
	want, scale := rbfWant(x, y, v, int(q[0]), int(q[1]), int(q[2]), int(q[3]), gamma)
	for i := range got {
		// d roundings of a distance, 5 of a value, 33 additions to a lane, and one at the end.
		require.LessOrEqual(t, math.Abs(float64(got[i])-want[i]), unit*(float64(q[1])+40)*scale[i], "%v %v %T at %d", q, l, got[i], i)
	}
}

// rbfBits are hashes of results for the class of all assembly units, f32 and f64.
var rbfBits = [2]uint64{0xc92709405841ba86, 0xdcceaccd58e03dc5}

// TestRBFBits: neither the level nor the number of workers shows in a result.
func TestRBFBits(t *testing.T) {
	const n, d, m, c = 70, 9, 3000, 3
	x, y, v := normals(1, n*d), normals(2, m*d), normals(3, m*c)
	for _, l := range Levels() {
		var first string
		for _, workers := range []int{1, 2, 5} {
			s := openLevel(t, l, workers)
			var sums [2]uint64
			for i, raw := range [][]byte{
				bytesOf(rbfOf(t, s, l.String(), x, y, v, n, d, m, c, .05)),
				bytesOf(rbfOf(t, s, l.String(), asType[float64](x), asType[float64](y), asType[float64](v), n, d, m, c, .05)),
			} {
				h := fnv.New64a()
				h.Write(raw)
				sums[i] = h.Sum64()
			}
			if first == "" {
				first = fmt.Sprint(sums)
			}
			require.Equal(t, first, fmt.Sprint(sums), "%v with %d workers", l, workers)
			if l != Generic {
				require.Equal(t, rbfBits, sums, "%v %#x", l, sums)
			}
		}
	}
}

// TestRBFWorkspace: scratch does not grow with the product of rows and columns, and never falls as an
// axis grows.
func TestRBFWorkspace(t *testing.T) {
	for _, size := range []int{4, 8} {
		for _, n := range []int64{1, 3, 100, 257, 5000, 1 << 20} {
			last := int64(0)
			for _, m := range []int64{0, 1, 500, 4000, 40000, 1 << 20} {
				s := rbfShapeOf(n, 8, m, 2, size)
				require.LessOrEqual(t, last, s.workspace(), "n %d m %d", n, m)
				require.LessOrEqual(t, s.workspace(), int64(8*2*rbfTilesMost*rbfRowsMost))
				if s.splits > 1 {
					require.LessOrEqual(t, int64(8*s.splits*s.n*s.c), s.workspace(), "n %d m %d", n, m)
				}
				last = s.workspace()
			}
		}
	}
}
