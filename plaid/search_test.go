package plaid_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/plaid"
	"github.com/likbench/likbench/plaid/format"
	"github.com/likbench/likbench/simd"
)

// ways are options that between them reach every stage.
var ways = map[string]plaid.SearchOptions{
	"auto":       {},
	"scan":       {Method: plaid.MethodScan},
	"probe":      {Method: plaid.MethodProbe, Probe: 2, Exact: 30},
	"two rounds": {Method: plaid.MethodProbe, Probe: 3, Candidates: 40, Exact: 12},
	"exact":      {Preset: plaid.Exact},
	"bounds":     {Preset: plaid.Exact, Method: plaid.MethodBounds},
	"fastplaid":  {Preset: plaid.CompatFastPlaid, Probe: 2, Candidates: 64},
	"plaid":      {Preset: plaid.CompatPLAID, Candidates: 60},
}

func part(q plaid.Tokens, i int) []float32 {
	return q.Vectors[q.Offsets[i]*int64(q.Dim) : q.Offsets[i+1]*int64(q.Dim)]
}

// batch repeats queries until there are n.
func batch(q plaid.Tokens, n int) plaid.Tokens {
	b := plaid.Tokens{Dim: q.Dim, Offsets: []int64{0}}
	for i := range n {
		v := part(q, i%q.Len())
		b.Vectors = append(b.Vectors, v...)
		b.Offsets = append(b.Offsets, b.Offsets[i]+int64(len(v)/q.Dim))
	}
	return b
}

func TestBatchEqualsAlone(t *testing.T) {
	docs := collection(11, 16, lengths(4, 150, 9, 0, 1, 149)...)
	queries := collection(12, 16, 3, 0, 1, 8, 40, 2, 5)
	src := built(t, docs, 48, 4)
	for _, scratch := range []int64{0, 1 << 14} { // all at once, and in many parts
		ix := load(t, host.Backend{}, src, plaid.LoadOptions{Scratch: scratch})
		for name, o := range ways {
			for _, filter := range [][]int64{nil, {140, 3, 7, 7, 90, 12, 33, 34, 35, 60}} {
				o.Filter = filter
				alone := searcher(t, ix)
				want := make([][]plaid.Hit, queries.Len())
				for i := range want {
					var err error
					want[i], _, err = alone.Search(context.Background(), part(queries, i), 10, o)
					require.NoError(t, err)
				}
				s := searcher(t, ix)
				for _, n := range []int{1, 7, 64} {
					hits, stats, err := s.SearchBatch(context.Background(), batch(queries, n), 10, o)
					require.NoError(t, err)
					for i, h := range hits {
						require.Equal(t, want[i%len(want)], h, "%s: query %d of %d, filter %v: %v", name, i, n, filter, stats[i])
					}
				}
			}
		}
	}
}

// TestManyQueries: batches that several goroutines prepare and read.
func TestManyQueries(t *testing.T) {
	docs := collection(13, 16, lengths(6, 200, 9)...)
	queries := collection(14, 16, 3, 30, 1, 8, 40, 2, 25)
	src := built(t, docs, 48, 2)
	for _, screen := range []plaid.Screen{plaid.ScreenNone, plaid.ScreenInt8, plaid.ScreenF16} {
		s := searcher(t, load(t, simd.New(), src, plaid.LoadOptions{Screen: screen}))
		for _, o := range []plaid.SearchOptions{ways["scan"], ways["probe"]} {
			var want [][]plaid.Hit
			for i := range queries.Len() {
				hits, _, err := s.Search(context.Background(), part(queries, i), 5, o)
				require.NoError(t, err)
				want = append(want, hits)
			}
			many := batch(queries, 280)
			hits, _, err := s.SearchBatch(context.Background(), many, 5, o)
			require.NoError(t, err)
			for i, h := range hits {
				require.Equal(t, want[i%len(want)], h, "%s: query %d", screen, i)
			}
			many.Vectors[many.Offsets[203]*16+21] = float32(math.NaN())
			_, _, err = s.SearchBatch(context.Background(), many, 5, o)
			var bad *plaid.QueryError
			require.ErrorAs(t, err, &bad)
			require.Equal(t, [3]int{203, 1, 5}, [3]int{bad.Query, bad.Token, bad.Component})
		}
	}
}

func TestFilters(t *testing.T) {
	docs := collection(21, 16, lengths(5, 120, 9, 5, 60)...)
	queries := collection(22, 16, 6)
	q := part(queries, 0)
	src := built(t, docs, 40, 2)
	ix := load(t, host.Backend{}, src, plaid.LoadOptions{})
	s, o := searcher(t, ix), newOracle(t, src, ix.TokenNorm())
	for name, opts := range ways {
		opts.Filter = []int64{}
		hits, stats, err := s.Search(context.Background(), q, 10, opts)
		require.NoError(t, err)
		require.Empty(t, hits, name)
		require.NotNil(t, hits)
		require.Equal(t, "no document may be returned", stats.Reason)

		opts.Filter = []int64{5, 60} // both are empty
		hits, _, err = s.Search(context.Background(), q, 10, opts)
		require.NoError(t, err)
		require.Empty(t, hits, name)

		opts.Filter = []int64{99, 4, -1, 4, 120, 7, 1 << 40}
		_, _, err = s.Search(context.Background(), q, 10, opts)
		require.ErrorIs(t, err, plaid.ErrID)
		require.ErrorIs(t, err, backend.ErrArgument)
		var bad *plaid.IDError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, []int64{-1, 120, 1 << 40}, bad.IDs)
		require.EqualError(t, err, "plaid: filter: ids [-1 120 1099511627776]: no such document")

		opts.Filter = make([]int64, 0)
		for i := range int64(25) {
			opts.Filter = append(opts.Filter, 200+i)
		}
		_, _, err = s.Search(context.Background(), q, 10, opts)
		require.ErrorContains(t, err, "209] and 15 more: no such document")
		opts.Filter = []int64{17}
		hits, _, err = s.Search(context.Background(), q, 10, opts)
		require.NoError(t, err)
		same(t, o.rank(t, q, []int{17}, 1), hits, name)

		opts.Filter = nil
		for j := range int64(120) {
			opts.Filter = append(opts.Filter, 119-j)
		}
		everyone, _, err := s.Search(context.Background(), q, 10, opts)
		require.NoError(t, err)
		opts.Filter = nil
		hits, _, err = s.Search(context.Background(), q, 10, opts)
		require.NoError(t, err)
		require.Equal(t, hits, everyone, name)
	}
	// A narrow filter is complete, however few cells were asked for.
	narrow := []int64{2, 44, 45, 80, 81, 82, 83, 100, 101, 119}
	docsOf := []int{2, 44, 45, 80, 81, 82, 83, 100, 101, 119}
	hits, stats, err := s.Search(context.Background(), q, 10, plaid.SearchOptions{Filter: narrow, Probe: 1})
	require.NoError(t, err)
	require.True(t, stats.Exhaustive, "%v", stats)
	same(t, o.rank(t, q, docsOf, 10), hits)
}

// TestAutoGivesK: fewer results than k mean that there are no more, whatever a round is told to keep.
func TestAutoGivesK(t *testing.T) {
	docs := collection(71, 16, lengths(72, 80, 6)...)
	ix := load(t, host.Backend{}, built(t, docs, 16, 2), plaid.LoadOptions{})
	s := searcher(t, ix)
	for _, o := range []plaid.SearchOptions{{Method: plaid.MethodProbe, Candidates: 1}, {Method: plaid.MethodProbe, Exact: 1}, {Method: plaid.MethodProbe, Candidates: 3, Exact: 2}, {Method: plaid.MethodScan, Exact: 1}} {
		for _, k := range []int{30, ix.Searchable(), ix.Searchable() + 9} {
			hits, stats, err := s.Search(context.Background(), part(collection(73, 16, 3), 0), k, o)
			require.NoError(t, err)
			require.Len(t, hits, min(k, ix.Searchable()), "%+v: %v", o, stats)
		}
	}
}

func TestProbingWidens(t *testing.T) {
	docs := collection(31, 16, lengths(6, 90, 5)...)
	q := part(collection(32, 16, 1), 0)
	src := built(t, docs, 64, 2)
	ix := load(t, host.Backend{}, src, plaid.LoadOptions{})
	s, o := searcher(t, ix), newOracle(t, src, ix.TokenNorm())
	hits, stats, err := s.Search(context.Background(), q, 80, plaid.SearchOptions{Method: plaid.MethodProbe, Probe: 1})
	require.NoError(t, err)
	require.Greater(t, stats.Rounds, 3)
	require.GreaterOrEqual(t, stats.Candidates, 80)
	require.Contains(t, stats.Reason, "fewer than 80")
	require.Len(t, hits, 80)
	hits, stats, err = s.Search(context.Background(), q, 1000, plaid.SearchOptions{Method: plaid.MethodProbe, Probe: 3})
	require.NoError(t, err)
	require.Equal(t, 64, stats.Probe, "until every cell is probed")
	same(t, o.rank(t, q, o.everything(), 1000), hits)
	filter := []int64{88, 4, 31}
	hits, _, err = s.Search(context.Background(), q, 10, plaid.SearchOptions{Method: plaid.MethodProbe, Probe: 1, Filter: filter})
	require.NoError(t, err)
	same(t, o.rank(t, q, []int{88, 4, 31}, 10), hits, "all of a filter is reached")
	_, stats, err = s.Search(context.Background(), q, 80, plaid.SearchOptions{Preset: plaid.CompatFastPlaid, Probe: 1})
	require.NoError(t, err)
	require.Equal(t, 1, stats.Rounds, "the compatibility presets keep to their rules")
}

func TestSmallAndOddIndexes(t *testing.T) {
	one := collection(41, 8, 1)
	twins := plaid.Tokens{Dim: 8, Offsets: []int64{0}}
	for range 9 { // documents that are equal, and a zero vector each
		twins.Vectors = append(append(twins.Vectors, one.Vectors...), make([]float32, 8)...)
		twins.Offsets = append(twins.Offsets, twins.Offsets[len(twins.Offsets)-1]+2)
	}
	for name, docs := range map[string]plaid.Tokens{
		"one token":        one,
		"equal documents":  twins,
		"single tokens":    collection(42, 8, slices.Repeat([]int64{1}, 20)...),
		"a long document":  collection(43, 8, 3, 700, 2),
		"empty everywhere": collection(44, 8, 0, 0, 4, 0, 5, 0, 0),
	} {
		src := built(t, docs, 3, 2)
		ix := load(t, host.Backend{}, src, plaid.LoadOptions{})
		s, o := searcher(t, ix), newOracle(t, src, ix.TokenNorm())
		q := part(collection(45, 8, 3), 0)
		want := o.rank(t, q, o.everything(), 50)
		for _, opts := range []plaid.SearchOptions{{}, {Method: plaid.MethodProbe, Probe: 9}, {Preset: plaid.Exact, Method: plaid.MethodBounds}, {Preset: plaid.Exact}, {Preset: plaid.CompatFastPlaid}} {
			hits, stats, err := s.Search(context.Background(), q, 50, opts)
			require.NoError(t, err)
			same(t, want, hits, "%s: %v", name, stats)
		}
	}
	for name, lens := range map[string][]int64{"no document": {}, "only empty ones": {0, 0, 0}} {
		src := built(t, collection(46, 8, 5), 3, 2)
		src.DocumentOffsets, src.TokenCodes, src.Residuals = make([]int64, len(lens)+1), nil, nil
		ix := load(t, host.Backend{}, src, plaid.LoadOptions{})
		for _, opts := range ways {
			hits, _, err := searcher(t, ix).Search(context.Background(), part(collection(45, 8, 3), 0), 5, opts)
			require.NoError(t, err, name)
			require.Empty(t, hits)
		}
	}
}

func TestZeroTokenQueriesAndZeroTokens(t *testing.T) {
	docs := collection(51, 8, 0, 2, 3, 0, 1)
	src := built(t, docs, 3, 2)
	ix := load(t, host.Backend{}, src, plaid.LoadOptions{})
	s, o := searcher(t, ix), newOracle(t, src, ix.TokenNorm())
	hits, stats, err := s.Search(context.Background(), nil, 2, plaid.SearchOptions{})
	require.NoError(t, err)
	require.Equal(t, []plaid.Hit{{ID: 1}, {ID: 2}}, hits)
	require.Equal(t, "a query without tokens scores 0 everywhere", stats.Reason)
	zero := make([]float32, 16)
	for _, opts := range ways {
		hits, _, err := s.Search(context.Background(), zero, 5, opts)
		require.NoError(t, err)
		same(t, o.rank(t, zero, o.everything(), len(hits)), hits)
	}
}

func TestLongQuery(t *testing.T) {
	docs := collection(55, 16, lengths(16, 40, 5, 3)...)
	src := built(t, docs, 12, 4)
	ix := load(t, simd.New(), src, plaid.LoadOptions{})
	s, o := searcher(t, ix), newOracle(t, src, ix.TokenNorm())
	q := part(collection(56, 16, 4096), 0)
	want := o.rank(t, q, o.everything(), 7)
	for _, opts := range []plaid.SearchOptions{{}, {Method: plaid.MethodProbe, Probe: 99}, {Preset: plaid.Exact, Method: plaid.MethodBounds}} {
		hits, stats, err := s.Search(context.Background(), q, 7, opts)
		require.NoError(t, err)
		same(t, want, hits, "%v", stats)
		if opts.Probe > 0 {
			require.Equal(t, 12, stats.Probe)
			require.Contains(t, stats.Reason, "99 cells a token were asked for, there are 12")
		}
	}
	for i := range q { // beyond what a screen can hold, and far beyond what a float32 sum could
		q[i] *= 1e36
	}
	hits, _, err := s.Search(context.Background(), q, 7, plaid.SearchOptions{})
	require.NoError(t, err)
	same(t, o.rank(t, q, o.everything(), 7), hits)
}

func TestWrongCalls(t *testing.T) {
	src := built(t, collection(61, 8, 4, 5), 3, 2)
	dev := open(t, host.Backend{})
	ix, err := plaid.Load(dev, src, plaid.LoadOptions{})
	require.NoError(t, err)
	s, err := ix.NewSearcher()
	require.NoError(t, err)
	ctx, q := context.Background(), part(collection(62, 8, 2), 0)
	for _, k := range []int{0, -1, math.MinInt} {
		_, _, err := s.Search(ctx, q, k, plaid.SearchOptions{})
		require.ErrorIs(t, err, backend.ErrArgument)
		require.ErrorContains(t, err, "plaid: k is")
	}
	for _, o := range []plaid.SearchOptions{{Probe: -1}, {Candidates: -1}, {Exact: -2}, {Preset: 9}, {Method: plaid.MethodBounds}, {Preset: plaid.Exact, Method: plaid.MethodProbe}, {Method: 7},
		{Threshold: float32(math.NaN())}, {Threshold: float32(math.Inf(1))}} {
		_, _, err := s.Search(ctx, q, 3, o)
		require.ErrorIs(t, err, backend.ErrArgument, "%+v", o)
	}
	_, _, err = s.Search(ctx, q[:7], 3, plaid.SearchOptions{})
	require.EqualError(t, err, "plaid: query of 7 components, documents have tokens of 8: bad argument")
	_, _, err = s.SearchBatch(ctx, plaid.Tokens{Dim: 16, Vectors: q, Offsets: []int64{0, 1}}, 3, plaid.SearchOptions{})
	require.ErrorIs(t, err, backend.ErrArgument)
	for _, x := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		bad := slices.Clone(q)
		bad[11] = x
		_, _, err := s.Search(ctx, bad, 3, plaid.SearchOptions{})
		require.ErrorIs(t, err, plaid.ErrQuery)
		require.ErrorIs(t, err, backend.ErrArgument)
		var which *plaid.QueryError
		require.ErrorAs(t, err, &which)
		require.Equal(t, [3]int{0, 1, 3}, [3]int{which.Query, which.Token, which.Component})
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for _, o := range ways {
		_, _, err = s.Search(cancelled, q, 3, o)
		require.ErrorIs(t, err, context.Canceled)
	}
	hits, _, err := s.Search(ctx, q, 3, plaid.SearchOptions{})
	require.NoError(t, err, "a searcher goes on after an error")
	require.Len(t, hits, 2)

	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Close(), backend.ErrClosed)
	_, _, err = s.Search(ctx, q, 3, plaid.SearchOptions{})
	require.ErrorIs(t, err, backend.ErrClosed)
	s = searcher(t, ix)
	require.Positive(t, ix.Bytes())
	require.NoError(t, ix.Close())
	require.Zero(t, ix.Bytes())
	require.ErrorIs(t, ix.Close(), backend.ErrClosed)
	_, _, err = s.Search(ctx, q, 3, plaid.SearchOptions{})
	require.ErrorIs(t, err, backend.ErrClosed)
	_, err = ix.NewSearcher()
	require.ErrorIs(t, err, backend.ErrClosed)
}

func TestWrongSources(t *testing.T) {
	for name, spoil := range map[string]func(m *format.Memory){
		"bits":        func(m *format.Memory) { m.Width = 3 },
		"dimension":   func(m *format.Memory) { m.Components = 12 },
		"offsets":     func(m *format.Memory) { m.DocumentOffsets = []int64{0, 5, 3} },
		"no centroid": func(m *format.Memory) { m.Cells = nil },
		"weights":     func(m *format.Memory) { m.Table.Weights = m.Table.Weights[1:] },
		"NaN":         func(m *format.Memory) { m.Cells[3] = float32(math.NaN()) },
		"infinity":    func(m *format.Memory) { m.Table.Weights[1] = float32(math.Inf(1)) },
		"code":        func(m *format.Memory) { m.TokenCodes[2] = 3 },
		"short codes": func(m *format.Memory) { m.TokenCodes = m.TokenCodes[:4] },
		"short rows":  func(m *format.Memory) { m.Residuals = m.Residuals[:9] },
	} {
		src := built(t, collection(61, 8, 4, 5), 3, 2)
		spoil(src)
		dev := open(t, host.Backend{})
		_, err := plaid.Load(dev, src, plaid.LoadOptions{})
		require.Error(t, err, name)
		require.Zero(t, dev.Memory().Live, "%s: nothing stays allocated", name)
	}
}

func TestIDsAndDeletions(t *testing.T) {
	docs := collection(71, 16, lengths(8, 100, 8, 10)...)
	src := &source{Memory: built(t, docs, 30, 2), deleted: make([]int32, 4)}
	var left []int
	for j := range 100 {
		src.ids = append(src.ids, int64(1000+7*j))
		if j%3 == 0 {
			src.deleted[j/32] |= 1 << (j % 32)
			continue
		}
		left = append(left, j)
	}
	ix := load(t, host.Backend{}, src, plaid.LoadOptions{})
	require.Equal(t, 100, ix.Len())
	require.Equal(t, len(left)-1, ix.Searchable())
	s, o := searcher(t, ix), newOracle(t, src, ix.TokenNorm())
	q := part(collection(72, 16, 7), 0)
	named := func(docs []int, k int) []canon.Result[canon.Fixed, int64] {
		r := o.rank(t, q, docs, k)
		for i := range r {
			r[i].ID = src.ids[r[i].ID]
		}
		return r
	}
	for _, opts := range []plaid.SearchOptions{{}, {Method: plaid.MethodProbe}, {Preset: plaid.Exact}, {Preset: plaid.CompatFastPlaid, Probe: 30}} {
		hits, _, err := s.Search(context.Background(), q, 500, opts)
		require.NoError(t, err)
		same(t, named(left, 500), hits)
		opts.Filter = []int64{1000, 1007, 1021, 1014, 1070} // 0 and 3 are deleted, 10 is empty
		hits, _, err = s.Search(context.Background(), q, 5, opts)
		require.NoError(t, err)
		same(t, named([]int{1, 2}, 5), hits)
		opts.Filter = []int64{7}
		_, _, err = s.Search(context.Background(), q, 5, opts)
		require.ErrorIs(t, err, plaid.ErrID)
	}
	src.ids[4] = src.ids[3]
	_, err := plaid.Load(open(t, host.Backend{}), src, plaid.LoadOptions{})
	require.ErrorContains(t, err, "ids ascend")
}

func TestSearchersShareAnIndex(t *testing.T) {
	docs := collection(81, 16, lengths(9, 200, 12)...)
	queries := collection(82, 16, 4, 9, 1, 6, 12, 3, 8, 2)
	src := built(t, docs, 40, 2)
	ix := load(t, simd.New(), src, plaid.LoadOptions{})
	want := map[string][][]plaid.Hit{}
	for name, o := range ways {
		hits, _, err := searcher(t, ix).SearchBatch(context.Background(), queries, 10, o)
		require.NoError(t, err)
		want[name] = hits
	}
	var wg sync.WaitGroup
	for g := range 8 {
		s := searcher(t, ix)
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range queries.Len() {
				i := (i + g) % queries.Len()
				for name, o := range ways {
					hits, _, err := s.Search(context.Background(), part(queries, i), 10, o)
					if err != nil || !slices.Equal(hits, want[name][i]) {
						t.Errorf("%s: query %d: %v, want %v: %v", name, i, hits, want[name][i], err)
					}
				}
			}
		}()
	}
	wg.Wait()
}

// TestGrowingCalls: buffers and prepared launches follow whatever order of sizes.
func TestGrowingCalls(t *testing.T) {
	docs := collection(91, 16, lengths(10, 260, 6)...)
	queries := collection(92, 16, 1, 9, 3, 30, 2, 14)
	src := built(t, docs, 70, 2)
	for _, screen := range []plaid.Screen{plaid.ScreenNone, plaid.ScreenInt8, plaid.ScreenF16} {
		ix := load(t, simd.New(simd.WithWorkers(1)), src, plaid.LoadOptions{Screen: screen})
		s := searcher(t, ix)
		r := rand.New(rand.NewPCG(5, 5))
		for range 120 {
			o := plaid.SearchOptions{Preset: plaid.Preset(r.IntN(4)), Probe: r.IntN(12), Candidates: r.IntN(300), Exact: r.IntN(200)}
			if o.Preset == plaid.Auto {
				o.Method = plaid.Method(r.IntN(3))
			}
			if r.IntN(3) == 0 {
				o.Filter = []int64{3, 99, 120, 121, 122, 240, 17}
			}
			k, q := 1+r.IntN(20), batch(queries, 1+r.IntN(7))
			got, _, err := s.SearchBatch(context.Background(), q, k, o)
			require.NoError(t, err)
			for i := range got {
				fresh, err := ix.NewSearcher()
				require.NoError(t, err)
				want, _, err := fresh.Search(context.Background(), part(q, i), k, o)
				require.NoError(t, err)
				require.Equal(t, want, got[i], "%+v, k %d", o, k)
				require.NoError(t, fresh.Close())
			}
		}
	}
}
