package build

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/plaid/format"
	"github.com/likbench/likbench/plaid/store"
	"github.com/likbench/likbench/simd"
)

// small is a build that takes every turn: several chunks, a sample, thinning.
var small = Options{Bits: 2, Seed: 7, ChunkTokens: 100, Sample: 70, PointsPerCentroid: 9, Centroids: 40}

// Every backend, level, number of workers and amount of memory makes the index that the
// transcription in plain Go makes.
func TestEqualsOracleEverywhere(t *testing.T) {
	docs := clustered(1, 90, 14, 24)
	scaled := clustered(2, 60, 9, 8)
	for i := range scaled.Vectors {
		scaled.Vectors[i] *= float32(1 + i/8%5)
	}
	whole := Options{Bits: 4, Seed: 3, Iterations: 2}
	normalized := Options{Bits: 1, Seed: 3, Normalize: true, ChunkTokens: 50}
	long := clustered(1, 90, 14, 24)
	long.Offsets = []int64{0, 40, 40, 390, 395, long.Offsets[90]}
	type machine struct {
		name string
		dev  backend.Device
	}
	machines := []machine{{"host", open(t, host.Backend{})}}
	for _, l := range simd.Levels() {
		machines = append(machines, machine{l.String() + "/1", open(t, simd.New(simd.WithLevel(l), simd.WithWorkers(1)))})
	}
	machines = append(machines, machine{"simd/3", open(t, simd.New(simd.WithWorkers(3)))})
	for _, c := range []struct {
		name string
		docs *Arrays
		o    Options
	}{{"sampled", docs, small}, {"whole", docs, whole}, {"scaled", scaled, whole}, {"normalized", scaled, normalized}, {"long documents", long, Options{ChunkTokens: 64, Centroids: 30}}} {
		want := oracle(t, c.docs, c.o)
		for _, m := range machines {
			for _, memory := range []int64{0, 1} {
				o := c.o
				o.DeviceMemory = memory
				got, s, err := InMemory(ctx(), m.dev, streamed{c.docs}, o)
				require.NoError(t, err, "%s on %s", c.name, m.name)
				require.Equal(t, want, got, "%s on %s, resident %v", c.name, m.name, s.Resident)
				require.Equal(t, memory == 0, s.Resident)
				require.Empty(t, s.Fallbacks)
			}
		}
		got, _, err := InMemory(ctx(), machines[1].dev, c.docs, c.o)
		require.NoError(t, err)
		require.Equal(t, want, got, "%s, without copying", c.name)
	}
	require.Zero(t, machines[1].dev.Memory().Live)
}

// What is built is what is stored, and every format that keeps half centroids exports it
// without loss.
func TestStoredAndExported(t *testing.T) {
	docs, dir := clustered(1, 90, 14, 24), filepath.Join(t.TempDir(), "index")
	want, _, err := InMemory(ctx(), fast(t), docs, small)
	require.NoError(t, err)
	s, err := Build(ctx(), fast(t), dir, docs, small)
	require.NoError(t, err)
	require.Greater(t, s.Chunks, 3)
	require.NoDirExists(t, filepath.Join(dir, AreaName))

	x, err := store.Open(dir)
	require.NoError(t, err)
	defer x.Close()
	sameIndex(t, want, x)
	require.Equal(t, int64(0), x.IDs()[0])
	dec, err := x.Decoder()
	require.NoError(t, err)
	room := make([]float32, 24)
	for i, v := range x.InvNorms() {
		inv, err := dec.InvNorm(room, int64(x.Codes()[i]), x.Residuals()[i*6:(i+1)*6])
		require.NoError(t, err)
		require.Equal(t, inv, v)
	}

	out := filepath.Join(t.TempDir(), "fastplaid")
	w, err := format.Write(out, format.FastPlaid14, x, format.WriteOptions{})
	require.NoError(t, err)
	require.Empty(t, w.Rounded)
	y, err := format.Open(out)
	require.NoError(t, err)
	defer y.Close()
	sameIndex(t, want, y)

	_, err = Build(ctx(), fast(t), dir, docs, small)
	require.ErrorIs(t, err, store.ErrExists)
	_, err = Build(ctx(), fast(t), out, docs, small)
	require.ErrorIs(t, err, store.ErrExists)
}

// An index is no larger than fast-plaid's of the same codes, whatever the share of its centroids.
func TestNoLargerThanFastPlaid(t *testing.T) {
	for _, c := range []struct{ documents, longest, dim, bits int }{{90, 14, 24, 1}, {60, 40, 128, 2}, {400, 20, 64, 2}, {400, 20, 64, 4}, {20, 9, 8, 8}} {
		dir := t.TempDir()
		own := filepath.Join(dir, "own")
		_, err := Build(ctx(), fast(t), own, clustered(5, c.documents, c.longest, c.dim), Options{Bits: c.bits, Iterations: 1})
		require.NoError(t, err)
		x, err := store.Open(own)
		require.NoError(t, err)
		defer x.Close()
		for _, layout := range []format.Flavour{format.FastPlaid14, format.FastPlaid17} {
			w, err := format.Write(filepath.Join(dir, layout.String()), layout, x, format.WriteOptions{})
			require.NoError(t, err)
			require.LessOrEqual(t, x.Bytes(), w.Bytes, "%+v as %v", c, layout)
		}
	}
}

// sameIndex compares an index with one in memory.
func sameIndex(t *testing.T, want *format.Memory, x format.Source) {
	require.Equal(t, want.Cells, x.Centroids())
	require.Equal(t, want.Table.Cutoffs, x.Cutoffs())
	require.Equal(t, want.Table.Weights, x.Weights())
	require.Equal(t, want.Average, x.AverageResidual())
	require.Equal(t, want.Radius, x.ClusterThreshold())
	require.Equal(t, want.DocumentOffsets, x.Offsets())
	codes, residuals := make([]int32, len(want.TokenCodes)), make([]byte, len(want.Residuals))
	require.NoError(t, x.ReadCodes(codes, 0))
	require.NoError(t, x.ReadResiduals(residuals, 0))
	require.Equal(t, want.TokenCodes, codes)
	require.Equal(t, want.Residuals, residuals)
}

// Collections that other builders fail on.
func TestTinyCollections(t *testing.T) {
	equal := &Arrays{Components: 8, Offsets: []int64{0, 0, 30, 30, 64, 64}}
	for range 64 {
		equal.Vectors = append(equal.Vectors, 0, 0.6, 0, 0, -0.8, 0, 0, 0)
	}
	zeros := &Arrays{Components: 8, Vectors: make([]float32, 80), Offsets: []int64{0, 4, 10}}
	one := &Arrays{Components: 8, Vectors: equal.Vectors[:8], Offsets: []int64{0, 1}}
	opposite := &Arrays{Components: 8, Vectors: append(append([]float32{}, equal.Vectors[:8]...), 0, -0.6, 0, 0, 0.8, 0, 0, 0), Offsets: []int64{0, 2}}
	huge := clustered(5, 20, 6, 8)
	for i := range huge.Vectors {
		huge.Vectors[i] *= 1e18 // near the longest that is taken: see TestNormBeyondScores
	}
	for name, c := range map[string]struct {
		docs *Arrays
		k    int64
	}{
		"equal": {equal, 64}, "zeros": {zeros, 10}, "one token": {one, 1}, "opposite": {opposite, 2},
		"nine tokens": {clustered(9, 9, 2, 8), 9}, "huge": {huge, 51}, "two hundred": {clustered(4, 40, 10, 8), 128},
	} {
		for _, bits := range []int{1, 2, 4, 8} {
			m, s, err := InMemory(ctx(), fast(t), c.docs, Options{Bits: bits})
			require.NoError(t, err, name)
			require.Equal(t, c.k, s.Centroids, name)
			require.Equal(t, oracle(t, c.docs, Options{Bits: bits}), m, name)
			for _, v := range m.Table.Weights {
				require.False(t, math.IsNaN(float64(v)) || math.IsInf(float64(v), 0), name)
			}
		}
	}
}

func TestEmptyCollections(t *testing.T) {
	for _, offsets := range [][]int64{{0}, {0, 0, 0}} {
		docs := &Arrays{Components: 8, Offsets: offsets}
		_, err := Build(ctx(), fast(t), filepath.Join(t.TempDir(), "x"), docs, Options{})
		require.ErrorIs(t, err, ErrEmpty)
		dir := filepath.Join(t.TempDir(), "x")
		s, err := Build(ctx(), fast(t), dir, docs, Options{AllowEmpty: true})
		require.NoError(t, err)
		require.Equal(t, int64(len(offsets)-1), s.Empty)
		x, err := store.Open(dir)
		require.NoError(t, err)
		require.Equal(t, len(offsets)-1, x.Documents())
		require.NoError(t, x.Close())
	}
}

func TestBadInput(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(a *Arrays)
		want  error
		text  string
	}{
		{"nan", func(a *Arrays) { a.Vectors[a.Offsets[5]*24+24+3] = float32(math.NaN()) }, ErrNotFinite, "document 5, token 1, component 3"},
		{"inf", func(a *Arrays) { a.Vectors[0] = float32(math.Inf(-1)) }, ErrNotFinite, "document 0, token 0, component 0"},
		{"width", func(a *Arrays) { a.Components = 16 }, ErrWidth, "tokens by offsets"},
		{"offsets", func(a *Arrays) { a.Offsets[3] = -1 }, backend.ErrArgument, "offsets of the collection"},
	} {
		docs := clustered(1, 30, 14, 24)
		docs.Offsets[6] = max(docs.Offsets[6], docs.Offsets[5]+2)
		c.spoil(docs)
		for _, in := range []Collection{docs, streamed{docs}} {
			dir := filepath.Join(t.TempDir(), "x")
			_, err := Build(ctx(), fast(t), dir, in, small)
			if _, plain := in.(*Arrays); !plain && c.want != ErrNotFinite {
				continue
			}
			require.ErrorIs(t, err, c.want, c.name)
			require.ErrorContains(t, err, c.text, c.name)
			require.NoDirExists(t, dir, c.name)
		}
	}
}
