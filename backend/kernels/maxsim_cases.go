package kernels

import (
	"fmt"
	"math"

	"github.com/likbench/likbench/backend/kernel"
)

// fillIntegers draws small integers, so that dot products are exact and ties are many.
func fillIntegers(r kernel.Rand, x []float64) {
	for i := range x {
		x[i] = float64(r.Int64N(5) - 2)
	}
}

// fillSpecials scatters NaN and infinities over small integers.
func fillSpecials(r kernel.Rand, x []float64) {
	fillIntegers(r, x)
	for i := range x {
		switch r.Int64N(40) {
		case 0:
			x[i] = math.NaN()
		case 1:
			x[i] = math.Inf(1)
		case 2:
			x[i] = negInf
		case 3:
			x[i] = math.Copysign(0, -1)
		}
	}
}

// fillPositive draws positive scales.
func fillPositive(r kernel.Rand, x []float64) {
	for i := range x {
		x[i] = 0.25 + r.Float64()
	}
}

// fillMask is 0 or 1, with about a third masked.
func fillMask(r kernel.Rand, x []float64) {
	for i := range x {
		x[i] = 0
		if r.Int64N(3) > 0 {
			x[i] = 1
		}
	}
}

func fillZero(_ kernel.Rand, x []float64) { clear(x) }

type fills = map[string]func(kernel.Rand, []float64)

// maxSimCases: absent masks and winners unless a case is about them.
func maxSimCases() []kernel.Case {
	bare := []string{"QueryMask", "DocMask", "Winner"}
	masked := fills{"QueryMask": fillMask, "DocMask": fillMask}
	return append([]kernel.Case{
		{Name: "one", Dims: kernel.Dims{"nq": 1, "nd": 1, "d": 1}, Lens: map[string][]int64{"tq": {1}, "td": {1}}, Absent: bare},
		{Name: "ragged", Dims: kernel.Dims{"nq": 4, "nd": 6, "d": 33},
			Lens: map[string][]int64{"tq": {7, 0, 1, 33}, "td": {13, 1, 0, 40, 2, 65}}, Absent: bare},
		{Name: "aligned", Dims: kernel.Dims{"nq": 2, "nd": 5, "d": 64},
			Lens: map[string][]int64{"tq": {32, 16}, "td": {16, 64, 1, 0, 100}}, Absent: bare},
		{Name: "d128", Dims: kernel.Dims{"nq": 3, "nd": 4, "d": 128},
			Lens: map[string][]int64{"tq": {32, 5, 20}, "td": {30, 129, 7, 64}}, Absent: bare},
		{Name: "long-query", Dims: kernel.Dims{"nq": 1, "nd": 2, "d": 16},
			Lens: map[string][]int64{"tq": {150}, "td": {70, 3}}, Absent: bare},
		{Name: "winner", Dims: kernel.Dims{"nq": 2, "nd": 4, "d": 48},
			Lens: map[string][]int64{"tq": {9, 17}, "td": {21, 0, 5, 70}}, Absent: []string{"QueryMask", "DocMask"}},
		{Name: "ties", Dims: kernel.Dims{"nq": 2, "nd": 3, "d": 16},
			Lens: map[string][]int64{"tq": {6, 5}, "td": {40, 90, 3}}, Absent: []string{"QueryMask", "DocMask"},
			Fill: fills{"Query": fillIntegers, "Doc": fillIntegers}},
		{Name: "signed-zeros", Dims: kernel.Dims{"nq": 1, "nd": 2, "d": 16}, Lens: map[string][]int64{"tq": {3}, "td": {20, 5}},
			Absent: []string{"QueryMask", "DocMask"}, Fill: fills{"Query": fillZero}},
		{Name: "masked", Dims: kernel.Dims{"nq": 3, "nd": 5, "d": 40},
			Lens: map[string][]int64{"tq": {8, 3, 0}, "td": {17, 33, 1, 2, 40}}, Fill: masked},
		{Name: "all-masked", Dims: kernel.Dims{"nq": 2, "nd": 3, "d": 16}, Lens: map[string][]int64{"tq": {4, 2}, "td": {5, 0, 33}},
			Fill: fills{"QueryMask": fillMask, "DocMask": fillZero}},
		{Name: "no-active-query", Dims: kernel.Dims{"nq": 2, "nd": 3, "d": 16}, Lens: map[string][]int64{"tq": {4, 2}, "td": {5, 0, 33}},
			Fill: fills{"QueryMask": fillZero, "DocMask": fillMask}},
		{Name: "empty-zero", Dims: kernel.Dims{"nq": 2, "nd": 4, "d": 32}, Lens: map[string][]int64{"tq": {4, 0}, "td": {0, 5, 0, 19}},
			Absent: []string{"QueryMask", "DocMask"}, Attrs: map[string]any{"EmptyZero": true}},
		{Name: "masked-nan", Dims: kernel.Dims{"nq": 2, "nd": 4, "d": 32}, Lens: map[string][]int64{"tq": {9, 20}, "td": {40, 3, 70, 16}},
			Fill: fills{"Query": fillSpecials, "Doc": fillSpecials, "QueryMask": fillMask, "DocMask": fillMask}},
		{Name: "nan", Dims: kernel.Dims{"nq": 3, "nd": 6, "d": 16}, Lens: map[string][]int64{"tq": {2, 9, 1}, "td": {33, 3, 1, 16, 65, 2}},
			Absent: []string{"QueryMask", "DocMask"}, Fill: fills{"Query": fillIntegers, "Doc": fillSpecials}},
		{Name: "normalize", Dims: kernel.Dims{"nq": 2, "nd": 4, "d": 40}, Lens: map[string][]int64{"tq": {7, 12}, "td": {21, 0, 5, 40}},
			Absent: bare, Attrs: map[string]any{"Normalize": true}},
		{Name: "spare", Dims: kernel.Dims{"nq": 2, "nd": 3, "d": 32, "tq": 20, "td": 90},
			Lens: map[string][]int64{"tq": {4, 9}, "td": {11, 30, 2}}, Absent: []string{"QueryMask", "DocMask"}},
		{Name: "no-documents", Dims: kernel.Dims{"nq": 2, "nd": 0, "d": 16}, Lens: map[string][]int64{"tq": {3, 1}, "td": {}}, Absent: bare},
		{Name: "no-queries", Dims: kernel.Dims{"nq": 0, "nd": 2, "d": 16}, Lens: map[string][]int64{"tq": {}, "td": {3, 1}}, Absent: bare},
	}, maxSimForms()...)
}

// maxSimForms are cases for bodies that are chosen by size: few, more and many query rows, short and long tokens, with
// winners and without, since not every body gives them; and, where scores are all, what makes them differ: masks, NaN,
// empty documents, documents that are cut between workers.
func maxSimForms() []kernel.Case {
	var out []kernel.Case
	add := func(name string, d int64, tq, td []int64, absent []string, f fills, attrs map[string]any) {
		out = append(out, kernel.Case{Name: name, Dims: kernel.Dims{"nq": int64(len(tq)), "nd": int64(len(td)), "d": d},
			Lens: map[string][]int64{"tq": tq, "td": td}, Absent: absent, Fill: f, Attrs: attrs, Smoke: d >= 128 && len(absent) != 2})
	}
	noMasks, noWinner := []string{"QueryMask", "DocMask"}, []string{"Winner"}
	bare := append(noWinner, noMasks...)
	docs := []int64{13, 0, 1, 140, 2, 65}
	special := fills{"Query": fillIntegers, "Doc": fillSpecials}
	strange := fills{"Query": fillSpecials, "Doc": fillSpecials, "QueryMask": fillMask, "DocMask": fillMask}
	for _, r := range []struct {
		name string
		tq   []int64
	}{{"few", []int64{9, 0, 11}}, {"some", []int64{20, 1, 30}}, {"more", []int64{50, 1, 49}}, {"many", []int64{150, 7}}} {
		for _, d := range []int64{64, 128, 192, 272, 528} {
			if d <= 128 || r.name == "few" || r.name == "some" {
				add(fmt.Sprintf("%s-rows-d%d", r.name, d), d, r.tq, docs, bare, nil, nil)
				add(fmt.Sprintf("%s-rows-d%d-winner", r.name, d), d, r.tq, docs, noMasks, nil, nil)
			}
		}
		add(r.name+"-rows-masked", 64, r.tq, docs, noWinner, strange, nil)
		add(r.name+"-rows-nan", 128, r.tq, docs, bare, special, nil)
		add(r.name+"-rows-empty-zero", 64, r.tq, docs, bare, nil, map[string]any{"EmptyZero": true})
	}
	long := []int64{3, 2700, 0, 5}
	add("few-rows-cut", 128, []int64{7, 9}, long, bare, nil, nil)
	add("few-rows-cut-nan", 128, []int64{7, 9}, long, noWinner, strange, nil)
	add("some-rows-cut", 128, []int64{33, 3}, long, bare, nil, nil)
	add("more-rows-cut", 128, []int64{60, 10}, long, bare, special, nil)
	add("many-rows-cut", 64, []int64{140, 3}, []int64{3, 900, 0, 5}, bare, special, nil)
	return out
}

func uniform(n int, length int64) []int64 {
	l := make([]int64, n)
	for i := range l {
		l[i] = length
	}
	return l
}

// benchShape is nq queries of lq tokens against nd documents of ld tokens.
func benchShape(name string, nq, nd int, lq, ld, d int64, absent []string, note string) kernel.Case {
	return kernel.Case{Name: name, Dims: kernel.Dims{"nq": int64(nq), "nd": int64(nd), "d": d}, Absent: absent, Note: note,
		Lens: map[string][]int64{"tq": uniform(nq, lq), "td": uniform(nd, ld)}}
}

// maxSimBench are the shapes of the peers' benchmarks; the first is the headline.
func maxSimBench() []kernel.Case {
	bare := []string{"QueryMask", "DocMask", "Winner"}
	return []kernel.Case{
		benchShape("rerank-100", 1, 100, 32, 180, 128, bare, "one query, a hundred candidates"),
		benchShape("rerank-1", 1, 1, 32, 100, 128, bare, "one query, one document"),
		benchShape("text-short", 1, 1000, 32, 300, 128, bare, "one query, a thousand passages"),
		benchShape("mxbai-rerank", 1, 1000, 32, 300, 64, bare, "the same at 64 components"),
		benchShape("code-48", 1, 1000, 32, 300, 48, bare, "the same at 48 components"),
		benchShape("edge-96", 1, 1000, 32, 180, 96, bare, "the same at 96 components"),
		benchShape("page-10", 1, 10, 32, 1030, 128, bare, "a text query against ten page images"),
		benchShape("page-page-10", 1, 10, 1024, 1024, 128, bare, "an image query against ten page images"),
		benchShape("text-long", 1, 1000, 32, 1024, 128, bare, "long passages"),
		benchShape("text-medium", 1, 1000, 128, 1024, 128, bare, "long queries and passages"),
		benchShape("corpus-5k", 1, 5000, 32, 300, 128, bare, "exhaustive scoring of a small collection"),
		benchShape("corpus-10k", 1, 10000, 32, 300, 128, bare, "exhaustive scoring of a small collection"),
		benchShape("mxbai-10k", 1, 10000, 32, 300, 64, bare, "the same at 64 components"),
		benchShape("train-batch", 32, 32, 32, 300, 128, bare, "in-batch scores of a training step"),
		benchShape("train-batch-128", 128, 128, 32, 300, 128, bare, "in-batch scores of a large training step"),
		benchShape("code-edge-rerank", 1, 1000, 32, 2048, 48, bare, "long code files"),
		benchShape("code-edge-big", 1, 4000, 32, 2048, 48, bare, "many long code files"),
		benchShape("large-d-512", 1, 1000, 32, 300, 512, bare, "wide tokens"),
		benchShape("large-d-1024", 1, 500, 32, 300, 1024, bare, "wide tokens"),
		benchShape("visual", 1, 1000, 1024, 1024, 128, bare, "image queries against a thousand page images"),
	}
}
