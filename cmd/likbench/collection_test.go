package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/cuda"
	"github.com/likbench/likbench/internal/cranfield"
	"github.com/likbench/likbench/internal/golden"
	"github.com/likbench/likbench/internal/testneed"
	"github.com/likbench/likbench/simd"
)

var rewrite = flag.Bool("rewrite-top10", false, "write testdata/top10-f32.txt from float64 scores")

// listFile has the ten best documents of each query, by float64 scores of the f32 vectors:
// what every backend must return in f32, ids and order.
const listFile = "testdata/top10-f32.txt"

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

func wanted(t *testing.T, queries int) string {
	t.Helper()
	raw, err := os.ReadFile(listFile)
	require.NoError(t, err)
	lines := strings.SplitAfter(string(raw), "\n")
	require.Len(t, lines, 226)
	return strings.Join(lines[:queries], "")
}

// TestTopTen: in f32 every backend on this machine gives the same ten documents in the same
// order. The reference is slow: TestGoldenHost.
func TestTopTen(t *testing.T) {
	p, err := newPipeline()
	require.NoError(t, err)
	if *rewrite {
		require.NoError(t, os.MkdirAll(filepath.Dir(listFile), 0o755))
		require.NoError(t, os.WriteFile(listFile, []byte(float64Lists(p)), 0o644))
	}
	for name, b := range map[string]backend.Backend{"simd": simd.New(), "cuda": cuda.New()} {
		t.Run(name, func(t *testing.T) {
			dev, err := b.Open(0)
			if err != nil {
				require.ErrorIs(t, err, backend.ErrUnavailable)
				testneed.Skip(t, name, err.Error())
			}
			defer func() { require.NoError(t, dev.Close()) }()
			r, err := p.rank(t.Context(), dev, backend.F32)
			require.NoError(t, err)
			require.Equal(t, wanted(t, r.queries), lists(r, len(p.data.Documents)))
		})
	}
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
