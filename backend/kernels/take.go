package kernels

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// TakeArgs are the operands of [Take]. Axes: b rows of n numbers, k positions a row.
type TakeArgs struct {
	Value backend.View `kernel:"in i32 b,n"`
	Index backend.View `kernel:"in i32 b,k"`
	Out   backend.View `kernel:"out i32 b,k"`
}

// Take gathers numbers by their positions in a row: what the positions that [TopK] returns
// stand for.
var Take = kernel.Declare(kernel.Spec[TakeArgs]{
	Name: "take", Family: "selection",
	Source: "definition",
	Doc:    "Per row, the numbers at the given positions; −1 for a position outside the row.",
	Reference: func(r *kernel.Ref, a *TakeArgs) error {
		value, index := r.Ints(&a.Value), r.Ints(&a.Index)
		n, k := a.Value.Dims[1], a.Index.Dims[1]
		out := make([]int64, len(index))
		for e, at := range index {
			out[e] = -1
			if at >= 0 && at < n {
				out[e] = value[int64(e)/k*n+at]
			}
		}
		r.WriteInts(&a.Out, out)
		return nil
	},
	Tolerance: map[string]kernel.Tolerance{"Out": kernel.Exact{}},
	Cost: func(c *backend.Call) kernel.Cost {
		return kernel.Cost{Read: 2 * viewBytes(c, 1), Write: viewBytes(c, 2)}
	},
	Independent: "k",
	Cases: []kernel.Case{
		{Name: "one", Dims: kernel.Dims{"b": 1, "n": 1, "k": 1}, Fill: fills{"Index": fillBelow(0, 1)}},
		{Name: "small", Dims: kernel.Dims{"b": 3, "n": 20, "k": 7}, Fill: fills{"Index": fillBelow(0, 20)}},
		{Name: "outside", Dims: kernel.Dims{"b": 5, "n": 33, "k": 70}, Fill: fills{"Index": fillBelow(-5, 40)}},
		{Name: "long", Dims: kernel.Dims{"b": 2, "n": 5000, "k": 1300}, Fill: fills{"Index": fillBelow(-1, 5000)}},
		{Name: "empty-rows", Dims: kernel.Dims{"b": 2, "n": 0, "k": 3}, Fill: fills{"Index": fillBelow(-1, 1)}},
		{Name: "no-positions", Dims: kernel.Dims{"b": 2, "n": 4, "k": 0}, Fill: fills{"Index": fillBelow(0, 4)}},
		{Name: "no-rows", Dims: kernel.Dims{"b": 0, "n": 4, "k": 3}, Fill: fills{"Index": fillBelow(0, 4)}},
	},
	Bench: []kernel.Case{
		{Name: "batch-64", Dims: kernel.Dims{"b": 64, "n": 20000, "k": 256}, Fill: fills{"Index": fillBelow(0, 20000)}, Note: "documents that go on, 64 queries"},
	},
})
