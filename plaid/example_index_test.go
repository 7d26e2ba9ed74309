package plaid_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/plaid"
	"github.com/likbench/likbench/plaid/format"
)

// check ends an example.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// Open an index that fast-plaid wrote, and search it. A folder of package store is opened by
// store.Open instead of format.Open; the rest is the same.
func ExampleLoad() {
	dev, err := host.Backend{}.Open(0) // backend.Select("auto") in an application
	check(err)
	index, err := format.Open("../internal/golden/testdata/plaid-index/fp17_d32_b4.index")
	check(err)
	ix, err := plaid.Load(dev, index, plaid.LoadOptions{})
	check(err)
	s, err := ix.NewSearcher() // one for each goroutine
	check(err)
	query := index.Centroids()[7*32 : 9*32] // two tokens
	hits, stats, err := s.Search(context.Background(), query, 3, plaid.SearchOptions{})
	check(err)
	for _, h := range hits {
		fmt.Printf("document %d scores %.4f\n", h.ID, h.Score)
	}
	fmt.Println(stats.Method, stats.Exhaustive)
	check(errors.Join(s.Close(), ix.Close(), index.Close(), dev.Close()))
	// Output:
	// document 6 scores 1.3219
	// document 22 scores 1.1408
	// document 20 scores 1.0288
	// scan true
}

// Search only among some documents, and prove that nothing better was missed.
func ExampleSearcher_Search_filter() {
	dev, _ := host.Backend{}.Open(0)
	index, _ := format.Open("../internal/golden/testdata/plaid-index/fp17_d32_b4.index")
	ix, _ := plaid.Load(dev, index, plaid.LoadOptions{})
	s, _ := ix.NewSearcher()
	o := plaid.SearchOptions{Preset: plaid.Exact, Filter: []int64{30, 4, 17, 5}}
	query := index.Centroids()[:3*32]
	hits, stats, err := s.Search(context.Background(), query, 2, o)
	check(err)
	for _, h := range hits {
		fmt.Printf("document %d scores %.4f\n", h.ID, h.Score)
	}
	fmt.Println(stats.Method, stats.Exhaustive)
	_, _, err = s.Search(context.Background(), query, 2, plaid.SearchOptions{Filter: []int64{40, 3}})
	fmt.Println(err)
	check(errors.Join(s.Close(), ix.Close(), index.Close(), dev.Close()))
	// Output:
	// document 5 scores 1.0051
	// document 30 scores 0.9378
	// scan true
	// plaid: filter: ids [40]: no such document
}
