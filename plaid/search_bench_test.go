package plaid_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/plaid"
	"github.com/likbench/likbench/simd"
)

// BenchmarkSearch is what a search costs beside its kernels: on an index as small as this one
// they take little.
func BenchmarkSearch(b *testing.B) {
	docs := collection(201, 16, lengths(20, 300, 8)...)
	q := part(collection(202, 16, 8), 0)
	ix := load(b, simd.New(simd.WithWorkers(1)), built(b, docs, 64, 2), plaid.LoadOptions{Screen: plaid.ScreenInt8})
	for _, way := range []string{"scan", "probe", "bounds"} {
		b.Run(way, func(b *testing.B) {
			s := searcher(b, ix)
			b.ReportAllocs()
			for b.Loop() {
				_, _, err := s.Search(context.Background(), q, 10, ways[way])
				require.NoError(b, err)
			}
		})
	}
}
