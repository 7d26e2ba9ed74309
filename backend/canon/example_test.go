package canon_test

import (
	"fmt"

	"github.com/likbench/likbench/backend/canon"
)

// Two documents, scored and ranked with the same bits on every processor.
func Example() {
	const dim = 2
	query, err := canon.NewQuery([]float32{1, 0, 0, 1}, nil, dim, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	var best canon.Selector[canon.Fixed, int]
	best.Reset(2)
	for id, doc := range [][]float32{{0.5, 0.5}, {0.75, 0, 0, 0.5}} {
		score, err := query.Score(doc, nil, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		best.Push(score, id)
	}
	for _, r := range best.AppendTo(nil) {
		fmt.Println(r.ID, query.Scale().Float(r.Score))
	}
	// Output:
	// 1 1.25
	// 0 1
}
