package plaid_test

import (
	"fmt"

	"github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/plaid"
)

func ExampleCorpus() {
	dev, err := host.Backend{}.Open(0) // backend.Select("auto") in an application
	if err != nil {
		fmt.Println(err)
		return
	}
	// Two documents of two and one tokens, two components each.
	corpus, err := plaid.NewCorpus(dev, plaid.Tokens{
		Vectors: []float32{1, 0, 0, 1, .5, .75},
		Offsets: []int64{0, 2, 3},
		Dim:     2,
	}, plaid.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	scorer, err := corpus.NewScorer(plaid.Limits{Queries: 1, Tokens: 2, K: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	query := plaid.Tokens{Vectors: []float32{1, 0, 0, 1}, Offsets: []int64{0, 2}, Dim: 2}
	ids, scores := make([]int32, 2), make([]float32, 2)
	err = scorer.TopK(query, 2, ids, scores)
	fmt.Println(ids, scores, err)
	fmt.Println(scorer.Close(), corpus.Close(), dev.Close())
	// Output:
	// [0 1] [2 1.25] <nil>
	// <nil> <nil> <nil>
}
