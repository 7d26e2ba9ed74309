package plaid_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/plaid"
	"github.com/likbench/likbench/simd"
)

// TestSameAnswerEverywhere: ids, order and scores are those of the host backend at every
// level of simd, with any number of workers, in every screen.
func TestSameAnswerEverywhere(t *testing.T) {
	docs := collection(101, 32, lengths(12, 130, 7, 7)...)
	queries := collection(102, 32, 5, 1, 17)
	for _, bits := range []int{1, 2, 4, 8} {
		src := built(t, docs, 50, bits)
		want := map[string][][]plaid.Hit{}
		on := func(b backend.Backend, name string, screen plaid.Screen) {
			s := searcher(t, load(t, b, src, plaid.LoadOptions{Screen: screen}))
			for again := range 5 * len(ways) { // launched, recorded as a graph, replayed
				if again == 3*len(ways) {
					s.Apart(true)
				}
				way := slices.Sorted(maps.Keys(ways))[again%len(ways)]
				o := ways[way]
				hits, stats, err := s.SearchBatch(context.Background(), queries, 3, o)
				require.NoError(t, err)
				if want[way] == nil {
					want[way] = hits
				}
				require.Equal(t, want[way], hits, "%s, %s, %s, %d bits: %v", name, screen, way, bits, stats[0])
				if way == "scan" && screen != plaid.ScreenAuto {
					require.Equal(t, screen, stats[0].Screen)
					require.Equal(t, screen == plaid.ScreenNone, stats[0].Screened == 0)
				}
			}
		}
		for _, screen := range []plaid.Screen{plaid.ScreenNone, plaid.ScreenInt8, plaid.ScreenF16, plaid.ScreenAuto} {
			on(host.Backend{}, "host", screen)
			for _, level := range simd.Levels() {
				on(simd.New(simd.WithLevel(level), simd.WithWorkers(1)), fmt.Sprint("simd ", level), screen)
			}
			on(simd.New(simd.WithWorkers(3)), "simd, 3 workers", screen)
			for _, b := range backend.All() { // whatever else this machine has
				if b.Name() == "host" || b.Name() == "simd" {
					continue
				}
				if d, err := b.Open(0); err != nil {
					t.Logf("%s: %v", b.Name(), err)
				} else {
					require.NoError(t, d.Close())
					on(b, b.Name(), screen)
				}
			}
		}
	}
}

// TestScreenLeavesOpen: where many documents score almost alike, those that the screen cannot
// tell apart are scored exactly, for the queries of a batch that need it.
func TestScreenLeavesOpen(t *testing.T) {
	docs := collection(111, 16, lengths(13, 300, 3)...)
	for j := range 250 { // near copies of one document
		copy(docs.Vectors[docs.Offsets[j]*16:], docs.Vectors[:16])
		docs.Vectors[docs.Offsets[j]*16+int64(j%16)] += float32(j) * 0x1p-22
	}
	src := built(t, docs, 20, 8)
	queries := collection(112, 16, 4, 3, 1, 9, 4)
	copy(queries.Vectors[queries.Offsets[2]*16:queries.Offsets[3]*16], docs.Vectors) // the copies' token
	for name, o := range map[string]plaid.SearchOptions{"scan": {Method: plaid.MethodScan}, "probe": {Method: plaid.MethodProbe, Probe: 20, Exact: 260}} {
		var want [][]plaid.Hit
		for _, screen := range []plaid.Screen{plaid.ScreenNone, plaid.ScreenInt8, plaid.ScreenF16} {
			s := searcher(t, load(t, host.Backend{}, src, plaid.LoadOptions{Screen: screen}))
			for i := range 4 {
				if i >= 2 {
					s.Narrow(int64(i-2) << 18) // a query's after another's, then all
				}
				hits, stats, err := s.SearchBatch(context.Background(), queries, 2, o)
				require.NoError(t, err)
				if want == nil {
					want = hits
				}
				require.Equal(t, want, hits, "%s, %s: %v", name, screen, stats[0])
				exact := map[bool]int{}
				for _, st := range stats {
					require.Equal(t, screen, st.Screen)
					require.Equal(t, 1, st.Rounds)
					exact[st.Exact > 20]++
				}
				if screen == plaid.ScreenInt8 {
					require.Len(t, exact, 2, "%s: some queries are open, some are not", name)
				}
			}
		}
	}
}

// TestScreensOfTinyQueries: below the normal numbers of float32 a screen's arithmetic says little.
func TestScreensOfTinyQueries(t *testing.T) {
	src := built(t, collection(131, 16, lengths(18, 400, 3)...), 60, 2)
	queries := collection(132, 16, slices.Repeat([]int64{1, 2, 1, 3}, 5)...)
	for i := range queries.Vectors {
		queries.Vectors[i] *= []float32{1e-36, 1e-38, 1e-40, 1e-42, 1e-44}[i*5/len(queries.Vectors)]
	}
	o := plaid.SearchOptions{Method: plaid.MethodScan}
	var want [][]plaid.Hit
	for _, screen := range []plaid.Screen{plaid.ScreenNone, plaid.ScreenInt8, plaid.ScreenF16} {
		hits, stats, err := searcher(t, load(t, simd.New(), src, plaid.LoadOptions{Screen: screen})).SearchBatch(context.Background(), queries, 10, o)
		require.NoError(t, err)
		require.Equal(t, screen, stats[0].Screen)
		if want == nil {
			want = hits
		}
		for i := range hits {
			require.Equal(t, want[i], hits[i], "%s: query %d: %v", screen, i, stats[i])
		}
	}
}

func TestScreenIsMeasured(t *testing.T) {
	docs := collection(121, 8, lengths(14, 1200, 30)...)
	src := built(t, docs, 30, 2)
	ix := load(t, simd.New(), src, plaid.LoadOptions{})
	_, stats, err := searcher(t, ix).Search(context.Background(), part(collection(122, 8, 5), 0), 1, plaid.SearchOptions{Method: plaid.MethodScan})
	require.NoError(t, err)
	t.Log(stats)
	_, err = plaid.Load(open(t, host.Backend{}), src, plaid.LoadOptions{Screen: "f8"})
	require.ErrorIs(t, err, backend.ErrArgument)
}
