package store_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/likbench/likbench/plaid/store"
)

func Example() {
	parent, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "index")

	// Two centroids of eight components, one bit of residual for each.
	c := store.Codec{
		Dim: 8, Bits: 1, Centroids: []float32{7: 1, 8: 1, 15: 0},
		Cutoffs: []float32{0}, Weights: []float32{-0.1, 0.1},
	}
	w, err := store.Create(dir, c, store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	// Documents of two tokens and of one.
	block := store.Block{Lens: []int64{2, 1}, Codes: []int32{0, 1, 1}, Residuals: []byte{0x80, 0xff, 0x0f}}
	if err := w.Append(block); err != nil {
		log.Fatal(err)
	}
	if _, err := w.Commit(); err != nil {
		log.Fatal(err)
	}
	before, err := store.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer before.Close()

	if err := w.Delete([]int64{0}); err != nil {
		log.Fatal(err)
	}
	if _, err := w.Commit(); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	after, err := store.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer after.Close()

	for _, s := range []*store.Snapshot{before, after} {
		offsets, documents := s.Lists()
		fmt.Println("generation", s.Generation(), "live", s.Live(), "of", s.Documents(), "ids", s.IDs())
		fmt.Println("lists", offsets, documents)
	}
	// Output:
	// generation 1 live 2 of 2 ids [0 1]
	// lists [0 1 3] [0 0 1]
	// generation 2 live 1 of 2 ids [0 1]
	// lists [0 1 3] [0 0 1]
}
