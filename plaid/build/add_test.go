package build

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/plaid/codec"
	"github.com/likbench/likbench/plaid/store"
)

// named are documents with ids of their own.
type named struct {
	*Arrays
	first int64
}

func (n named) ID(document int64) int64 { return n.first + 10*document }

func TestAdd(t *testing.T) {
	base, more, dev := clustered(1, 60, 14, 16), clustered(1, 95, 14, 16), fast(t)
	more.Vectors = more.Vectors[more.Offsets[60]*16:]
	at := more.Offsets[60]
	more.Offsets = more.Offsets[60:]
	for i := range more.Offsets {
		more.Offsets[i] -= at
	}
	dir := filepath.Join(t.TempDir(), "x")
	_, err := Build(ctx(), dev, dir, base, Options{Centroids: 64})
	require.NoError(t, err)

	s, drift, err := Add(ctx(), dev, dir, named{more, 1000}, AddOptions{ChunkTokens: 60})
	require.NoError(t, err)
	require.Equal(t, more.Offsets[35], s.Tokens)
	require.Greater(t, s.Chunks, 2)
	x, err := store.Open(dir)
	require.NoError(t, err)
	defer x.Close()
	require.Equal(t, 95, x.Documents())
	require.Equal(t, []int64{59, 1000, 1010}, x.IDs()[59:62])
	codes := make([]int32, s.Tokens)
	require.NoError(t, codec.Nearest(codes, more.Vectors, x.Centroids(), 16))
	require.Equal(t, codes, x.Codes()[base.Offsets[60]:])
	table := codec.Table{Bits: 2, Cutoffs: x.Cutoffs(), Weights: x.Weights()}
	var far int64
	for i, c := range codes {
		token, row, r := more.Vectors[i*16:(i+1)*16], make([]byte, 4), make([]float32, 16)
		require.NoError(t, table.Encode(row, token, x.Centroids()[int(c)*16:int(c+1)*16]))
		require.Equal(t, row, x.Residuals()[(int(base.Offsets[60])+i)*4:][:4])
		for j := range r {
			r[j] = token[j] - x.Centroids()[int(c)*16+j]
		}
		if float32(canon.Norm(r)) > x.ClusterThreshold() {
			far++
		}
	}
	require.Equal(t, Drift{Tokens: s.Tokens, Threshold: x.ClusterThreshold(), Far: far, Centroids: 64, Wanted: 256}, *drift)
	require.Contains(t, drift.Advice(), "far from every centroid")
	drift.Far = 0
	require.Equal(t, "rebuild: 64 centroids, an index of this size would have 256", drift.Advice())
	drift.Centroids = 128
	require.Empty(t, drift.Advice())

	// Documents unlike those built from are noticed; refused ones change nothing.
	_, drift, err = Add(ctx(), dev, dir, clustered(77, 30, 14, 16), AddOptions{})
	require.NoError(t, err)
	require.Greater(t, drift.Share(), 0.9)
	_, _, err = Add(ctx(), dev, dir, clustered(1, 30, 14, 24), AddOptions{})
	require.ErrorIs(t, err, ErrWidth)
	bad := clustered(1, 30, 14, 16)
	bad.Vectors[40] = float32(math.NaN())
	_, _, err = Add(ctx(), dev, dir, bad, AddOptions{})
	require.ErrorIs(t, err, ErrNotFinite)
	_, _, err = Add(ctx(), dev, dir, named{base, 0}, AddOptions{})
	require.ErrorIs(t, err, store.ErrID)
	y, err := store.Open(dir)
	require.NoError(t, err)
	defer y.Close()
	require.Equal(t, x.Generation()+1, y.Generation())
	_, drift, err = Add(ctx(), dev, dir, &Arrays{Components: 16, Offsets: []int64{0, 0, 0}}, AddOptions{})
	require.NoError(t, err)
	require.Zero(t, drift.Share())
	_, _, err = Add(ctx(), dev, dir, &Arrays{Components: 16, Offsets: []int64{0}}, AddOptions{})
	require.NoError(t, err)
	z, err := store.Open(dir)
	require.NoError(t, err)
	defer z.Close()
	require.Equal(t, y.Documents()+2, z.Documents())
	require.Equal(t, y.Generation()+1, z.Generation())
	_, _, err = Add(ctx(), dev, filepath.Join(t.TempDir(), "none"), base, AddOptions{})
	require.ErrorIs(t, err, store.ErrNoIndex)
}

// Given centroids are used as they are, and a table with them; an index of a part's codec is
// the whole's index there.
func TestGivenCodec(t *testing.T) {
	docs, dev := clustered(1, 60, 14, 16), fast(t)
	m, _, err := InMemory(ctx(), dev, docs, Options{Centroids: 32, Seed: 5})
	require.NoError(t, err)
	given := &Codec{Dim: 16, Centroids: m.Cells}
	again, s, err := InMemory(ctx(), dev, docs, Options{Codec: given, Seed: 5})
	require.NoError(t, err)
	require.Equal(t, m, again)
	require.Zero(t, s.Iterations)
	given.Bits, given.Cutoffs, given.Weights = 2, m.Table.Cutoffs, m.Table.Weights
	given.AverageResidual, given.Threshold = m.Average, m.Radius
	again, _, err = InMemory(ctx(), dev, docs, Options{Codec: given})
	require.NoError(t, err)
	require.Equal(t, m, again)
	dir := filepath.Join(t.TempDir(), "x")
	_, err = Build(ctx(), dev, dir, docs, Options{Codec: given, ChunkTokens: 100})
	require.NoError(t, err)

	for name, o := range map[string]Options{
		"bits": {Bits: 4, Codec: given}, "count": {Centroids: 9, Codec: given}, "rows": {Codec: &Codec{Dim: 16, Centroids: m.Cells[:24]}},
		"infinite": {Codec: &Codec{Dim: 16, Centroids: append(m.Cells[:15:15], float32(math.Inf(1)))}}, "negative": {Iterations: -1}, "memory": {DeviceMemory: -1},
	} {
		_, _, err := InMemory(ctx(), dev, docs, o)
		require.ErrorIs(t, err, ErrOptions, name)
	}
	_, _, err = InMemory(ctx(), dev, docs, Options{Codec: &Codec{Dim: 8, Centroids: m.Cells}})
	require.ErrorIs(t, err, ErrWidth)
	_, _, err = InMemory(ctx(), dev, docs, Options{Codec: &Codec{Dim: 16, Centroids: m.Cells, Cutoffs: []float32{1}}})
	require.ErrorIs(t, err, codec.ErrTable)
	_, _, err = InMemory(ctx(), dev, docs, Options{Bits: 3})
	require.ErrorIs(t, err, codec.ErrBits)
}
