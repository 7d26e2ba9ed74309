package build

import (
	"fmt"
	"iter"

	"github.com/likbench/likbench/backend/kernel"
)

// Collection is what an index is built from. It is read several times, always from the
// first document to the last, and never held: memory is bounded by the sample, not by it.
type Collection interface {
	// Dim is the number of components of a token.
	Dim() int
	// Documents yields the token vectors of each document, row-major, Dim components a
	// token; a document may have none. A slice is read before the next document is asked
	// for, and not changed. Each call yields the same documents from the start. An error
	// ends the build.
	Documents() iter.Seq2[[]float32, error]
}

// Named is a collection whose documents bring their ids: ascending, and above all that the
// index has given. Documents of other collections are numbered.
type Named interface {
	Collection
	ID(document int64) int64
}

// Arrays is a collection in memory: document j is rows Offsets[j] to Offsets[j+1] of
// Vectors, each of Components components. Offsets has one entry more than there are
// documents and starts at 0.
type Arrays struct {
	Components int
	Vectors    []float32
	Offsets    []int64
}

// Dim implements Collection.
func (a *Arrays) Dim() int { return a.Components }

// Documents implements Collection.
func (a *Arrays) Documents() iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		if err := a.check(); err != nil {
			yield(nil, err)
			return
		}
		d := int64(a.Components)
		for j := 1; j < len(a.Offsets); j++ {
			if !yield(a.Vectors[a.Offsets[j-1]*d:a.Offsets[j]*d], nil) {
				return
			}
		}
	}
}

func (a *Arrays) check() error {
	_, total, _, err := kernel.CheckOffsets(a.Offsets)
	if err != nil {
		return fmt.Errorf("build: offsets of the collection: %w", err)
	}
	if a.Components < 1 || len(a.Vectors)%a.Components != 0 || total != int64(len(a.Vectors)/a.Components) {
		return fmt.Errorf("build: %d tokens by offsets, %d values of %d components: %w", total, len(a.Vectors), a.Components, ErrWidth)
	}
	return nil
}
