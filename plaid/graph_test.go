//go:build !nodriver

package plaid_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/likbench/likbench/backend/all" // TestSameAnswerEverywhere takes what opens
	"github.com/likbench/likbench/cuda"
	"github.com/likbench/likbench/cuda/driver"
	"github.com/likbench/likbench/cuda/driver/fake"
	"github.com/likbench/likbench/plaid"
	"github.com/likbench/likbench/plaid/format"
	"github.com/likbench/likbench/simd"
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
		for i := range 9 {
			if i == 4 {
				s.Apart(true)
			}
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

// looks is a context that is cancelled when it has been looked at so many times.
type looks struct {
	context.Context
	left int
}

func (c *looks) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestCancelledSearchesGoOn stops a search at every look at the context, when its launches are
// prepared, recorded and replayed, and searches on.
func TestCancelledSearchesGoOn(t *testing.T) {
	src := built(t, collection(161, 16, lengths(19, 200, 12)...), 40, 2)
	queries := collection(162, 16, 4, 9, 1)
	for _, screen := range []plaid.Screen{plaid.ScreenNone, plaid.ScreenInt8, plaid.ScreenF16} {
		ix := load(t, simd.New(simd.WithWorkers(2)), src, plaid.LoadOptions{Screen: screen})
		for name, o := range ways {
			want, _, err := searcher(t, ix).SearchBatch(context.Background(), queries, 5, o)
			require.NoError(t, err)
			for before := range 3 { // searches that are not stopped
				for left := 0; ; left++ {
					s := searcher(t, ix)
					for range before {
						_, _, err := s.SearchBatch(context.Background(), queries, 5, o)
						require.NoError(t, err)
					}
					_, _, err := s.SearchBatch(&looks{context.Background(), left}, queries, 5, o)
					if err == nil {
						break
					}
					require.ErrorIs(t, err, context.Canceled)
					for range 3 {
						hits, _, err := s.SearchBatch(context.Background(), queries, 5, o)
						require.NoError(t, err, "%s, %s: stopped at look %d of search %d", screen, name, left, before)
						require.Equal(t, want, hits, "%s, %s: stopped at look %d of search %d", screen, name, left, before)
					}
				}
			}
		}
	}
}

// BenchmarkSearchHost is the host's part of a search on CUDA: the driver computes nothing. The
// preset is one that does not probe more cells where no document is reached.
func BenchmarkSearchHost(b *testing.B) {
	const documents, length, dim, k = 20_000, 122, 128, 16_384
	fakes := cuda.New(cuda.WithDriver(func() (driver.API, error) { return fake.New(fake.Hopper(0)), nil }))
	m := &format.Memory{Components: dim, Width: 2, Cells: make([]float32, k*dim), TokenCodes: make([]int32, documents*length), Residuals: make([]byte, documents*length*dim/4)}
	m.Table.Weights = []float32{-.1, -.03, .03, .1}
	for i := range m.Cells {
		m.Cells[i] = float32(1 / math.Sqrt(dim))
	}
	for j := range documents + 1 {
		m.DocumentOffsets = append(m.DocumentOffsets, int64(j*length))
	}
	for j := range m.TokenCodes {
		m.TokenCodes[j] = int32(j % k)
	}
	o := plaid.SearchOptions{Preset: plaid.CompatFastPlaid, Probe: 4, Candidates: 1024, Exact: 128}
	q := batch(collection(151, dim, 32, 32, 32, 32), 64)
	for _, screen := range []plaid.Screen{plaid.ScreenNone, plaid.ScreenInt8} {
		ix := load(b, fakes, m, plaid.LoadOptions{Screen: screen})
		for _, n := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s-%d", screen, n), func(b *testing.B) {
				s, some := searcher(b, ix), batch(q, n)
				b.ReportAllocs()
				for b.Loop() {
					_, _, err := s.SearchBatch(context.Background(), some, 10, o)
					require.NoError(b, err)
				}
			})
		}
	}
}
