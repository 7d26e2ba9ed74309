// Command static scores two documents with what links without a loader.
package main

import (
	"fmt"
	"os"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/plaid"
	_ "github.com/likbench/likbench/simd"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "static:", err)
		os.Exit(1)
	}
}

func run() error {
	dev, _, err := backend.Select("auto")
	if err != nil {
		return err
	}
	corpus, err := plaid.NewCorpus(dev, plaid.Tokens{Vectors: []float32{1, 0, 0, 1, .5, .75}, Offsets: []int64{0, 2, 3}, Dim: 2}, plaid.Options{})
	if err != nil {
		return err
	}
	s, err := corpus.NewScorer(plaid.Limits{Queries: 1, Tokens: 2, K: 2})
	if err != nil {
		return err
	}
	ids, scores := make([]int32, 2), make([]float32, 2)
	if err := s.TopK(plaid.Tokens{Vectors: []float32{1, 0, 0, 1}, Offsets: []int64{0, 2}, Dim: 2}, 2, ids, scores); err != nil {
		return err
	}
	fmt.Println(dev.Info().Backend, ids, scores)
	return nil
}
