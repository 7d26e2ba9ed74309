package plaid_test

import (
	"context"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/internal/golden"
	"github.com/likbench/likbench/plaid"
	"github.com/likbench/likbench/plaid/format"
	"github.com/likbench/likbench/simd"
)

// The presets once more, straight from their descriptions: no kernels, no bitmaps, every
// set a map. Scores of centroids are canonical dot products, sums are float64.

// cells are the p best of some cells for a query token.
func (o *oracle) cells(token []float32, p int, among []int) []int {
	c := o.src.Centroids()
	order := slices.Clone(among)
	score := func(i int) float32 { return canon.Dot(token, c[i*o.dim:(i+1)*o.dim]) }
	slices.SortStableFunc(order, func(a, b int) int {
		switch x, y := score(a), score(b); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return a - b
	})
	return order[:min(p, len(order))]
}

// reached are the documents that own a token of a cell that is among the p best of a query
// token.
func (o *oracle) reached(query []float32, p int, among []int) []int {
	in := map[int32]bool{}
	for t := 0; t < len(query); t += o.dim {
		for _, c := range o.cells(query[t:t+o.dim], p, among) {
			in[int32(c)] = true
		}
	}
	var docs []int
	for j := range len(o.offsets) - 1 {
		if slices.ContainsFunc(o.codes[o.offsets[j]:o.offsets[j+1]], func(c int32) bool { return in[c] }) {
			docs = append(docs, j)
		}
	}
	return docs
}

// approximate is the sum over query tokens of the best centroid score of a document, of
// those that keep admits.
func (o *oracle) approximate(query []float32, j int, keep func(c int32) bool) float64 {
	sum := 0.0
	for t := 0; t < len(query); t += o.dim {
		best := math.Inf(-1)
		for _, c := range o.codes[o.offsets[j]:o.offsets[j+1]] {
			if keep(c) {
				best = max(best, float64(canon.Dot(query[t:t+o.dim], o.src.Centroids()[int(c)*o.dim:(int(c)+1)*o.dim])))
			}
		}
		sum += best
	}
	return sum
}

// best keeps the n documents of the best approximate score.
func (o *oracle) best(query []float32, docs []int, n int, keep func(c int32) bool) []int {
	score := map[int]float64{}
	for _, j := range docs {
		score[j] = o.approximate(query, j, keep)
	}
	docs = slices.Clone(docs)
	slices.SortStableFunc(docs, func(a, b int) int {
		switch {
		case score[a] > score[b]:
			return -1
		case score[a] < score[b]:
			return 1
		}
		return a - b
	})
	return docs[:min(n, len(docs))]
}

func all(int32) bool { return true }

func (o *oracle) everyCell() []int {
	cells := make([]int, o.src.K())
	for c := range cells {
		cells[c] = c
	}
	return cells
}

// fastPlaid is fast-plaid's selection, spec 3.2 and 3.3.
func (o *oracle) fastPlaid(t testing.TB, query []float32, k, probe, full int, subset []int) []canon.Result[canon.Fixed, int64] {
	among := o.everyCell()
	if subset != nil {
		among = slices.DeleteFunc(among, func(c int) bool {
			return !slices.ContainsFunc(subset, func(j int) bool { return slices.Contains(o.codes[o.offsets[j]:o.offsets[j+1]], int32(c)) })
		})
	}
	docs := o.reached(query, probe, among)
	if subset != nil {
		docs = slices.DeleteFunc(docs, func(j int) bool { return !slices.Contains(subset, j) })
	}
	if len(docs) > full {
		docs = o.best(query, docs, full, all)
	}
	return o.rank(t, query, o.best(query, docs, max(1, full/4), all), k)
}

// stanford is ColBERT's selection, spec 3.4, with the best cell of a token never dropped.
func (o *oracle) stanford(t testing.TB, query []float32, k, cells, docs int, threshold float32) []canon.Result[canon.Fixed, int64] {
	live := map[int32]bool{}
	for at := 0; at < len(query); at += o.dim {
		token := query[at : at+o.dim]
		live[int32(o.cells(token, 1, o.everyCell())[0])] = true
		for c := range o.src.K() {
			if canon.Dot(token, o.src.Centroids()[c*o.dim:(c+1)*o.dim]) >= threshold {
				live[int32(c)] = true
			}
		}
	}
	kept := o.best(query, o.reached(query, cells, o.everyCell()), docs, func(c int32) bool { return live[c] })
	return o.rank(t, query, o.best(query, kept, docs/4, all), k)
}

func TestPresetsSelectAsDescribed(t *testing.T) {
	docs := collection(5, 16, lengths(2, 300, 12, 4, 17)...)
	queries := collection(6, 16, 4, 9, 1, 2)
	src := built(t, docs, 64, 2)
	ix := load(t, host.Backend{}, src, plaid.LoadOptions{})
	s, o := searcher(t, ix), newOracle(t, src, ix.TokenNorm())
	subset := []int{3, 4, 9, 50, 51, 52, 120, 200, 299}
	filter := []int64{299, 3, 4, 9, 9, 50, 51, 52, 120, 200}
	for i := range queries.Len() {
		q := queries.Vectors[queries.Offsets[i]*16 : queries.Offsets[i+1]*16]
		for _, c := range []struct{ k, probe, full int }{{10, 1, 16}, {10, 2, 64}, {5, 8, 4096}, {40, 3, 20}, {3, 1, 2}} {
			opts := plaid.SearchOptions{Preset: plaid.CompatFastPlaid, Probe: c.probe, Candidates: c.full}
			hits, stats, err := s.Search(context.Background(), q, c.k, opts)
			require.NoError(t, err)
			same(t, o.fastPlaid(t, q, c.k, c.probe, c.full, nil), hits, "%+v: %v", c, stats)
			require.Equal(t, len(o.reached(q, c.probe, o.everyCell())), stats.Candidates)
			opts.Filter = filter
			hits, stats, err = s.Search(context.Background(), q, c.k, opts)
			require.NoError(t, err)
			same(t, o.fastPlaid(t, q, c.k, c.probe, c.full, subset), hits, "%+v with filter: %v", c, stats)
		}
		for _, c := range []struct {
			k, cells, docs int
			threshold      float32
		}{{10, 0, 0, 0}, {50, 0, 0, 0}, {120, 0, 0, 0}, {10, 2, 40, 0.6}, {10, 2, 40, 1.1}, {10, 1, 80, -1}} {
			opts := plaid.SearchOptions{Preset: plaid.CompatPLAID, Probe: c.cells, Candidates: c.docs, Threshold: c.threshold}
			hits, stats, err := s.Search(context.Background(), q, c.k, opts)
			require.NoError(t, err)
			switch {
			case c.docs > 0:
			case c.k <= 10:
				c.cells, c.docs, c.threshold = 1, 256, 0.5
			case c.k <= 100:
				c.cells, c.docs, c.threshold = 2, 1024, 0.45
			default:
				c.cells, c.docs, c.threshold = 4, 4096, 0.4
			}
			same(t, o.stanford(t, q, c.k, c.cells, c.docs, c.threshold), hits, "%+v: %v", c, stats)
			require.NotEmpty(t, hits)
		}
	}
}

// searched are the parameters of a golden search.
type searched struct {
	TopK   int     `json:"top_k"`
	Full   int     `json:"n_full_scores"`
	Probe  int     `json:"n_ivf_probe"`
	Subset []int64 `json:"subset"`
	Cut    float32 `json:"t_cs"`
}

func TestGoldenFastPlaidSearch(t *testing.T) {
	claim := golden.Claim{Area: "plaid-index", Op: "plaid_index", Arrays: []string{"queries", "query_offsets", "decoded_scores",
		"ids_default", "scores_default", "ids_probe1", "scores_probe1", "ids_full", "scores_full", "ids_narrow", "scores_narrow", "ids_subset", "scores_subset"}}
	golden.Run(t, claim, func(t *testing.T, c *golden.Case) { compareSearches(t, c, false) })
}

func TestGoldenNextPlaidSearch(t *testing.T) {
	claim := golden.Claim{Area: "nextplaid-index", Op: "plaid_index", Arrays: []string{"queries", "query_offsets", "decoded_scores",
		"ids_default", "scores_default", "ids_no_threshold", "scores_no_threshold", "ids_probe1", "scores_probe1", "ids_full", "scores_full",
		"ids_narrow", "scores_narrow", "ids_subset", "scores_subset"}}
	golden.Run(t, claim, func(t *testing.T, c *golden.Case) { compareSearches(t, c, true) })
}

// compareSearches repeats the writer's searches. next-plaid scores at least top_k documents
// exactly, fast-plaid a quarter of the candidates.
func compareSearches(t *testing.T, c *golden.Case, next bool) {
	src, err := format.Open(filepath.Join(golden.Root(t), c.Area, c.Name+".index"))
	require.NoError(t, err)
	ix := load(t, host.Backend{}, src, plaid.LoadOptions{})
	all := []*plaid.Searcher{searcher(t, ix), searcher(t, load(t, simd.New(), src, plaid.LoadOptions{}))}
	o := newOracle(t, src, ix.TokenNorm())
	require.NoError(t, src.Close(), "an index that is loaded needs its source no longer")
	var params map[string]searched
	c.Decode(t, "search", &params)
	var measured struct {
		Diff map[string]float64 `json:"score_max_abs_diff_to_decoded"`
	}
	c.Decode(t, "measured", &measured)
	vectors, offsets := c.Floats(t, "queries"), c.Ints(t, "query_offsets")
	decoded := c.Floats(t, "decoded_scores")
	for name, p := range params {
		ids, scores := c.Ints(t, "ids_"+name), c.Floats(t, "scores_"+name)
		width := len(ids) / (len(offsets) - 1)
		for i := range len(offsets) - 1 {
			q := make([]float32, 0)
			for _, x := range vectors[offsets[i]*int64(o.dim) : offsets[i+1]*int64(o.dim)] {
				q = append(q, float32(x))
			}
			opts := plaid.SearchOptions{Preset: plaid.CompatFastPlaid, Probe: p.Probe, Candidates: p.Full, Filter: p.Subset}
			k := p.TopK
			if next {
				opts.Exact = max(p.Full/4, p.TopK)
				if p.Subset != nil { // next-plaid probes as much more as the subset is smaller
					opts.Probe = p.Probe * ix.Len() / len(p.Subset)
				}
				if p.Cut > 0 { // it drops cells below a threshold, all of them if need be: we do not
					opts, k = plaid.SearchOptions{Method: plaid.MethodScan}, ix.Len()
				}
			}
			hits, _, err := all[0].Search(context.Background(), q, k, opts)
			require.NoError(t, err)
			again, _, err := all[1].Search(context.Background(), q, k, opts)
			require.NoError(t, err)
			require.Equal(t, hits, again)
			g := goldenRow{name: name, ids: ids[i*width : (i+1)*width], scores: scores[i*width : (i+1)*width], full: p.Full,
				tolerance: measured.Diff[name] * 1.01 * float64(len(q)/o.dim), decoded: decoded[i*ix.Len() : (i+1)*ix.Len()]}
			g.compare(t, o, q, hits, p.Cut > 0)
		}
	}
}

// goldenRow is what a writer's own search returned for a query.
type goldenRow struct {
	name      string
	ids       []int64
	scores    []float64
	full      int
	tolerance float64 // of a score, measured by the writer of the vectors
	decoded   []float64
}

// compare requires the writer's documents and scores, in its order where its half precision
// can tell them apart. With more hits than it returned, its own have to be among them.
func (g *goldenRow) compare(t *testing.T, o *oracle, query []float32, hits []plaid.Hit, more bool) {
	n := len(g.ids)
	for n > 0 && g.ids[n-1] < 0 {
		n--
	}
	if !more {
		require.Len(t, hits, n, g.name)
	}
	rank := map[int64]int{}
	for r, h := range hits {
		rank[h.ID] = r
		require.InDelta(t, g.decoded[h.ID], h.Score, 1e-5, "our score is that of the decoded vectors")
	}
	for r, id := range g.ids[:n] {
		at, ok := rank[id]
		if !ok {
			g.tied(t, o, query, id, hits)
			continue
		}
		require.InDelta(t, g.scores[r], hits[at].Score, g.tolerance+1e-5, "%s: document %d", g.name, id)
		if r > 0 {
			before, ok := rank[g.ids[r-1]]
			require.True(t, !ok || before < at || hits[at].Score-hits[before].Score < float32(2*g.tolerance), "%s: rank %d", g.name, r)
		}
	}
}

// tied requires that a document that the writer scored and we did not has a centroid score
// that half precision cannot tell from one that we kept.
func (g *goldenRow) tied(t *testing.T, o *oracle, query []float32, id int64, hits []plaid.Hit) {
	mine := o.approximate(query, int(id), all)
	least := math.Inf(1)
	for _, h := range hits {
		least = min(least, o.approximate(query, int(h.ID), all))
	}
	require.Less(t, g.full, 4*len(o.offsets), "%s: %d is missing, and all are scored", g.name, id)
	require.InDelta(t, least, mine, float64(len(query)/o.dim)*0x1p-10, "%s: %d is missing", g.name, id)
}

func TestNamesOfPresetsAndMethods(t *testing.T) {
	for _, p := range []plaid.Preset{plaid.Auto, plaid.Exact, plaid.CompatFastPlaid, plaid.CompatPLAID} {
		got, err := plaid.ParsePreset(p.String())
		require.NoError(t, err)
		require.Equal(t, p, got)
	}
	_, err := plaid.ParsePreset("fast")
	require.EqualError(t, err, `plaid: preset "fast", want one of [auto exact compat-fastplaid compat-plaid]: bad argument`)
	text, err := json.Marshal(plaid.Stats{Preset: plaid.Exact, Method: plaid.MethodBounds})
	require.NoError(t, err)
	require.Contains(t, string(text), `"Preset":"exact","Method":"bounds"`)
	require.Equal(t, "preset(9) method(9)", plaid.Preset(9).String()+" "+plaid.Method(9).String())
}

// TestAutoPlans: the choices of preset auto, which follow from index and query alone.
func TestAutoPlans(t *testing.T) {
	docs := collection(151, 8, lengths(18, 6000, 4)...)
	src := built(t, docs, 64, 1)
	ix := load(t, simd.New(), src, plaid.LoadOptions{})
	s, o := searcher(t, ix), newOracle(t, src, ix.TokenNorm())
	q := part(collection(152, 8, 12), 0)
	want := o.rank(t, q, o.everything(), 10)
	for _, c := range []struct {
		o       plaid.SearchOptions
		method  plaid.Method
		reason  string
		overlap int // of the ten best that are found
	}{
		{plaid.SearchOptions{}, plaid.MethodScan, "a scan may cost 4 times as much", 10},
		{plaid.SearchOptions{Method: plaid.MethodProbe}, plaid.MethodProbe, "1024 of them go on to a second round", 9},
		{plaid.SearchOptions{Method: plaid.MethodProbe, Probe: 1}, plaid.MethodProbe, "probe was asked for", 9},
		{plaid.SearchOptions{Method: plaid.MethodProbe, Candidates: 2000, Exact: 300}, plaid.MethodProbe, "probe was asked for", 9},
		{plaid.SearchOptions{Filter: []int64{1, 2, 3}}, plaid.MethodScan, "scan of 3 documents", 0},
	} {
		hits, stats, err := s.Search(context.Background(), q, 10, c.o)
		require.NoError(t, err)
		require.Equal(t, c.method, stats.Method, "%+v: %v", c.o, stats)
		require.Contains(t, stats.Reason, c.reason)
		found := 0
		for _, h := range hits {
			for _, w := range want {
				if w.ID == h.ID {
					require.Equal(t, w.Score, h.Fixed)
					found++
				}
			}
		}
		require.GreaterOrEqual(t, found, c.overlap, "%v", stats)
	}
}
