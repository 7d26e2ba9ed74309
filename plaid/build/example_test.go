package build_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/likbench/likbench/backend"
	_ "github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/plaid/build"
	"github.com/likbench/likbench/plaid/store"
)

// An index of three documents, one of them empty, made on whatever device there is, and
// another document added to it.
func Example() {
	dir, err := os.MkdirTemp("", "index")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	dir = filepath.Join(dir, "three")
	dev, _, err := backend.Select("auto")
	if err != nil {
		panic(err)
	}
	defer dev.Close()

	docs := &build.Arrays{Components: 8, Offsets: []int64{0, 2, 2, 3}, Vectors: []float32{
		1, 0, 0, 0, 0, 0, 0, 0,
		0, 1, 0, 0, 0, 0, 0, 0,
		0, 0.6, 0.8, 0, 0, 0, 0, 0,
	}}
	s, err := build.Build(context.Background(), dev, dir, docs, build.Options{Bits: 2, Seed: 1})
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Documents, "documents,", s.Tokens, "tokens,", s.Centroids, "centroids")

	more := &build.Arrays{Components: 8, Offsets: []int64{0, 1}, Vectors: docs.Vectors[:8]}
	_, drift, err := build.Add(context.Background(), dev, dir, more, build.AddOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(drift.Tokens, "token added,", drift.Far, "far from every centroid")
	x, err := store.Open(dir)
	if err != nil {
		panic(err)
	}
	defer x.Close()
	fmt.Println(x.Documents(), "documents in generation", x.Generation())
	// Output:
	// 3 documents, 3 tokens, 3 centroids
	// 1 token added, 0 far from every centroid
	// 4 documents in generation 2
}
