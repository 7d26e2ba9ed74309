package plaid_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/plaid"
)

// TestCompatPLAIDThreshold: a cell that scores the threshold itself counts.
func TestCompatPLAIDThreshold(t *testing.T) {
	src := built(t, collection(5, 16, lengths(2, 300, 12, 4, 17)...), 64, 2)
	ix := load(t, host.Backend{}, src, plaid.LoadOptions{})
	s, o := searcher(t, ix), newOracle(t, src, ix.TokenNorm())
	q, tried := part(collection(7, 16, 2), 0), 0
	for c := range src.K() {
		threshold := canon.Dot(q[:16], src.Centroids()[c*16:(c+1)*16])
		if threshold <= .3 {
			continue
		}
		hits, stats, err := s.Search(context.Background(), q, 2, plaid.SearchOptions{Preset: plaid.CompatPLAID, Probe: 3, Candidates: 8, Threshold: threshold})
		require.NoError(t, err)
		same(t, o.stanford(t, q, 2, 3, 8, threshold), hits, fmt.Sprintf("cell %d: %v", c, stats))
		tried++
	}
	require.Greater(t, tried, 5)
}
