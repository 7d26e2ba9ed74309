package canon

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// vectors fills n values: unit-like, or with special values among them.
func vectors(r *rand.Rand, n int, hostile bool) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
		if hostile && r.IntN(8) == 0 {
			x[i] = special[r.IntN(len(special))]
		}
		if hostile && r.IntN(4) == 0 {
			x[i] *= float32(math.Ldexp(1, r.IntN(200)-100))
		}
	}
	return x
}

func requireSameBits(t *testing.T, want, got []float32, what string) {
	t.Helper()
	require.Equal(t, len(want), len(got), what)
	for i := range want {
		if math.Float32bits(want[i]) != math.Float32bits(got[i]) {
			t.Fatalf("%s: element %d: want %x, got %x", what, i, want[i], got[i])
		}
	}
}

func TestDotByHand(t *testing.T) {
	require.Equal(t, float32(32), Dot([]float32{1, 2, 3}, []float32{4, 5, 6}))
	require.Equal(t, uint32(0), math.Float32bits(Dot(nil, nil)))
	// The chain starts at +0, so a product that is −0 does not show.
	require.Equal(t, uint32(0), math.Float32bits(Dot([]float32{-1}, []float32{0})))
	// Fused and ascending: 2^24 + 1 is a tie that goes to 2^24, so the ones vanish one
	// at a time, where any pairing of them would not lose them.
	require.Equal(t, float32(1<<24), Dot([]float32{1 << 24, 1, 1, 1, 1}, []float32{1, 1, 1, 1, 1}))
	require.Equal(t, float32(1<<24+4), Dot([]float32{1, 1, 1, 1, 1 << 24}, []float32{1, 1, 1, 1, 1}))
	// (1+u)² − 1 keeps the square's last bit only without rounding in between.
	u := float32(0x1p-23)
	require.Equal(t, float32(0x1p-22+0x1p-46), Dot([]float32{-1, 1 + u}, []float32{1, 1 + u}))
	require.Equal(t, uint32(0x7fc00000), math.Float32bits(Dot([]float32{0}, []float32{float32(math.Inf(1))})))
	// A product beyond float32 is harmless where the sum is not; a prefix is not.
	require.Equal(t, float32(-math.MaxFloat32), Dot([]float32{math.MaxFloat32, -2}, []float32{1, math.MaxFloat32}))
	require.Equal(t, float32(math.Inf(1)), Dot([]float32{math.MaxFloat32, math.MaxFloat32, -1}, []float32{1, 1, math.MaxFloat32}))
}

func TestDotEqualsTheEmulatedChain(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 2, 7, 8, 31, 128, 333} {
		for i := range 40 {
			q, d := vectors(r, n, i%2 == 1), vectors(r, n, i%4 == 1)
			requireSameBits(t, []float32{quiet(chainGeneric(q, d))}, []float32{Dot(q, d)}, fmt.Sprint(n))
		}
	}
}

func TestMatrixEqualsDot(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, nq := range []int{0, 1, 3, 4, 5, chunk, chunk + 1} {
		for _, n := range []int{0, 1, 7, 8, 9, 15, lanes, lanes + 1, 2*lanes + 9} {
			for _, dim := range []int{1, 7, 8, 96, depth - 1, depth, depth + 1, depth + 16} {
				if nq > 5 && dim > 96 && n > lanes {
					continue // adds time, and no path
				}
				// Operands end where their slices do, so a read beyond shows under -race
				// or by a NaN that is placed there.
				hostile := nq%2 == 1
				q, rows := guarded(vectors(r, nq*dim, hostile)), guarded(vectors(r, n*dim, hostile))
				got := guarded(make([]float32, nq*n))
				Matrix(got, q, nq, rows, n, dim)
				var want []float32
				for i := range nq {
					for j := range n {
						want = append(want, quiet(chainGeneric(q[i*dim:(i+1)*dim], rows[j*dim:(j+1)*dim])))
					}
				}
				what := fmt.Sprintf("%d queries, %d rows, %d components", nq, n, dim)
				requireSameBits(t, want, got, what)
				require.Equal(t, guardBits, math.Float32bits(got[:len(got)+1][len(got)]), what)
				if nq > 0 {
					one := make([]float32, n)
					Dots(one, q[:dim], rows, dim)
					requireSameBits(t, want[:n], one, what)
				}
			}
		}
	}
}

const guardBits = uint32(0xffabcdef) // a NaN

// guarded returns a copy of x at an odd multiple of 4 bytes, followed by a NaN.
func guarded(x []float32) []float32 {
	c := make([]float32, len(x)+2)
	copy(c[1:], x)
	c[len(c)-1] = math.Float32frombits(guardBits)
	return c[1 : len(c)-1]
}

// Rows are independent: cutting, repeating or moving them changes no bit.
func TestMatrixDoesNotDependOnNeighbours(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	const n, dim = 45, 100
	q, rows := vectors(r, dim, false), vectors(r, n*dim, false)
	whole := make([]float32, n)
	Dots(whole, q, rows, dim)
	for _, size := range []int{1, 5, 16, 17} {
		for from := 0; from < n; from += size {
			to := min(from+size, n)
			part := make([]float32, to-from)
			Dots(part, q, rows[from*dim:to*dim], dim)
			requireSameBits(t, whole[from:to], part, fmt.Sprint(size, from))
		}
	}
}

func TestTileEqualsGeneric(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, k := range []int{0, 1, 2, 9, 64} {
		for range 20 {
			acc := vectors(r, group*lanes, true)
			want := slices.Clone(acc)
			q, panel := vectors(r, 4*k+4, true), vectors(r, k*lanes+1, true)
			tile(&acc[0], &q[0], &q[k], &q[2*k], &q[3*k], &panel[0], k)
			tileGeneric(&want[0], &q[0], &q[k], &q[2*k], &q[3*k], &panel[0], k)
			for i := range acc {
				require.True(t, sameBits(want[i], acc[i]), "chain %d of %d steps: want %x, got %x", i, k, want[i], acc[i])
			}
		}
	}
}

func TestDotsDoNotAllocate(t *testing.T) {
	q, rows, dst := make([]float32, 200), make([]float32, 20*200), make([]float32, 20)
	require.Zero(t, testing.AllocsPerRun(10, func() { Dots(dst, q, rows, 200) }))
}

func FuzzDots(f *testing.F) {
	f.Add(uint64(1), uint8(3), uint8(17), uint16(130), true)
	f.Add(uint64(2), uint8(1), uint8(16), uint16(8), false)
	f.Fuzz(func(t *testing.T, seed uint64, nq, n uint8, dim uint16, hostile bool) {
		r := rand.New(rand.NewPCG(seed, 0))
		a, b, d := int(nq%9), int(n%40), int(dim%300)
		q, rows := vectors(r, a*d, hostile), vectors(r, b*d, hostile)
		got, want := make([]float32, a*b), make([]float32, 0, a*b)
		Matrix(got, q, a, rows, b, d)
		for i := range a {
			for j := range b {
				want = append(want, quiet(chainGeneric(q[i*d:(i+1)*d], rows[j*d:(j+1)*d])))
			}
		}
		requireSameBits(t, want, got, fmt.Sprint(seed, a, b, d))
	})
}

func BenchmarkDots(b *testing.B) {
	const dim = 128
	r := rand.New(rand.NewPCG(1, 1))
	for _, shape := range []struct{ nq, n int }{{1, 1000}, {32, 1000}, {256, 1024}} {
		q, rows := vectors(r, shape.nq*dim, false), vectors(r, shape.n*dim, false)
		dst := make([]float32, shape.nq*shape.n)
		b.Run(fmt.Sprintf("%dx%dx%d", shape.nq, shape.n, dim), func(b *testing.B) {
			for b.Loop() {
				Matrix(dst, q, shape.nq, rows, shape.n, dim)
			}
			flop := 2 * float64(shape.nq) * float64(shape.n) * dim
			b.ReportMetric(flop*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
	q, d := vectors(r, dim, false), vectors(r, dim, false)
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			Dot(q, d)
		}
	})
	b.Run("emulated", func(b *testing.B) {
		for b.Loop() {
			chainGeneric(q, d)
		}
	})
}
