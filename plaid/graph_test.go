//go:build !nodriver

package plaid_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/likbench/likbench/backend/all" // TestSameAnswerEverywhere takes what opens
	"github.com/likbench/likbench/cuda"
	"github.com/likbench/likbench/cuda/driver"
	"github.com/likbench/likbench/cuda/driver/fake"
	"github.com/likbench/likbench/plaid"
)

// TestSequencesAreLegalOnCUDA runs every sequence on the driver that computes nothing: each
// is prepared, launched, recorded and replayed by CUDA's rules, with shapes that grow and
// shrink. Its answers mean nothing.
func TestSequencesAreLegalOnCUDA(t *testing.T) {
	b := cuda.New(cuda.WithDriver(func() (driver.API, error) { return fake.New(fake.Hopper(0)), nil }))
	docs := collection(141, 128, lengths(17, 300, 40, 7)...)
	src := built(t, docs, 50, 2)
	queries := collection(142, 128, 5, 1, 17)
	for _, screen := range []plaid.Screen{plaid.ScreenNone, plaid.ScreenF16, plaid.ScreenInt8, plaid.ScreenAuto} {
		s := searcher(t, load(t, b, src, plaid.LoadOptions{Screen: screen}))
		for i := range 4 {
			for name, o := range ways {
				if name == "bounds" { // reads scores that nobody wrote
					continue
				}
				for _, timings := range []bool{false, true} {
					o.Timings = timings
					_, stats, err := s.SearchBatch(context.Background(), batch(queries, 1+i%3*2), 3, o)
					if err != nil { // documents that nobody wrote
						require.ErrorContains(t, err, "plaid: the device returned document", "%s, %s", screen, name)
						require.NotContains(t, err.Error(), "\n", "and nothing else")
						continue
					}
					require.Equal(t, timings, len(stats[0].Stages) > 0)
				}
			}
		}
	}
}
