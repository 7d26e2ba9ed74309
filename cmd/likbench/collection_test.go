package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/backend/num"
	"github.com/likbench/likbench/cuda"
	"github.com/likbench/likbench/internal/cranfield"
	"github.com/likbench/likbench/internal/golden"
	"github.com/likbench/likbench/internal/testneed"
	"github.com/likbench/likbench/simd"
)

var rewrite = flag.Bool("rewrite-top10", false, "write testdata/top10-*.txt from float64 scores")

// listFiles have the ten best documents of each query, by float64 scores of the vectors in
// that dtype: what every backend must return, ids and order.
var listFiles = map[backend.DType]string{backend.F32: "testdata/top10-f32.txt", backend.BF16: "testdata/top10-bf16.txt"}

func lists(r *ranking, nd int) string {
	var b strings.Builder
	for q := range r.queries {
		for i, id := range r.ids[q*nd : q*nd+top] {
			if i > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprint(&b, id+1)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// wanted is the lists of the first queries: without vector instructions not all are ranked.
func wanted(t *testing.T, dtype backend.DType, queries int) []string {
	t.Helper()
	raw, err := os.ReadFile(listFiles[dtype])
	require.NoError(t, err)
	lines := strings.SplitAfter(string(raw), "\n")
	require.Len(t, lines, 226)
	return lines[:queries]
}

// onBackends runs test on every backend of this machine but the slow reference, which has
// TestGoldenHost.
func onBackends(t *testing.T, test func(t *testing.T, dev backend.Device)) {
	for name, b := range map[string]backend.Backend{"simd": simd.New(), "cuda": cuda.New()} {
		t.Run(name, func(t *testing.T) {
			dev, err := b.Open(0)
			if err != nil {
				require.ErrorIs(t, err, backend.ErrUnavailable)
				testneed.Skip(t, name, err.Error())
			}
			defer func() { require.NoError(t, dev.Close()) }()
			test(t, dev)
		})
	}
}

// TestTopTen: in f32 every backend on this machine gives the same ten documents in the same
// order.
func TestTopTen(t *testing.T) {
	p, err := newPipeline()
	require.NoError(t, err)
	if *rewrite {
		require.NoError(t, os.MkdirAll(filepath.Dir(listFiles[backend.F32]), 0o755))
		require.NoError(t, os.WriteFile(listFiles[backend.F32], []byte(float64Lists(p)), 0o644))
		require.NoError(t, os.WriteFile(listFiles[backend.BF16], []byte(float64Lists(rounded(p))), 0o644))
	}
	onBackends(t, func(t *testing.T, dev backend.Device) {
		r, err := p.rank(t.Context(), dev, backend.F32)
		require.NoError(t, err)
		require.Equal(t, strings.Join(wanted(t, backend.F32, r.queries), ""), lists(r, len(p.data.Documents)))
	})
}

// closest is the relative difference of scores below which kernels may order differently:
// f32 sums of 64 products, and of some 20 tokens, each add rounding by 2^-24.
const closest = 84. / (1 << 24)

// TestTopTenBF16: so it is in bf16, but for neighbours in a list that are closer than what
// f32 sums lose.
func TestTopTenBF16(t *testing.T) {
	p, err := newPipeline()
	require.NoError(t, err)
	exact := rounded(p)
	onBackends(t, func(t *testing.T, dev backend.Device) {
		r, err := p.rank(t.Context(), dev, backend.BF16)
		require.NoError(t, err)
		got := strings.SplitAfter(lists(r, len(p.data.Documents)), "\n")
		for q, want := range wanted(t, backend.BF16, r.queries) {
			if got[q] == want {
				continue
			}
			ids := strings.Fields(want)
			for i, id := range strings.Fields(got[q]) {
				a, b := score(t, exact, q, id), score(t, exact, q, ids[i])
				require.LessOrEqual(t, math.Abs(a-b), closest*b, "query %d, place %d: document %s, want %s", q+1, i+1, id, ids[i])
			}
		}
	})
}

// score is the float64 score of a document by its id.
func score(t *testing.T, p *pipeline, q int, id string) float64 {
	d, err := strconv.Atoi(id)
	require.NoError(t, err)
	return pairScore(p, q, d-1, p.docs.Dim)
}

// rounded is the pipeline with vectors rounded to bf16.
func rounded(p *pipeline) *pipeline {
	narrow := func(t *cranfield.Tokens) *cranfield.Tokens {
		out := *t
		out.Vectors = make([]float32, len(t.Vectors))
		for i, x := range t.Vectors {
			out.Vectors[i] = num.BF16ToFloat32(num.BF16FromFloat32(x))
		}
		return &out
	}
	return &pipeline{data: p.data, docs: narrow(p.docs), queries: narrow(p.queries)}
}

// TestGoldenHost: the reference ranks the golden queries as the vectors say.
func TestGoldenHost(t *testing.T) {
	var file struct {
		Queries []struct {
			Query int
			Modes map[string]struct{ Docs []int }
		}
	}
	require.NoError(t, json.Unmarshal(golden.File(t, "static-encoder", "cranfield-top10.json"), &file))
	require.Len(t, file.Queries, 20)
	p, err := newPipeline()
	require.NoError(t, err)
	all, some := p.queries, &cranfield.Tokens{Dim: p.queries.Dim, Offsets: []int64{0}}
	var want strings.Builder
	for _, q := range file.Queries {
		from, to := all.Offsets[q.Query-1]*int64(all.Dim), all.Offsets[q.Query]*int64(all.Dim)
		some.Vectors = append(some.Vectors, all.Vectors[from:to]...)
		some.Offsets = append(some.Offsets, int64(len(some.Vectors)/some.Dim))
		fmt.Fprintln(&want, strings.Trim(fmt.Sprint(q.Modes["tf"].Docs[:top]), "[]"))
	}
	p.queries = some
	dev, err := host.Backend{}.Open(0)
	require.NoError(t, err)
	defer func() { require.NoError(t, dev.Close()) }()
	r, err := p.rank(t.Context(), dev, backend.F32)
	require.NoError(t, err)
	require.Equal(t, want.String(), lists(r, len(p.data.Documents)))
}

// A pass that had to wait for the processor does not cut the collection; a slow backend does.
func TestAffordable(t *testing.T) {
	const n = 225
	for _, c := range []struct {
		name  string
		takes []time.Duration // the last goes on
		want  int
		tries int
	}{
		{"fast", []time.Duration{2 * time.Millisecond}, n, 1},
		{"no time at all", []time.Duration{0}, n, 1},
		{"waited twice", []time.Duration{45 * time.Millisecond, 60 * time.Millisecond, 2 * time.Millisecond}, n, 3},
		{"slow", []time.Duration{100 * time.Millisecond}, 80, 5},
		{"slower", []time.Duration{time.Second}, 20, 1},
	} {
		tries := 0
		got, err := affordable(n, func() (time.Duration, error) {
			tries++
			return c.takes[min(tries, len(c.takes))-1], nil
		})
		require.NoError(t, err, c.name)
		require.Equal(t, []int{c.want, c.tries}, []int{got, tries}, c.name)
	}
	got, err := affordable(2, func() (time.Duration, error) { return time.Minute, nil })
	require.NoError(t, err)
	require.Equal(t, 2, got)
	broken := errors.New("broken")
	_, err = affordable(n, func() (time.Duration, error) { return 0, broken })
	require.ErrorIs(t, err, broken)
}

// float64Lists scores by the definition.
func float64Lists(p *pipeline) string {
	nd, dim := len(p.data.Documents), p.docs.Dim
	r := &ranking{queries: len(p.queries.Offsets) - 1}
	for q := range r.queries {
		scores := make([]float64, nd)
		for d := range scores {
			scores[d] = pairScore(p, q, d, dim)
		}
		r.ids = append(r.ids, order(scores)...)
	}
	return lists(r, nd)
}

func pairScore(p *pipeline, q, d, dim int) (sum float64) {
	for t := p.queries.Offsets[q]; t < p.queries.Offsets[q+1]; t++ {
		best := math.Inf(-1)
		for u := p.docs.Offsets[d]; u < p.docs.Offsets[d+1]; u++ {
			var x float64
			a, b := p.queries.Vectors[int(t)*dim:(int(t)+1)*dim], p.docs.Vectors[int(u)*dim:(int(u)+1)*dim]
			for k, v := range a {
				x += float64(v) * float64(b[k])
			}
			best = max(best, x)
		}
		sum += best
	}
	return sum
}

// order ranks scores descending, equal ones by index.
func order(scores []float64) []int32 {
	ids := make([]int32, len(scores))
	for i := range ids {
		ids[i] = int32(i)
	}
	slices.SortStableFunc(ids, func(a, b int32) int { return cmp.Compare(scores[b], scores[a]) })
	return ids
}
