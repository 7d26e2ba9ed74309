package kernels

import (
	"math"

	"github.com/likbench/likbench/backend/kernel"
)

// deriveHardest keeps offset + rows ≤ columns and the size of the loss.
func deriveHardest(c *kernel.Case) {
	offset, _ := c.Attrs["Offset"].(int)
	c.Dims["cols"] = max(c.Dims["cols"], c.Dims["rows"]+int64(offset), 2)
	c.Dims["o"] = 1
	if red, _ := c.Attrs["Reduction"].(Reduction); red == ReduceNone {
		c.Dims["o"] = c.Dims["rows"]
	}
}

func hardestCases(backward bool) []kernel.Case {
	mk := func(name string, rows, cols int64, temperature float64, offset int, red Reduction, tie Tie, fill func(kernel.Rand, []float64)) kernel.Case {
		c := kernel.Case{Name: name, Dims: kernel.Dims{"rows": rows, "cols": cols},
			Attrs: map[string]any{"Temperature": temperature, "Offset": offset, "Reduction": red}}
		if backward {
			c.Attrs["Tie"] = tie
		}
		if fill != nil {
			c.Fill = fills{"Score": fill}
		}
		deriveHardest(&c)
		return c
	}
	bad := func(c kernel.Case) kernel.Case { c.Faults = true; return c }
	return []kernel.Case{
		mk("two", 2, 2, 1, 0, ReduceNone, TieLowest, nil),
		mk("mean", 5, 5, 1, 0, ReduceMean, TieLowest, nil),
		mk("sum", 7, 9, .25, 2, ReduceSum, TieLowest, nil),
		mk("wide", 3, 700, .05, 600, ReduceNone, TieLowest, nil),
		mk("ties", 6, 33, 1, 1, ReduceNone, TieLowest, fillIntegers),
		mk("ties-split", 6, 33, 1, 1, ReduceMean, TieEvenSplit, fillIntegers),
		mk("extreme", 4, 8, 1, 0, ReduceNone, TieEvenSplit, fillExtreme),
		mk("lost-negatives", 4, 40, 1, 0, ReduceSum, TieLowest, fillLost),
		mk("many", 300, 310, 1, 3, ReduceMean, TieLowest, nil),
		mk("empty-mean", 0, 4, 1, 0, ReduceMean, TieLowest, nil),
		mk("empty-none", 0, 4, 1, 0, ReduceNone, TieLowest, nil),
		bad(mk("nan", 5, 9, 1, 0, ReduceNone, TieLowest, fillOne(math.NaN(), 13))),
		bad(mk("inf", 5, 9, 1, 0, ReduceMean, TieLowest, fillOne(math.Inf(1), 22))),
		bad(mk("positive", 5, 9, 1, 0, ReduceNone, TieEvenSplit, fillOne(negInf, 20))),
		mk("lost-whole", 6, 256, 1, 8, ReduceSum, TieLowest, fillLostWide), // rows of whole vectors, for which bodies have ways of their own
		mk("lost-wide", 3, 4096, .1, 1000, ReduceNone, TieEvenSplit, fillLostWide),
		bad(mk("nan-whole", 5, 256, 1, 0, ReduceNone, TieLowest, fillOne(math.NaN(), 700))),
		bad(mk("nan-wide", 3, 4096, 1, 1000, ReduceNone, TieLowest, fillOne(math.NaN(), 4096+3001))),
		bad(mk("inf-whole", 5, 256, 1, 0, ReduceMean, TieLowest, fillOne(math.Inf(1), 700))),
		bad(mk("positive-wide", 3, 4096, 1, 1000, ReduceSum, TieEvenSplit, fillOne(negInf, 4096+1001))),
		bad(mk("no-negative", 2, 2, 1, 0, ReduceNone, TieLowest, fillOne(negInf, 1))),
	}
}

// fillExtreme draws gaps of ten thousand.
func fillExtreme(r kernel.Rand, x []float64) {
	for i := range x {
		x[i] = float64(r.Int64N(3)-1) * 10000
	}
}

// fillLostWide makes about half of the scores −∞, but none of the first rows' positives of the cases above.
func fillLostWide(r kernel.Rand, x []float64) {
	for i := range x {
		x[i] = r.NormFloat64()
		column := i % 4096
		if len(x) < 4096 {
			column = i % 256
		}
		near := column >= 8 && column < 14 || column >= 1000 && column < 1003
		if !near && r.Int64N(2) == 0 {
			x[i] = negInf
		}
	}
}

// fillLost makes about half of the scores −∞, but none on the diagonal of 40 columns.
func fillLost(r kernel.Rand, x []float64) {
	for i := range x {
		x[i] = r.NormFloat64()
		if i%41 != 0 && r.Int64N(2) == 0 {
			x[i] = negInf
		}
	}
}

// fillOne is small integers but for one element.
func fillOne(v float64, at int) func(kernel.Rand, []float64) {
	return func(r kernel.Rand, x []float64) {
		fillIntegers(r, x)
		if at < len(x) {
			x[at] = v
		}
	}
}

func hardestBench(absent ...string) []kernel.Case {
	mk := func(name string, n int64) kernel.Case {
		c := kernel.Case{Name: name, Dims: kernel.Dims{"rows": n, "cols": n}, Absent: absent,
			Attrs: map[string]any{"Temperature": .02, "Reduction": ReduceMean}}
		deriveHardest(&c)
		return c
	}
	return []kernel.Case{mk("batch-128", 128), mk("batch-1024", 1024), mk("batch-4096", 4096)}
}
