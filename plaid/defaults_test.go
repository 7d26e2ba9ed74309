package plaid

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPLAIDDefaults: nprobe, t_cs and ndocs by k, as ColBERT's searcher sets them.
func TestPLAIDDefaults(t *testing.T) {
	for k, want := range map[int]plan{
		1: {probe: 1, threshold: 0.5, first: 256}, 10: {probe: 1, threshold: 0.5, first: 256},
		11: {probe: 2, threshold: 0.45, first: 1024}, 100: {probe: 2, threshold: 0.45, first: 1024},
		101: {probe: 4, threshold: 0.4, first: 4096}, 1024: {probe: 4, threshold: 0.4, first: 4096}, 1025: {probe: 4, threshold: 0.4, first: 4100},
	} {
		require.Equal(t, want, plaidDefaults(k), "k %d", k)
	}
}
