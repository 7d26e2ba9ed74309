package plaid

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/backend/num"
	"github.com/likbench/likbench/plaid/codec"
	"github.com/likbench/likbench/plaid/format"
	"github.com/likbench/likbench/simd"
)

// Slacks and bounds hold on vectors that nearly reach them, so that they can be neither left
// out nor made much smaller.

// alone is an index with one token to a cell, and the tokens as they are decoded.
type alone struct {
	ix      *Index
	src     format.Source
	decoded [][]float32
	inv     []float32 // 1 where tokens are not normalised
	half    *codec.Decoder
	rows    [][]byte
}

func newAlone(t *testing.T, screen Screen, centroids []float32, d int, weights []float32, buckets [][]uint8, normalized bool) *alone {
	k, bits := len(buckets), int(math.Log2(float64(len(weights))))
	m := &format.Memory{Components: d, Width: bits, Cells: centroids, DocumentOffsets: []int64{0}, Average: make([]float32, d)}
	m.Table = codec.Table{Bits: bits, Cutoffs: make([]float32, len(weights)-1), Weights: weights}
	for i := range m.Table.Cutoffs {
		m.Table.Cutoffs[i] = (weights[i] + weights[i+1]) / 2
	}
	a := &alone{}
	dec, err := codec.NewDecoder(centroids, d, bits, weights)
	require.NoError(t, err)
	for c, b := range buckets {
		row, v, inv := make([]byte, d*bits/8), make([]float32, d), float32(1)
		require.NoError(t, codec.Pack(row, b, bits))
		decode := dec.Raw
		if normalized {
			decode = dec.Token
			inv, err = dec.InvNorm(v, int64(c), row)
			require.NoError(t, err)
		}
		require.NoError(t, decode(v, int64(c), row))
		a.decoded, a.inv, a.rows = append(a.decoded, v), append(a.inv, inv), append(a.rows, row)
		m.TokenCodes, m.Residuals = append(m.TokenCodes, int32(c)), append(m.Residuals, row...)
		m.DocumentOffsets = append(m.DocumentOffsets, int64(c+1))
	}
	halves := make([]float32, len(centroids))
	for i, x := range centroids {
		halves[i] = num.F16ToFloat32(num.F16FromFloat32(x))
	}
	a.half, err = codec.NewDecoder(halves, d, bits, weights)
	require.NoError(t, err)
	dev, err := host.Backend{}.Open(0)
	require.NoError(t, err)
	a.src = asTheyAre{m, normalized}
	a.ix, err = Load(dev, a.src, LoadOptions{Screen: screen})
	require.NoError(t, err)
	require.Equal(t, k, a.ix.k)
	_, err = a.ix.chooseScreen()
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, a.ix.Close())
		require.NoError(t, dev.Close())
	})
	return a
}

// asTheyAre says whether vectors are normalised.
type asTheyAre struct {
	*format.Memory
	normalized bool
}

func (m asTheyAre) Normalized() bool { return m.normalized }

func same[T any](n int, x T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = x
	}
	return out
}

// int8Error is the difference of the integer screen's product with token c from the canonical
// one, in terms of the bound that quantize states for q.
func (a *alone) int8Error(c int, q []float32, buckets []uint8) float64 {
	var unit float32
	small := make([]int8, len(q))
	bound := a.ix.quantize(small, &unit, q)
	dot := int64(0)
	for i, x := range small {
		dot += int64(x) * int64(a.ix.screens.small[buckets[i]])
	}
	d := a.ix.dim
	got := canon.FMA(float32(dot), unit, canon.Dot(q, a.ix.centroids[c*d:(c+1)*d])) * a.inv[c]
	return math.Abs(float64(got)-float64(canon.Dot(q, a.decoded[c]))) / bound
}

func TestInt8Slack(t *testing.T) {
	const d = 64
	for _, normalized := range []bool{false, true} {
		// Components of the query lie just below the middle of two steps, weights on steps.
		up, c := same(d, uint8(1)), same(d, float32(-1.0/16))
		a := newAlone(t, ScreenInt8, c, d, []float32{-.125, .125}, [][]uint8{up}, normalized)
		q := same(d, float32(5.484375))
		q[9] = 127
		ratio := a.int8Error(0, q, up)
		require.LessOrEqual(t, ratio, 1.0, "query rounded, normalized %v", normalized)
		require.Greater(t, ratio, .95)

		// The query lies on steps, weights just below the middle of two.
		a = newAlone(t, ScreenInt8, c, d, []float32{-.125, .125 * 5.484375 / 127, .0625, .125}, [][]uint8{up}, normalized)
		ratio = a.int8Error(0, same(d, float32(3)), up)
		require.LessOrEqual(t, ratio, 1.0, "weights rounded, normalized %v", normalized)
		require.Greater(t, ratio, .95)

		// Both lie on steps: what is left is float32.
		r, worst := rand.New(rand.NewPCG(1, 2)), 0.0
		for i := range c {
			c[i] = float32(r.NormFloat64())
		}
		a = newAlone(t, ScreenInt8, c, d, []float32{-127.0 / 1024, 127.0 / 1024}, [][]uint8{up}, normalized)
		for range 20 {
			for i := range q {
				q[i] = float32(r.IntN(255) - 127)
			}
			q[r.IntN(d)] = 127
			worst = max(worst, a.int8Error(0, q, up))
		}
		require.LessOrEqual(t, worst, 1.0)
		require.Greater(t, worst, 1e-5, "roundings of float32 are seen")
	}
}

// Every component of query, centroid and rebuilt vector loses half a place of float16.
func TestHalfSlack(t *testing.T) {
	const d, more = 256, 1 + 0x1p-11
	up := same(d, uint8(1))
	for _, c := range []float32{0x1p-4, 0x1p-4 * more} {
		a := newAlone(t, ScreenF16, same(d, c), d, []float32{-0x1p-15, 0x1p-15}, [][]uint8{up}, false)
		require.Equal(t, c == 0x1p-4, a.ix.screens.halfExact)
		q, halves, v := same(d, float32(more)), make([]float32, d), make([]float32, d)
		for i, x := range q {
			halves[i] = num.F16ToFloat32(num.F16FromFloat32(x))
		}
		require.NoError(t, a.half.Half(v, 0, a.rows[0]))
		lost := math.Abs(float64(canon.Dot(halves, v)) - float64(canon.Dot(q, a.decoded[0])))
		slack := a.ix.halfSlack(1, canon.Norm(q))
		require.LessOrEqual(t, lost, slack)
		require.Greater(t, lost, .9*slack)
	}
}

// Every addition after the first rounds by nearly half a place, in one direction.
func TestSumSlack(t *testing.T) {
	for _, n := range []int{2, 17, 200} {
		const most = 1 + 0x1p-12
		var sum float32
		exact := 0.0
		for range n {
			x := float32(1)
			if next := math.Nextafter32(sum, 1e9) - sum; n > 2 && sum >= 2 && sum < 2048 {
				x += .49 * next
			} else if n == 2 && sum > 0 {
				x = 0x1p-24 * .99 // a small addend is lost
			}
			require.LessOrEqual(t, float64(x), most)
			sum, exact = sum+x, exact+float64(x)
		}
		lost := math.Abs(float64(sum) - exact)
		require.Positive(t, lost, n)
		require.LessOrEqual(t, lost, sumSlack(n, 1, most), n)
	}
}

// The bound of a cell with one token is all but its product with a query token that points
// from the centroid to it, and no less.
func TestCellBoundsAreReached(t *testing.T) {
	const d, k = 64, 40
	r := rand.New(rand.NewPCG(3, 4))
	weights := make([]float32, 16)
	for i := range weights {
		weights[i] = (float32(i) - 7.5) / 32
	}
	for _, x := range []struct {
		normalized bool
		scale      float32 // of the centroids: what is rounded is long, or the other
	}{{false, 1}, {true, 1}, {false, 0x1p-10}, {true, 0x1p-10}, {true, 0x1p10}} {
		centroids, buckets := make([]float32, k*d), make([][]uint8, k)
		for c := range k {
			g, b := make([]float64, d), make([]uint8, d)
			along, ww := 0.0, 0.0
			for i := range g {
				b[i] = uint8(r.IntN(16))
				w := float64(weights[b[i]])
				g[i] = r.NormFloat64()
				along, ww = along+g[i]*w, ww+w*w
			}
			if c%2 > 0 {
				along = 0 // anywhere
			}
			for i := range g { // else at right angles to their residuals: products are sums that cancel
				w := float64(weights[b[i]])
				centroids[c*d+i] = x.scale * float32(g[i]-(along/ww+1)*w)
			}
			buckets[c] = b
		}
		a := newAlone(t, ScreenInt8, centroids, d, weights, buckets, x.normalized)
		require.NoError(t, a.ix.measure())
		for c, v := range a.decoded {
			q, s, dots := make([]float32, d), make([]float32, k), make([]float32, k)
			for i := range q {
				q[i] = v[i] - centroids[c*d+i]
			}
			for j := range k {
				s[j], dots[j] = canon.Dot(q, centroids[j*d:(j+1)*d]), canon.Dot(q, a.decoded[j])
			}
			a.ix.boundCells(s, q)
			for j := range k {
				require.GreaterOrEqual(t, s[j], dots[j], "cell %d, query along %d, %+v", j, c, x)
			}
			if x.scale == 1 {
				require.InDelta(t, dots[c], s[c], 1e-4*canon.Norm(q)*a.ix.tokenNorm, "cell %d, %+v", c, x)
			}
		}
	}
}

// A query token that points all but away from a centroid: how far it does not is lost where its
// score is rounded, and counts by its square root.
func TestCellBoundsNearOpposites(t *testing.T) {
	const d = 64
	r := rand.New(rand.NewPCG(5, 6))
	up := same(d, uint8(1))
	for range 20 {
		c, q := make([]float32, d), make([]float32, d)
		for i := range c { // v = c + 1/8 of ones
			c[i] = float32(r.NormFloat64()) / 8
		}
		a := newAlone(t, ScreenNone, c, d, []float32{-.125, .125}, [][]uint8{up}, true)
		require.NoError(t, a.ix.measure())
		v := a.decoded[0]
		along := float64(canon.Dot(v, c)) / (canon.Norm(c) * canon.Norm(c))
		for i := range q {
			q[i] = -c[i] + 3e-5*(v[i]-float32(along)*c[i])
		}
		x := []float32{canon.Dot(q, c)}
		a.ix.boundCells(x, q)
		require.GreaterOrEqual(t, x[0], canon.Dot(q, v))
	}
}

// A query token that points away from a cell meets the shortest token of it best.
func TestCellBoundOfOpposites(t *testing.T) {
	r := radius{ball: 1, cos: 1, lo: .5, hi: 2, norm: 1} // the centroid's half and double
	require.InDelta(t, -.5, r.bound(-1, 1, 0), 1e-15)
	require.InDelta(t, 2, r.bound(1, 1, 0), 1e-15)
	require.GreaterOrEqual(t, r.bound(-1, 1, 1e-6), -.5)
}

// Addends of a score round to steps, up to half of one: where the query has millions of tokens,
// all but one of them small, that is more than all else by which a bound is larger.
func TestBoundsOfManyTokens(t *testing.T) {
	const n, d = 5 << 19, 8
	c := make([]float32, 2*d)
	c[0], c[d+1] = 1./16, 1 // the second is why scores have steps so large
	a := newAlone(t, ScreenNone, c, d, []float32{0, 0x1p-40}, [][]uint8{same(d, uint8(0)), same(d, uint8(0))}, false)
	dev, err := simd.New().Open(0)
	require.NoError(t, err)
	ix, err := Load(dev, a.src, LoadOptions{Screen: ScreenNone})
	require.NoError(t, err)
	s, err := ix.NewSearcher()
	require.NoError(t, err)
	defer func() { require.NoError(t, errors.Join(s.Close(), ix.Close(), dev.Close())) }()
	require.NoError(t, ix.measure())
	require.NoError(t, s.sel.choose(ix, nil))
	const step = 0x1p-39
	q := make([]float32, n*d)
	for i := range n {
		q[i*d] = 16 * (.5 + 0x1p-20) * step
	}
	q[0] = 1 - 0x1p-18 + 0x1p-23 // a product might be more than 1
	s.norms = []float64{float64(q[0])}
	o := call{queries: Tokens{Vectors: q, Offsets: []int64{0, n}, Dim: d}, k: 1, o: &SearchOptions{}, plans: []plan{{method: MethodBounds}}}
	bounds, slack, err := s.startBounds(t.Context(), &o, 0)
	require.NoError(t, err)
	s.picked.Reset(1)
	require.NoError(t, s.score([]int32{0}))
	score := s.least(s.run.scales[0])
	require.Equal(t, float64(q[0])/16+(n-1)*step, score, "rounded up")
	require.True(t, reaches(bounds[0], slack, score), "bound %v, slack %v, score %v", bounds[0], slack, score)
	require.False(t, reaches(bounds[0], 0, score), "bound %v, score %v: the slack is for this", bounds[0], score)
}
