package build

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// alike is a collection whose seeds leave cells without tokens: most tokens are one vector.
// Others have equal scores, within a cell and between cells, the first token among them;
// and some are alone and short, which makes them the worst served of all.
func alike() *Arrays {
	const d = 8
	a := &Arrays{Components: d, Offsets: []int64{0}}
	add := func(first int, x float32, second int, y float32) {
		row := make([]float32, d)
		row[first], row[second] = x, y
		a.Vectors = append(a.Vectors, row...)
		a.Offsets = append(a.Offsets, int64(len(a.Vectors)/d))
	}
	for i := range 4 {
		for c := 1; c <= 4; c++ { // of one cell: ½ twice, then whole ones
			add(c, .5, 5, .25)
			add(c, .5, 6, -.25)
			add(c, 1, 5, 0)
			add(c, .375+float32(c%2)/8, 6, .125)
		}
		for range 8 {
			add(0, 1, 1, 0)
		}
		add(7, .125, 5+i%2, float32(1-2*(i/2))/8)
	}
	return a
}

// TestReseeded: which cell gets which token does not depend on where the tokens are.
func TestReseeded(t *testing.T) {
	docs, dev, most := alike(), fast(t), int64(0)
	for seed := range uint64(24) {
		o := Options{Bits: 2, Seed: seed, Iterations: 1 + int(seed%2), ChunkTokens: 16, Centroids: 16 + int(seed%3)*8}
		want := oracle(t, docs, o)
		for _, memory := range []int64{0, 1} {
			o.DeviceMemory = memory
			got, s, err := InMemory(ctx(), dev, streamed{docs}, o)
			require.NoError(t, err)
			require.Equal(t, memory == 0, s.Resident)
			require.Equal(t, want, got, "seed %d, resident %v, %d moved", seed, s.Resident, s.Reseeded)
			most = max(most, s.Reseeded)
		}
	}
	require.GreaterOrEqual(t, most, int64(3))
}
