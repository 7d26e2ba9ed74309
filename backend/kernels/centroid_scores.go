package kernels

import (
	"math"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/kernel"
)

// CentroidScoresArgs are the operands of [CentroidScores]. Axes: tq query tokens in all, d
// components, k centroids, p cells to a token. Scores have a row for each centroid.
type CentroidScoresArgs struct {
	Query     backend.View `kernel:"in f32 tq,d"`
	Centroid  backend.View `kernel:"in f32 k,d"`
	Score     backend.View `kernel:"out f32 k,tq opt strided"`
	ScoreHalf backend.View `kernel:"out f16 k,tq opt strided"` // Score rounded once
	Cell      backend.View `kernel:"out i32 tq,p opt"`
	CellScore backend.View `kernel:"out f32 tq,p opt"`
}

// CentroidScores scores query tokens against centroids by canonical dot products and picks
// each token's best cells: score descending, then index ascending, NaN last.
var CentroidScores = kernel.Declare(kernel.Spec[CentroidScoresArgs]{
	Name: "centroid_scores", Family: "plaid",
	Source: "Santhanam et al., PLAID, CIKM 2022, stage 1",
	Doc: "Canonical dot products of centroids and query tokens, a row for each centroid, in float32 and rounded once more to float16 where asked for, " +
		"and the p best cells of each token in order: score descending, index ascending, NaN last, −0 equal to +0. Any output may be absent.",
	Check: func(a *CentroidScoresArgs) error {
		return checkCells("centroid_scores", a.Query.Dims[1], a.Centroid.Dims[0], &a.Cell, &a.CellScore)
	},
	Reference: func(r *kernel.Ref, a *CentroidScoresArgs) error {
		q, c := floats32(r.Read(&a.Query)), floats32(r.Read(&a.Centroid))
		tq, k, d := int(a.Query.Dims[0]), int(a.Centroid.Dims[0]), int(a.Query.Dims[1])
		dots := make([]float32, tq*k)
		canon.Matrix(dots, q, tq, c, k, d)
		writeCells(r, dots, tq, k, &a.Score, &a.ScoreHalf, &a.Cell, &a.CellScore)
		return nil
	},
	Tolerance: map[string]kernel.Tolerance{"Score": kernel.Exact{}, "ScoreHalf": kernel.Exact{}, "Cell": kernel.Exact{}, "CellScore": kernel.Exact{}},
	Cost: func(c *backend.Call) kernel.Cost {
		return kernel.Cost{FLOP: 2 * float64(c.Axes[0]) * float64(c.Axes[1]) * float64(c.Axes[2]), Read: viewBytes(c, 0, 1), Write: viewBytes(c, 2, 3, 4, 5)}
	},
	Derive: deriveCells,
	Cases:  cellCases(nil, nil),
	Bench:  cellBench(nil),
})

func checkCells(name string, d, k int64, cell, score *backend.View) error {
	if d < 1 {
		return argument(name, "Query", "d", "tokens need at least one component", 1, d)
	}
	for _, v := range []*backend.View{cell, score} {
		if !v.Absent() && v.Dims[1] > k {
			return argument(name, "Cell", "p", "more cells than centroids", k, v.Dims[1])
		}
	}
	return checkCentroids(name, k)
}

// writeCells stores dots, tq×k, as rows of centroids and as each token's first cells.
func writeCells(r *kernel.Ref, dots []float32, tq, k int, score, half, cell, cellScore *backend.View) {
	byCentroid := make([]float64, k*tq)
	for t := range tq {
		for c := range k {
			byCentroid[c*tq+t] = float64(dots[t*k+c])
		}
	}
	r.Write(score, byCentroid)
	r.Write(half, byCentroid)
	p := 0
	if !cell.Absent() {
		p = int(cell.Dims[1])
	} else if !cellScore.Absent() {
		p = int(cellScore.Dims[1])
	}
	cells, scores := make([]int64, 0, tq*p), make([]float64, 0, tq*p)
	for t := range tq {
		row := dots[t*k : (t+1)*k]
		for _, c := range topCells(row, p) {
			cells, scores = append(cells, int64(c)), append(scores, float64(row[c]))
		}
	}
	r.WriteInts(cell, cells)
	r.Write(cellScore, scores)
}

func deriveCells(c *kernel.Case) {
	c.Dims["k"], c.Dims["d"] = max(c.Dims["k"], 1), max(c.Dims["d"], 1)
	c.Dims["p"] = min(c.Dims["p"], c.Dims["k"])
}

// cellCases are the cases of both forms: data for all of them, and integers that make ties.
func cellCases(data, ties fills) []kernel.Case {
	if ties == nil {
		ties = fills{"Query": fillIntegers, "Centroid": fillIntegers}
	}
	special := data
	if data == nil {
		special = fills{"Query": fillIntegers, "Centroid": fillSpecials}
	}
	cases := []kernel.Case{
		{Name: "one", Dims: kernel.Dims{"tq": 1, "k": 1, "d": 1, "p": 1}, Fill: data},
		{Name: "small", Dims: kernel.Dims{"tq": 5, "k": 37, "d": 33, "p": 3}, Fill: data},
		{Name: "aligned", Dims: kernel.Dims{"tq": 32, "k": 256, "d": 64, "p": 8}, Fill: data},
		{Name: "d128", Dims: kernel.Dims{"tq": 21, "k": 515, "d": 128, "p": 8}, Absent: []string{"ScoreHalf"}, Fill: data},
		{Name: "cells-only", Dims: kernel.Dims{"tq": 9, "k": 1100, "d": 40, "p": 4}, Absent: []string{"Score", "ScoreHalf", "CellScore"}, Fill: data},
		{Name: "scores-only", Dims: kernel.Dims{"tq": 33, "k": 70, "d": 24, "p": 0}, Absent: []string{"ScoreHalf", "Cell", "CellScore"}, Fill: data},
		{Name: "half-only", Dims: kernel.Dims{"tq": 17, "k": 70, "d": 24, "p": 2}, Absent: []string{"Score", "Cell"}, Fill: data},
		{Name: "all-cells", Dims: kernel.Dims{"tq": 3, "k": 130, "d": 16, "p": 130}, Fill: data},
		{Name: "ties", Dims: kernel.Dims{"tq": 7, "k": 400, "d": 4, "p": 20}, Fill: ties},
		{Name: "many-tokens", Dims: kernel.Dims{"tq": 150, "k": 90, "d": 32, "p": 5}, Fill: data},
		{Name: "specials", Dims: kernel.Dims{"tq": 6, "k": 300, "d": 8, "p": 290}, Fill: special},
		{Name: "many-centroids", Dims: kernel.Dims{"tq": 3, "k": 25000, "d": 8, "p": 5}, Fill: data},
		{Name: "most-cells", Dims: kernel.Dims{"tq": 2, "k": 4300, "d": 4, "p": 4200}, Fill: ties},
		{Name: "no-tokens", Dims: kernel.Dims{"tq": 0, "k": 12, "d": 16, "p": 2}, Fill: data},
	}
	return derived(deriveCells, cases...)
}

func cellBench(data fills) []kernel.Case {
	none := []string{"ScoreHalf"}
	return []kernel.Case{
		{Name: "cranfield", Dims: kernel.Dims{"tq": 21, "k": 4096, "d": 64, "p": 8}, Absent: none, Fill: data, Note: "one query of a small index"},
		{Name: "query-16k", Dims: kernel.Dims{"tq": 32, "k": 16384, "d": 128, "p": 8}, Absent: none, Fill: data, Note: "one query, an index of 20,000 documents"},
		{Name: "query-128k", Dims: kernel.Dims{"tq": 32, "k": 131072, "d": 128, "p": 8}, Absent: none, Fill: data, Note: "one query, an index of a million documents"},
		{Name: "batch-64", Dims: kernel.Dims{"tq": 2048, "k": 16384, "d": 128, "p": 8}, Absent: none, Fill: data, Note: "64 queries"},
	}
}

// CentroidScoresInt8Args are the operands of [CentroidScoresInt8]: those of
// [CentroidScoresArgs] with int8 vectors and a scale for each.
type CentroidScoresInt8Args struct {
	Query         backend.View `kernel:"in i8 tq,d"`
	QueryScale    backend.View `kernel:"in f32 tq"`
	Centroid      backend.View `kernel:"in i8 k,d"`
	CentroidScale backend.View `kernel:"in f32 k"`
	Score         backend.View `kernel:"out f32 k,tq opt strided"`
	ScoreHalf     backend.View `kernel:"out f16 k,tq opt strided"`
	Cell          backend.View `kernel:"out i32 tq,p opt"`
	CellScore     backend.View `kernel:"out f32 tq,p opt"`
}

// CentroidScoresInt8 is CentroidScores over quantised vectors: an exact integer dot product
// times the product of the two scales. It screens; its scores are not canonical.
var CentroidScoresInt8 = kernel.Declare(kernel.Spec[CentroidScoresInt8Args]{
	Name: "centroid_scores_int8", Family: "plaid",
	Source: "Santhanam et al., PLAID, CIKM 2022, stage 1, over vectors quantised symmetrically",
	Doc: "The exact integer dot product of centroid and query token, converted to float32, times QueryScale · CentroidScale rounded to float32; " +
		"rows, float16 copy and cells as of centroid_scores.",
	Check: func(a *CentroidScoresInt8Args) error {
		const most = math.MaxInt32 / (128 * 128)
		if d := a.Query.Dims[1]; d > most {
			return argument("centroid_scores_int8", "Query", "d", "an integer dot product could leave 32 bits", most, d)
		}
		return checkCells("centroid_scores_int8", a.Query.Dims[1], a.Centroid.Dims[0], &a.Cell, &a.CellScore)
	},
	Reference: func(r *kernel.Ref, a *CentroidScoresInt8Args) error {
		q, qs := r.Ints(&a.Query), floats32(r.Read(&a.QueryScale))
		c, cs := r.Ints(&a.Centroid), floats32(r.Read(&a.CentroidScale))
		tq, k, d := int(a.Query.Dims[0]), int(a.Centroid.Dims[0]), int(a.Query.Dims[1])
		dots := make([]float32, tq*k)
		for t := range tq {
			for j := range k {
				var sum int64
				for i := range d {
					sum += q[t*d+i] * c[j*d+i]
				}
				scale := float32(qs[t] * cs[j])
				dots[t*k+j] = float32(float32(sum) * scale)
			}
		}
		writeCells(r, dots, tq, k, &a.Score, &a.ScoreHalf, &a.Cell, &a.CellScore)
		return nil
	},
	Tolerance: map[string]kernel.Tolerance{"Score": kernel.Exact{}, "ScoreHalf": kernel.Exact{}, "Cell": kernel.Exact{}, "CellScore": kernel.Exact{}},
	Cost: func(c *backend.Call) kernel.Cost {
		return kernel.Cost{FLOP: 2 * float64(c.Axes[0]) * float64(c.Axes[1]) * float64(c.Axes[2]), Read: viewBytes(c, 0, 1, 2, 3), Write: viewBytes(c, 4, 5, 6, 7), Unit: "dot_i8"}
	},
	Derive: deriveCells,
	Cases: cellCases(fills{"Query": fillInt8, "Centroid": fillInt8},
		fills{"Query": fillIntegers, "Centroid": fillIntegers, "QueryScale": fillConstant(.5), "CentroidScale": fillConstant(.25)}),
	Bench: cellBench(fills{"Query": fillInt8, "Centroid": fillInt8}),
})
