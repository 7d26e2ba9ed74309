package plaid_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/plaid"
	"github.com/likbench/likbench/plaid/format"
)

// narrow makes documents of few topics whose tokens are near the centroids of their cells.
func narrow(seed uint64, dim, n int, spread float32) plaid.Tokens {
	r := rand.New(rand.NewPCG(seed, 1))
	t := plaid.Tokens{Offsets: []int64{0}, Dim: dim}
	topics := make([][]float32, 12)
	for i := range topics {
		topics[i] = unitVector(r, dim, nil)
	}
	for range n {
		a, b := r.IntN(12), r.IntN(12)
		for range 2 + r.IntN(5) {
			v, topic := make([]float32, dim), topics[[2]int{a, b}[r.IntN(2)]]
			for j := range v {
				v[j] = topic[j] + spread*float32(r.NormFloat64())
			}
			canon.Normalize(v, v)
			t.Vectors = append(t.Vectors, v...)
		}
		t.Offsets = append(t.Offsets, int64(len(t.Vectors)/dim))
	}
	return t
}

// TestExactPrunesWithProof: with cells that are narrow most documents are never scored, and
// the answer is that of brute force all the same.
func TestExactPrunesWithProof(t *testing.T) {
	for _, spread := range []float32{0.005, 0.02, 0.05, 0.2} {
		docs := narrow(1, 16, 400, spread)
		src := built(t, docs, 160, 4)
		ix := load(t, host.Backend{}, src, plaid.LoadOptions{})
		s, o := searcher(t, ix), newOracle(t, src, ix.TokenNorm())
		queries := narrow(1, 16, 6, spread)
		pruned := 0
		for i := range queries.Len() {
			q := part(queries, i)
			for _, k := range []int{1, 7, 400} {
				hits, stats, err := s.Search(context.Background(), q, k, plaid.SearchOptions{Preset: plaid.Exact, Method: plaid.MethodBounds})
				require.NoError(t, err)
				same(t, o.rank(t, q, o.everything(), k), hits, "spread %v, k %d: %v", spread, k, stats)
				require.Equal(t, 400, stats.Exact+stats.Pruned)
				require.True(t, stats.Exhaustive)
				if k == 1 {
					pruned += stats.Pruned
				}
			}
		}
		if spread < 0.03 {
			require.Greater(t, pruned, 6*200, "spread %v: half of the documents are excluded", spread)
		}
		hits, stats, err := s.Search(context.Background(), part(queries, 0), 5, plaid.SearchOptions{Preset: plaid.Exact})
		require.NoError(t, err)
		same(t, o.rank(t, part(queries, 0), o.everything(), 5), hits)
		require.Equal(t, plaid.MethodScan, stats.Method, "%v", stats)
		require.Contains(t, stats.Reason, "without the documents that they leave, a scan of 400 documents")
	}
}

// TestBoundsHold: no document scores more than its bound, whatever norms tokens, centroids
// and queries have. Equal documents make ties at the k-th place, and zero vectors cells
// without a direction.
func TestBoundsHold(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for round := range 30 {
		dim := 8 * (1 + r.IntN(3))
		docs := narrow(uint64(round), dim, 120, 0.1)
		for j := range docs.Vectors {
			switch {
			case j%977 < dim:
				docs.Vectors[j] = 0
			case round%3 == 1:
				docs.Vectors[j] *= float32(r.IntN(5))
			}
		}
		copy(docs.Vectors[len(docs.Vectors)/2:], docs.Vectors[:len(docs.Vectors)/3])
		src := built(t, docs, 30, []int{1, 2, 4, 8}[round%4])
		for j := range src.Cells {
			src.Cells[j] *= float32([]float64{1, 0.3, 2, 1e-6, 1}[round%5])
		}
		ix := load(t, host.Backend{}, src, plaid.LoadOptions{})
		s, o := searcher(t, ix), newOracle(t, src, ix.TokenNorm())
		q := part(narrow(uint64(100+round), dim, 1, 0.1), 0)
		for j := range q {
			q[j] *= float32([]float64{1, 100, 1e-3}[round%3])
		}
		for _, k := range []int{1, 3, 20} {
			hits, stats, err := s.Search(context.Background(), q, k, plaid.SearchOptions{Preset: plaid.Exact, Method: plaid.MethodBounds})
			require.NoError(t, err)
			same(t, o.rank(t, q, o.everything(), k), hits, "round %d, k %d: %v", round, k, stats)
		}
	}
}

// rawSource is an index whose reconstructed vectors are not normalised, as WARP's.
type rawSource struct{ *format.Memory }

func (rawSource) Normalized() bool { return false }

func TestRawVectors(t *testing.T) {
	docs := collection(131, 16, lengths(15, 150, 6)...)
	src := rawSource{built(t, docs, 20, 4)}
	ix := load(t, host.Backend{}, src, plaid.LoadOptions{})
	s := searcher(t, ix)
	o := newOracle(t, src, ix.TokenNorm())
	o.decodeRaw(t)
	q := part(collection(132, 16, 6), 0)
	want := o.rank(t, q, o.everything(), 9)
	for _, screen := range []plaid.Screen{plaid.ScreenNone, plaid.ScreenInt8, plaid.ScreenF16} {
		s := searcher(t, load(t, host.Backend{}, src, plaid.LoadOptions{Screen: screen}))
		hits, _, err := s.Search(context.Background(), q, 9, plaid.SearchOptions{Method: plaid.MethodScan})
		require.NoError(t, err)
		same(t, want, hits, screen)
	}
	hits, _, err := s.Search(context.Background(), q, 9, plaid.SearchOptions{Preset: plaid.Exact, Method: plaid.MethodBounds})
	require.NoError(t, err)
	same(t, want, hits)
}
