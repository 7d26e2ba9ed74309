package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/internal/npy"
	"github.com/likbench/likbench/plaid"
)

// A saved corpus reads back as it was, and results keep their order, short rows filled.
func TestSaveCorpus(t *testing.T) {
	from := synthetic{documents: 5, shortest: 1, longest: 4, dim: 8, centres: 3, spread: .5, seed: 9}
	ctx := t.Context()
	docs, err := from.all(ctx)
	require.NoError(t, err)
	queries, err := from.queries(ctx, 2, 3, fromArrays(docs))
	require.NoError(t, err)
	s, err := newSaver(t.TempDir(), "small")
	require.NoError(t, err)
	require.NoError(t, s.corpus(ctx, docs, queries))
	require.NoError(t, s.hits(ctx, "auto", [][]plaid.Hit{{{ID: 4}, {ID: 1}}, {{ID: 2}}}))

	read := func(name string) *npy.Array {
		a, err := npy.ReadFile(filepath.Join(s.dir, name+".npy"))
		require.NoError(t, err)
		return a
	}
	vectors := read("documents")
	require.Equal(t, []int{len(docs.Vectors) / 8, 8}, vectors.Shape)
	for i, x := range vectors.Float64s() {
		require.Equal(t, docs.Vectors[i], float32(x))
	}
	offsets, err := read("document_offsets").Int64s()
	require.NoError(t, err)
	require.Equal(t, docs.Offsets, offsets)
	require.Equal(t, []int{6, 8}, read("queries").Shape)
	require.Equal(t, []int{3}, read("query_offsets").Shape)
	hits := read("hits-auto")
	require.Equal(t, []int{2, top}, hits.Shape)
	ids, err := hits.Int64s()
	require.NoError(t, err)
	require.Equal(t, []int64{4, 1, -1}, ids[:3])
	require.Equal(t, []int64{2, -1}, ids[top:top+2])
}

// Nothing is kept where no folder was named, and a folder that cannot be made is an error.
func TestSaveNowhere(t *testing.T) {
	s, err := newSaver("", "small")
	require.NoError(t, err)
	require.NoError(t, s.corpus(t.Context(), nil, nil))
	require.NoError(t, s.hits(t.Context(), "auto", nil))
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	_, err = newSaver(file, "small")
	require.ErrorContains(t, err, "--save")
}

// expiring is a context that ends when it has been asked so many times.
type expiring struct {
	context.Context
	left atomic.Int64
}

func expiringAfter(ctx context.Context, n int64) *expiring {
	e := &expiring{Context: ctx}
	e.left.Store(n)
	return e
}

func (e *expiring) Err() error {
	if e.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// A save that ends early leaves nothing of its own behind, and what was there as it was.
func TestSaveIsWholeOrNot(t *testing.T) {
	from := synthetic{documents: 300, shortest: 60, longest: 90, dim: 8, centres: 3, spread: .5, seed: 9}
	docs, err := from.all(t.Context())
	require.NoError(t, err)
	queries, err := from.queries(t.Context(), 2, 3, fromArrays(docs))
	require.NoError(t, err)
	s, err := newSaver(t.TempDir(), "small")
	require.NoError(t, err)
	names := func() (out []string) {
		files, err := os.ReadDir(s.dir)
		require.NoError(t, err)
		for _, f := range files {
			out = append(out, f.Name())
		}
		return out
	}
	steps := int64(0)
	for ; ; steps++ {
		err := s.corpus(expiringAfter(t.Context(), steps), docs, queries)
		if err == nil {
			break
		}
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "--save")
		require.Empty(t, names())
	}
	require.Greater(t, steps, int64(5), "the vectors take several")
	whole := []string{"document_offsets.npy", "documents.npy", "queries.npy", "query_offsets.npy"}
	require.Equal(t, whole, names())
	before, err := os.ReadFile(filepath.Join(s.dir, "documents.npy"))
	require.NoError(t, err)
	clear(docs.Vectors)
	require.Error(t, s.corpus(expiringAfter(t.Context(), steps-1), docs, queries))
	require.Error(t, s.hits(expiringAfter(t.Context(), 0), "auto", [][]plaid.Hit{{{ID: 4}}}))
	require.Equal(t, whole, names())
	after, err := os.ReadFile(filepath.Join(s.dir, "documents.npy"))
	require.NoError(t, err)
	require.Equal(t, before, after)

	require.NoError(t, os.Mkdir(filepath.Join(s.dir, "hits-auto.npy"), 0o755))
	require.ErrorContains(t, s.hits(t.Context(), "auto", nil), "--save")
	require.Equal(t, slices.Insert(slices.Clone(whole), 2, "hits-auto.npy"), names())
}

// Drawing stops soon after its context: each document is a step.
func TestDrawingStops(t *testing.T) {
	s := synthetic{documents: 50, shortest: 2, longest: 4, dim: 8, centres: 3, spread: .5, seed: 9}
	docs, err := s.all(t.Context())
	require.NoError(t, err)
	for _, n := range []int64{0, 1, 30, 49} {
		_, err := s.all(expiringAfter(t.Context(), n))
		require.ErrorIs(t, err, context.Canceled, "%d", n)
		_, err = s.drawnIndex(expiringAfter(t.Context(), n), 2, 40)
		require.ErrorIs(t, err, context.Canceled, "%d", n)
		_, err = s.queries(expiringAfter(t.Context(), n), 50, 2, fromArrays(docs))
		require.ErrorIs(t, err, context.Canceled, "%d", n)
	}
	m, err := s.drawnIndex(t.Context(), 2, 40)
	require.NoError(t, err)
	require.Equal(t, docs.Offsets, m.DocumentOffsets)
}
