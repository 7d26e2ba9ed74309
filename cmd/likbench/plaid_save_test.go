package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/internal/npy"
	"github.com/likbench/likbench/plaid"
)

// A saved corpus reads back as it was, and results keep their order, short rows filled.
func TestSaveCorpus(t *testing.T) {
	from := synthetic{documents: 5, shortest: 1, longest: 4, dim: 8, centres: 3, spread: .5, seed: 9}
	docs := from.all()
	queries := from.queries(2, 3, fromArrays(docs))
	s, err := newSaver(t.TempDir(), "small")
	require.NoError(t, err)
	require.NoError(t, s.corpus(docs, queries))
	require.NoError(t, s.hits("auto", [][]plaid.Hit{{{ID: 4}, {ID: 1}}, {{ID: 2}}}))

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
	require.NoError(t, s.corpus(nil, nil))
	require.NoError(t, s.hits("auto", nil))
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	_, err = newSaver(file, "small")
	require.ErrorContains(t, err, "--save")
}
