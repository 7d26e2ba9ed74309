package main

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/benchsuite"
	"github.com/likbench/likbench/plaid"
	"github.com/likbench/likbench/plaid/build"
	"github.com/likbench/likbench/plaid/store"
	"github.com/likbench/likbench/simd"
)

// What a quick run takes from preset exact is what scanning gives; where preset exact went
// another way, it scans all the same.
func TestQuickScan(t *testing.T) {
	whole, err := embeddedJudged()
	require.NoError(t, err)
	j := whole.head(60, 2*quickScan)
	dev, err := simd.New().Open(0)
	require.NoError(t, err)
	defer func() { require.NoError(t, dev.Close()) }()
	dir := filepath.Join(t.TempDir(), "index")
	_, err = build.Build(t.Context(), dev, dir, j.docs, build.Options{Bits: 2, Seed: 42})
	require.NoError(t, err)
	src, err := store.Open(dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, src.Close()) }()
	ix, err := plaid.Load(dev, src, plaid.LoadOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, ix.Close()) }()
	s, err := ix.NewSearcher()
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	vectors, err := j.queries.all()
	require.NoError(t, err)
	queries := plaid.Tokens{Vectors: vectors, Offsets: j.queries.offsets, Dim: j.queries.dim}
	exact, how, err := ranked(t.Context(), s, queries, top, plaid.SearchOptions{Preset: plaid.Exact})
	require.NoError(t, err)
	want, err := j.scan(t.Context(), s, queries, exact, how)
	require.NoError(t, err)
	require.Len(t, want, 2*quickScan)
	require.Equal(t, exact, want)

	j.quick = true
	got, err := j.scan(t.Context(), s, queries, exact, how)
	require.NoError(t, err)
	require.Equal(t, want, got)
	wrong := make(rankings, len(exact)) // taken over behind the first, and by nobody else
	got, err = j.scan(t.Context(), s, queries, wrong, how)
	require.NoError(t, err)
	require.Equal(t, want[:quickScan], got[:quickScan])
	require.Equal(t, wrong[quickScan:], got[quickScan:])
	how[3] = &plaid.Stats{Method: plaid.MethodBounds}
	got, err = j.scan(t.Context(), s, queries, wrong, how)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// A gate is met by a number that is large enough, not by one that is none.
func TestGatesOfNaN(t *testing.T) {
	nan := math.NaN()
	good := benchsuite.IndexRow{Bits: 2, Kept: 1, DefaultRecall: 1, ExactRecall: 1}
	require.Empty(t, failedGates([]benchsuite.IndexRow{good}))
	require.Len(t, failedGates([]benchsuite.IndexRow{{Bits: 2, Kept: nan, DefaultRecall: nan, ExactRecall: nan}}), 3)
	require.Len(t, failedGates([]benchsuite.IndexRow{{Bits: 2, Kept: .96, DefaultRecall: .98, ExactRecall: .999}}), 3)
	good.Bytes, good.FastPlaid = 12, 12
	require.Empty(t, failedGates([]benchsuite.IndexRow{good}))
	good.Bytes++
	require.Equal(t, []string{"2 bits: 13 bytes, in fast-plaid's layout 12"}, failedGates([]benchsuite.IndexRow{good}))
}
