package plaid_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/plaid"
	"github.com/likbench/likbench/simd"
)

// TestExactChoosesBounds: where cells are narrow, so that bounds leave few documents. The
// choice and its reason are the same whenever, and by whichever backend of this memory, they
// are made.
func TestExactChoosesBounds(t *testing.T) {
	for _, c := range []struct {
		spread float32
		k      int
		method plaid.Method
		reason string
	}{
		{0.005, 5, plaid.MethodBounds, "bounds by cell, which leave 1."},
		{0.1, 5, plaid.MethodScan, "bounds by cell, which leave 9"},
		{0.005, 2000, plaid.MethodScan, "bounds have to take 2 times less"},
	} {
		docs := narrow(2, 64, 6000, c.spread)
		src := built(t, docs, 40, 4)
		q := part(narrow(2, 64, 1, c.spread), 0)
		var want []plaid.Hit
		var reason string
		for i, b := range []backend.Backend{host.Backend{}, simd.New(), simd.New(), simd.New(simd.WithWorkers(1)), simd.New(simd.WithLevel(simd.Generic))} {
			ix := load(t, b, src, plaid.LoadOptions{Screen: plaid.ScreenInt8})
			s := searcher(t, ix)
			if want == nil {
				var err error
				want, _, err = s.Search(context.Background(), q, c.k, plaid.SearchOptions{Method: plaid.MethodScan})
				require.NoError(t, err)
			}
			hits, stats, err := s.Search(context.Background(), q, c.k, plaid.SearchOptions{Preset: plaid.Exact})
			require.NoError(t, err)
			require.Equal(t, want, hits, "%d", i)
			require.Equal(t, c.method, stats.Method, "%d, spread %v: %v", i, c.spread, stats)
			require.Contains(t, stats.Reason, c.reason)
			if reason == "" {
				reason = stats.Reason
			}
			require.Equal(t, reason, stats.Reason, "%d", i)
			method, text := ix.ExactElsewhere(len(q)/64, c.k)
			require.Equal(t, plaid.MethodScan, method)
			require.Contains(t, text, "the device has memory of its own: 6000 documents are screened")
		}
	}
}

// TestExactChoosesWithinFilter: the k-th of few documents is further down, so bounds leave more.
func TestExactChoosesWithinFilter(t *testing.T) {
	docs := narrow(2, 64, 6000, 0.02)
	s := searcher(t, load(t, simd.New(), built(t, docs, 40, 4), plaid.LoadOptions{}))
	o := plaid.SearchOptions{Preset: plaid.Exact}
	for j := range int64(3000) {
		o.Filter = append(o.Filter, 2*j)
	}
	for i := range 3 {
		q := part(narrow(2, 64, 3, 0.02), i)
		want, _, err := s.Search(context.Background(), q, 7, plaid.SearchOptions{Method: plaid.MethodScan, Filter: o.Filter})
		require.NoError(t, err)
		hits, stats, err := s.Search(context.Background(), q, 7, o)
		require.NoError(t, err)
		require.Equal(t, want, hits, "%v", stats)
		o.Filter = o.Filter[:len(o.Filter)-1]
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, err := s.Search(ctx, part(narrow(2, 64, 1, 0.02), 0), 500, plaid.SearchOptions{Preset: plaid.Exact})
	require.ErrorIs(t, err, context.Canceled)
}

// counter notes which documents are scored exactly, by query of the group.
type counter struct {
	backend.Device
	scored map[int]map[int32]bool
}

func (c *counter) NewStream() (backend.Stream, error) {
	s, err := c.Device.NewStream()
	return &countingStream{s, c}, err
}

type countingStream struct {
	backend.Stream
	c *counter
}

func (s *countingStream) Launch(p backend.Program, c *backend.Call) error {
	if err := s.Stream.Launch(p, c); err != nil || p.Kernel() != "residual_maxsim_f32" {
		return err
	}
	if err := s.Sync(); err != nil {
		return err
	}
	const candidate = 8 // operand
	v := &c.Operands[candidate]
	if v.DType != backend.I32 || v.Rank != 2 {
		return fmt.Errorf("operand %d is %v", candidate, v)
	}
	b := v.Buf.(backend.HostMapped).Bytes()[v.Off:]
	for e := range v.Dims[0] * v.Dims[1] {
		if j := int32(binary.LittleEndian.Uint32(b[e*4:])); j >= 0 {
			row := int(e / v.Dims[1])
			if s.c.scored[row] == nil {
				s.c.scored[row] = map[int32]bool{}
			}
			s.c.scored[row][j] = true
		}
	}
	return nil
}

// TestExactIsCounted: Stats.Exact is the number of documents whose exact scores were computed,
// each once, and Pruned, where bounds or a screen exclude documents, that of all others.
func TestExactIsCounted(t *testing.T) {
	const n, d = 3000, 16
	copies := collection(171, d, lengths(20, n, 2)...)
	for j := range n / 2 { // of one document's token, some moved a little
		copy(copies.Vectors[copies.Offsets[2*j]*d:], copies.Vectors[:d])
		copies.Vectors[copies.Offsets[2*j]*d+int64(j%d)] += float32(j%7) * 0x1p-12
	}
	topics := narrow(2, d, n, 0.05)
	var some []int64
	for j := range int64(n) {
		if j%5 < 3 {
			some = append(some, j)
		}
	}
	screened, both := 0, 0
	for name, docs := range map[string]plaid.Tokens{"copies": copies, "topics": topics} {
		src := built(t, docs, 30, 4)
		queries := plaid.Tokens{Dim: d, Offsets: []int64{0, 2, 4, 6}, Vectors: append(docs.Vectors[:4*d:4*d], collection(172, d, 2).Vectors...)}
		for _, screen := range []plaid.Screen{plaid.ScreenNone, plaid.ScreenInt8, plaid.ScreenF16} {
			c := &counter{Device: open(t, simd.New())}
			ix, err := plaid.Load(c, src, plaid.LoadOptions{Screen: screen})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, ix.Close()) })
			s := searcher(t, ix)
			for way, o := range map[string]plaid.SearchOptions{
				"bounds": {Preset: plaid.Exact, Method: plaid.MethodBounds}, "exact": {Preset: plaid.Exact}, "scan": {Method: plaid.MethodScan},
				"probe": {Method: plaid.MethodProbe, Probe: 2, Exact: 900}, "rounds": {Method: plaid.MethodProbe, Probe: 4, Candidates: 600, Exact: 300},
				"fast-plaid": {Preset: plaid.CompatFastPlaid, Probe: 1}, "plaid": {Preset: plaid.CompatPLAID},
				"bounds, filter": {Preset: plaid.Exact, Method: plaid.MethodBounds, Filter: some}, "scan, filter": {Method: plaid.MethodScan, Filter: some},
			} {
				for _, k := range []int{1, 12, 300} {
					for i := range queries.Len() {
						c.scored = map[int]map[int32]bool{}
						_, stats, err := s.Search(context.Background(), part(queries, i), k, o)
						require.NoError(t, err)
						require.Len(t, c.scored[0], stats.Exact, "%s, %s, %s, k %d, query %d: %v", name, screen, way, k, i, stats)
						if stats.Exhaustive {
							allowed := n
							if o.Filter != nil {
								allowed = len(some)
							}
							require.Equal(t, allowed, stats.Exact+stats.Pruned, "%s, %s, %s", name, screen, way)
						}
						if stats.Screened > 0 {
							screened++
							if stats.Method == plaid.MethodBounds && stats.Pruned > 0 {
								both++
							}
						}
					}
					if o.Method == plaid.MethodBounds || o.Preset == plaid.Exact {
						continue // one query after another
					}
					c.scored = map[int]map[int32]bool{}
					_, stats, err := s.SearchBatch(context.Background(), queries, k, o)
					require.NoError(t, err)
					for i, st := range stats {
						require.Equal(t, 3, st.Batch)
						require.Len(t, c.scored[i], st.Exact, "%s, %s, %s, k %d, query %d of a batch: %v", name, screen, way, k, i, st)
					}
				}
			}
		}
	}
	require.Greater(t, screened, 100)
	require.Greater(t, both, 10, "bounds leave documents to a screen, which leaves out some")
}
