package plaid_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/plaid"
	"github.com/likbench/likbench/simd"
)

func open(t testing.TB, b backend.Backend) backend.Device {
	d, err := b.Open(0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// tokens draws sequences of these lengths.
func tokens(seed uint64, dim int, lens ...int64) plaid.Tokens {
	r := rand.New(rand.NewPCG(seed, 0))
	t := plaid.Tokens{Offsets: []int64{0}, Dim: dim}
	for _, n := range lens {
		t.Offsets = append(t.Offsets, t.Offsets[len(t.Offsets)-1]+n)
		for range n * int64(dim) {
			t.Vectors = append(t.Vectors, r.Float32()-.5)
		}
	}
	return t
}

// maxSim is the definition, in float64.
func maxSim(q, d plaid.Tokens, i, j int) float64 {
	var sum float64
	for t := q.Offsets[i]; t < q.Offsets[i+1]; t++ {
		best := math.Inf(-1)
		for u := d.Offsets[j]; u < d.Offsets[j+1]; u++ {
			var x float64
			for k := range int64(q.Dim) {
				x += float64(q.Vectors[t*int64(q.Dim)+k]) * float64(d.Vectors[u*int64(d.Dim)+k])
			}
			best = max(best, x)
		}
		sum += best
	}
	return sum
}

func backends() map[string]backend.Backend {
	return map[string]backend.Backend{"host": host.Backend{}, "simd": simd.New()}
}

func TestScoreAndTopK(t *testing.T) {
	docs, q := tokens(1, 24, 9, 0, 30, 1, 17), tokens(2, 24, 5, 8)
	for name, b := range backends() {
		t.Run(name, func(t *testing.T) {
			c, err := plaid.NewCorpus(open(t, b), docs, plaid.Options{})
			require.NoError(t, err)
			require.Equal(t, 5, c.Len())
			require.EqualValues(t, 57, c.Tokens())
			s, err := c.NewScorer(plaid.Limits{Queries: 2, Tokens: 16, K: 10})
			require.NoError(t, err)
			got := make([]float32, 10)
			require.NoError(t, s.Score(q, got))
			for i := range 2 {
				for j := range 5 {
					if j == 1 {
						require.True(t, math.IsInf(float64(got[i*5+j]), -1), "an empty document scores −∞")
						continue
					}
					require.InDelta(t, maxSim(q, docs, i, j), got[i*5+j], 1e-4)
				}
			}
			ids, scores := make([]int32, 10), make([]float32, 10)
			require.NoError(t, s.TopK(q, 5, ids, scores))
			for i := range 2 {
				require.EqualValues(t, 1, ids[i*5+4], "the empty document is last")
				for j := range 4 {
					require.GreaterOrEqual(t, scores[i*5+j], scores[i*5+j+1])
					require.Equal(t, got[i*5+int(ids[i*5+j])], scores[i*5+j])
				}
			}
			require.NoError(t, s.Close())
			require.ErrorIs(t, s.Close(), backend.ErrClosed)
			require.ErrorIs(t, s.Score(q, got), backend.ErrClosed)
			require.NoError(t, c.Close())
			require.ErrorIs(t, c.Close(), backend.ErrClosed)
		})
	}
}

func TestBFloat16RoundsOnce(t *testing.T) {
	docs, q := tokens(1, 32, 9, 30), tokens(2, 32, 5)
	c, err := plaid.NewCorpus(open(t, simd.New()), docs, plaid.Options{DType: backend.BF16})
	require.NoError(t, err)
	s, err := c.NewScorer(plaid.Limits{Queries: 1, Tokens: 5})
	require.NoError(t, err)
	got := make([]float32, 2)
	require.NoError(t, s.Score(q, got))
	for j := range 2 {
		want := maxSim(q, docs, 0, j)
		require.InDelta(t, want, got[j], 0x1p-7*5*math.Abs(want)+.05)
		require.NotEqual(t, float32(want), got[j], "bf16 does round")
	}
	require.NoError(t, s.Close())
	require.NoError(t, c.Close())
}

func TestScorersRunConcurrently(t *testing.T) {
	docs, q := tokens(3, 16, 9, 30, 12, 40), tokens(4, 16, 7)
	c, err := plaid.NewCorpus(open(t, simd.New()), docs, plaid.Options{})
	require.NoError(t, err)
	var wg sync.WaitGroup
	out := make([][]float32, 4)
	for g := range out {
		out[g] = make([]float32, 4)
		wg.Go(func() {
			s, err := c.NewScorer(plaid.Limits{Queries: 1, Tokens: 7})
			if err == nil {
				err = s.Score(q, out[g])
			}
			if err == nil {
				err = s.Close()
			}
			require.NoError(t, err)
		})
	}
	wg.Wait()
	for _, o := range out[1:] {
		require.Equal(t, out[0], o)
	}
	require.NoError(t, c.Close())
}

func TestScoringAllocatesNothing(t *testing.T) {
	docs, q := tokens(3, 64, 90, 30, 120), tokens(4, 64, 7)
	for _, dt := range []backend.DType{backend.F32, backend.BF16} {
		c, err := plaid.NewCorpus(open(t, simd.New()), docs, plaid.Options{DType: dt})
		require.NoError(t, err)
		s, err := c.NewScorer(plaid.Limits{Queries: 1, Tokens: 7, K: 2})
		require.NoError(t, err)
		ids, scores := make([]int32, 2), make([]float32, 2)
		n := testing.AllocsPerRun(100, func() {
			if err := s.TopK(q, 2, ids, scores); err != nil {
				panic(err)
			}
		})
		require.Zero(t, n, "%s", dt)
		require.NoError(t, s.Close())
		require.NoError(t, c.Close())
	}
}

// Closing the corpus first is answered, not served with what the memory holds by then.
func TestUseAfterClose(t *testing.T) {
	for name, b := range backends() {
		t.Run(name, func(t *testing.T) {
			c, err := plaid.NewCorpus(open(t, b), tokens(1, 4, 2, 3), plaid.Options{})
			require.NoError(t, err)
			s, err := c.NewScorer(plaid.Limits{Queries: 1, Tokens: 2, K: 2})
			require.NoError(t, err)
			require.EqualValues(t, 5*4*4+3*8, c.Bytes())
			require.NoError(t, c.Close())
			require.Zero(t, c.Bytes())
			require.EqualError(t, s.Score(tokens(2, 4, 2), make([]float32, 2)), "plaid: corpus: used after close")
			require.ErrorIs(t, s.TopK(tokens(2, 4, 2), 1, make([]int32, 1), make([]float32, 1)), backend.ErrClosed)
			_, err = c.NewScorer(plaid.Limits{Queries: 1, Tokens: 2})
			require.ErrorIs(t, err, backend.ErrClosed)
			require.NoError(t, s.Close())
			require.EqualError(t, s.Close(), "plaid: scorer: used after close")
		})
	}
}

// Limits that no memory holds are an error in either dtype, and leave nothing behind.
func TestLimitsBeyondMemory(t *testing.T) {
	for name, b := range backends() {
		for _, dt := range []backend.DType{backend.F32, backend.BF16} {
			t.Run(name+"/"+dt.String(), func(t *testing.T) {
				d := open(t, b)
				c, err := plaid.NewCorpus(d, tokens(1, 4, 2, 3), plaid.Options{DType: dt})
				require.NoError(t, err)
				for _, n := range []int{1 << 44, 1 << 57, 1 << 59, 1 << 60, 1 << 61, 1 << 62, math.MaxInt} {
					for _, l := range []plaid.Limits{{Queries: n, Tokens: 1, K: 1}, {Queries: 1, Tokens: n}} {
						_, err := c.NewScorer(l)
						var refused *backend.AllocError
						if !errors.As(err, &refused) {
							require.ErrorIs(t, err, backend.ErrArgument, "%+v", l)
							require.ErrorContains(t, err, "more than can be addressed")
						}
					}
				}
				require.Equal(t, c.Bytes(), d.Memory().Live)
				require.NoError(t, c.Close())
			})
		}
	}
}

// Conversion goes in pieces: what lies beyond the first is not the first again.
func TestBFloat16InPieces(t *testing.T) {
	const dim, rows = 1 << 16, 40
	docs := plaid.Tokens{Vectors: make([]float32, dim*rows), Offsets: []int64{0}, Dim: dim}
	for i := range rows {
		docs.Vectors[i*dim] = float32(i)
		docs.Offsets = append(docs.Offsets, int64(i+1))
	}
	c, err := plaid.NewCorpus(open(t, simd.New()), docs, plaid.Options{DType: backend.BF16})
	require.NoError(t, err)
	s, err := c.NewScorer(plaid.Limits{Queries: rows, Tokens: rows})
	require.NoError(t, err)
	got := make([]float32, rows*rows)
	require.NoError(t, s.Score(docs, got))
	for i := range rows {
		for j := range rows {
			require.EqualValues(t, i*j, got[i*rows+j])
		}
	}
	require.NoError(t, s.Close())
	require.NoError(t, c.Close())
}

func TestBadInput(t *testing.T) {
	d := open(t, host.Backend{})
	good := tokens(1, 4, 2, 3)
	for _, c := range []struct {
		change func(*plaid.Tokens)
		text   string
	}{
		{func(x *plaid.Tokens) { x.Dim = 0 }, "plaid: documents: dimension 0, at least 1"},
		{func(x *plaid.Tokens) { x.Dim = 3 }, "plaid: documents: 20 components are no whole tokens of 3"},
		{func(x *plaid.Tokens) { x.Offsets = nil }, "entry 0: no entries"},
		{func(x *plaid.Tokens) { x.Offsets = []int64{0, 4, 3} }, "entry 2: is less than the entry before"},
		{func(x *plaid.Tokens) { x.Offsets = []int64{0, 2, 6} }, "plaid: documents: offsets end at 6, but there are 5 tokens"},
	} {
		bad := good
		c.change(&bad)
		_, err := plaid.NewCorpus(d, bad, plaid.Options{})
		require.ErrorIs(t, err, backend.ErrArgument)
		require.ErrorContains(t, err, c.text)
	}
	_, err := plaid.NewCorpus(d, good, plaid.Options{DType: backend.I8})
	require.ErrorIs(t, err, backend.ErrUnsupported)
	c, err := plaid.NewCorpus(d, good, plaid.Options{})
	require.NoError(t, err)
	_, err = c.NewScorer(plaid.Limits{})
	require.ErrorIs(t, err, backend.ErrArgument)
	s, err := c.NewScorer(plaid.Limits{Queries: 1, Tokens: 2, K: 2})
	require.NoError(t, err)
	q := tokens(2, 4, 2)
	require.ErrorContains(t, s.Score(q, make([]float32, 1)), "need 2 elements, got 1")
	require.ErrorContains(t, s.TopK(q, 3, nil, nil), "k is 3, want 1 to 2")
	require.ErrorContains(t, s.Score(tokens(2, 5, 2), nil), "queries have 5 components, documents 4")
	require.ErrorContains(t, s.Score(tokens(2, 4, 3), nil), "1 queries of 3 tokens, the scorer takes 1 of 2")
	require.NoError(t, s.Close())
	require.NoError(t, c.Close())
}
