package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// TestWGMMAPlan: which tile a launch gets, and that partial maxima fit the scratch that was asked for.
func TestWGMMAPlan(t *testing.T) {
	for _, c := range []struct {
		name           string
		nq, nd, lq, ld int64
		d              int64
		rows           int64
		split          bool
		blocks         int64
	}{
		{"text-short", 1, 1000, 32, 300, 128, 32, false, 132},
		{"one document", 1, 1, 32, 100, 128, 32, false, 132},
		{"two queries", 2, 1000, 32, 300, 128, 64, false, 132},
		{"text-long", 1, 1000, 32, 1024, 128, 32, false, 264},
		{"mxbai-10k", 1, 10000, 32, 300, 64, 32, false, 264},
		{"large-d", 1, 1000, 32, 300, 512, 32, false, 132},
		{"text-medium", 1, 1000, 128, 1024, 128, 128, false, 132},
		{"train-batch", 32, 32, 32, 300, 128, 256, false, 132},
		{"visual", 1, 1000, 1024, 1024, 128, 256, false, 132},
		{"huge documents", 1, 32, 32, 16384, 128, 32, true, 132},
		{"long documents", 8, 16, 32, 4096, 128, 256, true, 132},
		{"long documents, 128 rows", 4, 16, 32, 4096, 128, 128, true, 132},
		{"long query", 1, 4, 1024, 8192, 128, 256, false, 132},
		{"wide tokens", 8, 1000, 32, 300, 1024, 64, true, 132},
		{"wide tokens, few rows", 1, 1000, 32, 300, 1024, 32, false, 132},
		{"empty", 0, 0, 0, 0, 128, 32, false, 132},
	} {
		r := ragged{queryOff: &kernel.Offsets{N: c.nq, Total: c.nq * c.lq, Max: c.lq}, docOff: &kernel.Offsets{N: c.nd, Total: c.nd * c.ld, Max: c.ld}}
		call := &backend.Call{}
		copy(call.Axes[:], []int64{c.nq * c.lq, c.d, c.nq, c.nd * c.ld, c.nd})
		p := maxsimWGMMA.plan(&r, call, 132)
		require.Equal(t, []any{c.rows, c.split, c.blocks}, []any{p.rows, p.split, p.blocks}, c.name)
		if p.split {
			// A group spans at least half a tile of rows.
			pieces := p.blocks + 2*CeilDiv(call.Axes[axisTQ], p.rows) + 1
			require.LessOrEqual(t, pieces*2*p.rows*4, maxsimWGMMA.workspace(call), c.name)
		}
	}
}

// TestWGMMAPlanScaled: much with factors is read by three blocks a multiprocessor, which have their own stage.
func TestWGMMAPlanScaled(t *testing.T) {
	for _, c := range []struct {
		nd, d  int64
		one    bool
		blocks int64
	}{{10000, 64, true, 396}, {10000, 128, true, 396}, {10000, 144, false, 132}, {10000, 48, false, 132}, {1000, 64, false, 132}} {
		r := ragged{queryOff: &kernel.Offsets{N: 1, Total: 32, Max: 32}, docOff: &kernel.Offsets{N: c.nd, Total: c.nd * 300, Max: 300}}
		call := &backend.Call{}
		copy(call.Axes[:], []int64{32, c.d, 1, c.nd * 300, c.nd})
		p := scaledWGMMA.plan(&r, call, 132)
		require.Equal(t, []any{c.one, c.blocks, false}, []any{p.one, p.blocks, p.split}, "%d documents, d %d", c.nd, c.d)
	}
}

// TestTileShared: the stages that the host asks for are those that the sources state.
func TestTileShared(t *testing.T) {
	f := mmaForm{span: 256, rows: 32}
	require.Equal(t, 49152, f.shared(false))
	require.Equal(t, 49920, f.shared(true))
	f = mmaForm{rows: 128}
	require.Equal(t, 81920, f.shared(false))
	require.Equal(t, 82944, f.shared(true))
}
