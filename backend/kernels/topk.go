package kernels

import (
	"math"
	"sort"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// TopKArgs are the operands of [TopK]. Axes: b rows of n scores, k results a row.
type TopKArgs struct {
	Score backend.View `kernel:"in f32 b,n strided"`
	Live  backend.View `kernel:"in i64 b opt count=n"` // scores of each row that count, clamped to [0, n]
	Label backend.View `kernel:"in i32 b,n opt"`       // numbers of the scores; absent = their positions
	Value backend.View `kernel:"out f32 b,k"`
	Index backend.View `kernel:"out i32 b,k"`
}

// TopK gives each row's k largest scores in order: score descending, then index ascending;
// NaN ranks last, by index; −0 equals +0. With Label, Index holds the label of each score
// instead of its position; ties are still broken by position. Where fewer than k scores are
// live, the rest of the row is −∞ with index −1.
var TopK = kernel.Declare(kernel.Spec[TopKArgs]{
	Name: "topk", Family: "selection",
	Source: "definition; ties and NaN as in docs/semantics.md",
	Doc: "The k largest scores of each row in order: score descending, index ascending, NaN last by index, −0 equal to +0. " +
		"With Label, Index holds labels instead of positions, in the same order. " +
		"Rows with fewer than k live scores are filled with −∞ and index −1. Any k ≤ n.",
	Check: func(a *TopKArgs) error {
		n, k := a.Score.Dims[1], a.Value.Dims[1]
		if n > math.MaxInt32 {
			return argument("topk", "Score", "n", "more scores in a row than an index holds", math.MaxInt32, n)
		}
		if k > n {
			return argument("topk", "Value", "k", "more results than scores", n, k)
		}
		return nil
	},
	Reference: topKRef,
	Tolerance: map[string]kernel.Tolerance{"Value": kernel.Exact{}, "Index": kernel.Exact{}},
	Cost: func(c *backend.Call) kernel.Cost {
		read := viewBytes(c, 0, 1)
		if !c.Operands[2].Absent() {
			read += viewBytes(c, 4) // the labels of the results
		}
		return kernel.Cost{Read: read, Write: viewBytes(c, 3, 4)}
	},
	Independent: "b",
	Derive:      func(c *kernel.Case) { c.Dims["k"] = min(c.Dims["k"], c.Dims["n"]) },
	Cases: []kernel.Case{
		{Name: "one", Dims: kernel.Dims{"b": 1, "n": 1, "k": 1}, Absent: alone},
		{Name: "small", Dims: kernel.Dims{"b": 3, "n": 50, "k": 7}, Absent: alone},
		{Name: "all", Dims: kernel.Dims{"b": 2, "n": 300, "k": 300}, Absent: alone},
		{Name: "ties", Dims: kernel.Dims{"b": 4, "n": 777, "k": 300}, Absent: alone, Fill: fills{"Score": fillIntegers}},
		{Name: "specials", Dims: kernel.Dims{"b": 3, "n": 500, "k": 500}, Absent: alone, Fill: fills{"Score": fillSpecials}},
		{Name: "equal", Dims: kernel.Dims{"b": 2, "n": 3000, "k": 1200}, Absent: alone, Fill: fills{"Score": fillConstant(-2)}},
		{Name: "crowded", Dims: kernel.Dims{"b": 2, "n": 9000, "k": 1100}, Absent: alone, Fill: fills{"Score": fillSpecials}},
		{Name: "few-of-many", Dims: kernel.Dims{"b": 2, "n": 9001, "k": 33}, Absent: alone},
		{Name: "live", Dims: kernel.Dims{"b": 5, "n": 90, "k": 20}, Absent: []string{"Label"}, Fill: fills{"Live": fillLive}},
		{Name: "labels", Dims: kernel.Dims{"b": 3, "n": 700, "k": 300}, Absent: []string{"Live"}, Fill: fills{"Score": fillIntegers, "Label": fillWords}},
		{Name: "live-labels", Dims: kernel.Dims{"b": 5, "n": 90, "k": 20}, Fill: fills{"Live": fillLive, "Label": fillBelow(-1, 1000)}},
		{Name: "long-labels", Dims: kernel.Dims{"b": 2, "n": 40000, "k": 200}, Absent: []string{"Live"}, Fill: fills{"Label": fillWords}},
		{Name: "many-labels", Dims: kernel.Dims{"b": 2, "n": 9000, "k": 5000}, Absent: []string{"Live"}, Fill: fills{"Label": fillWords}},
		{Name: "large-k", Dims: kernel.Dims{"b": 1, "n": 11429, "k": 11429}, Absent: alone, Note: "ranking a whole collection"},
		{Name: "long-row", Dims: kernel.Dims{"b": 1, "n": 40000, "k": 100}, Absent: alone, Fill: fills{"Score": fillIntegers}},
		{Name: "no-results", Dims: kernel.Dims{"b": 2, "n": 5, "k": 0}, Absent: alone},
		{Name: "no-rows", Dims: kernel.Dims{"b": 0, "n": 5, "k": 2}, Absent: alone},
	},
	Bench: []kernel.Case{
		{Name: "rerank-1k-10", Dims: kernel.Dims{"b": 1, "n": 1000, "k": 10}, Absent: alone},
		{Name: "collection", Dims: kernel.Dims{"b": 225, "n": 1400, "k": 100}, Absent: alone},
		{Name: "million-100", Dims: kernel.Dims{"b": 1, "n": 1 << 20, "k": 100}, Absent: alone},
		{Name: "candidates", Dims: kernel.Dims{"b": 1, "n": 20000, "k": 1024}, Fill: fills{"Live": fillConstant(4000), "Label": fillBelow(0, 20000)}, Note: "a search's first selection"},
		{Name: "candidates-64", Dims: kernel.Dims{"b": 64, "n": 20000, "k": 1024}, Fill: fills{"Live": fillConstant(4000), "Label": fillBelow(0, 20000)}, Note: "those of 64 queries"},
		{Name: "second", Dims: kernel.Dims{"b": 1, "n": 1024, "k": 128}, Absent: []string{"Live"}, Fill: fills{"Label": fillBelow(0, 20000)}, Note: "a search's last selection"},
		{Name: "rank-all", Dims: kernel.Dims{"b": 1, "n": 11429, "k": 11429}, Absent: alone},
	},
})

// alone is what a case leaves out that is about scores only.
var alone = []string{"Live", "Label"}

// fillLive draws live counts, some of them out of range.
func fillLive(r kernel.Rand, x []float64) {
	for i := range x {
		x[i] = float64(r.Int64N(120) - 10)
	}
}

func topKRef(r *kernel.Ref, a *TopKArgs) error {
	score, live := r.Read(&a.Score), r.Ints(&a.Live)
	b, n, k := int(a.Score.Dims[0]), int(a.Score.Dims[1]), int(a.Value.Dims[1])
	label := r.Ints(&a.Label)
	value, index := make([]float64, b*k), make([]int64, b*k)
	for i := range b {
		row := score[i*n : (i+1)*n]
		if live != nil {
			row = row[:min(max(live[i], 0), int64(n))]
		}
		order := make([]int, len(row))
		for j := range order {
			order[j] = j
		}
		sort.SliceStable(order, func(x, y int) bool { return ranksBefore(row[order[x]], row[order[y]]) })
		for j := range k {
			value[i*k+j], index[i*k+j] = negInf, -1
			if j < len(order) {
				value[i*k+j], index[i*k+j] = row[order[j]], int64(order[j])
				if label != nil {
					index[i*k+j] = label[i*n+order[j]]
				}
			}
		}
	}
	r.Write(&a.Value, value)
	r.WriteInts(&a.Index, index)
	return nil
}

// ranksBefore: larger first, NaN last; equal scores keep their order.
func ranksBefore(x, y float64) bool {
	if math.IsNaN(x) || math.IsNaN(y) {
		return !math.IsNaN(x)
	}
	return x > y
}
