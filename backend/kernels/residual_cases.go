package kernels

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// residualCases are the cases of kernels that decode residuals; stored are the operands
// that hold inverse norms, exact those that only one instance has.
func residualCases(derive func(*kernel.Case), stored, exact []string) []kernel.Case {
	both := append(append([]string{}, stored...), exact...)
	bits := func(n int) map[string]any { return map[string]any{"Bits": n} }
	lens := func(tq []int64, td ...int64) map[string][]int64 { return map[string][]int64{"tq": tq, "td": td} }
	cases := []kernel.Case{
		{Name: "one", Dims: kernel.Dims{"d": 4, "nq": 1, "nd": 1, "k": 1, "c": 1}, Lens: lens([]int64{1}, 1), Absent: both},
		{Name: "small", Dims: kernel.Dims{"d": 36, "nq": 3, "nd": 6, "k": 11, "c": 9}, Lens: lens([]int64{5, 0, 9}, 13, 0, 1, 40, 2, 65), Absent: exact},
		{Name: "aligned", Dims: kernel.Dims{"d": 64, "nq": 2, "nd": 5, "k": 16, "c": 8}, Lens: lens([]int64{32, 16}, 16, 64, 1, 0, 100), Absent: exact},
		{Name: "d128", Dims: kernel.Dims{"d": 128, "nq": 2, "nd": 4, "k": 9, "c": 6}, Lens: lens([]int64{32, 21}, 30, 129, 7, 64), Absent: exact},
		{Name: "d128-four-bits", Dims: kernel.Dims{"d": 128, "nq": 1, "nd": 4, "k": 9, "c": 4}, Lens: lens([]int64{32}, 30, 9, 7, 64), Attrs: bits(4), Absent: exact},
		{Name: "one-bit", Dims: kernel.Dims{"d": 96, "nq": 2, "nd": 4, "k": 9, "c": 6}, Lens: lens([]int64{7, 32}, 30, 12, 7, 64), Attrs: bits(1), Absent: exact},
		{Name: "four-bits", Dims: kernel.Dims{"d": 42, "nq": 2, "nd": 4, "k": 9, "c": 6}, Lens: lens([]int64{7, 32}, 30, 12, 7, 64), Attrs: bits(4), Absent: exact},
		{Name: "eight-bits", Dims: kernel.Dims{"d": 33, "nq": 2, "nd": 4, "k": 9, "c": 6}, Lens: lens([]int64{7, 3}, 30, 12, 7, 64), Attrs: bits(8), Absent: exact},
		{Name: "long-query", Dims: kernel.Dims{"d": 16, "nq": 1, "nd": 3, "k": 5, "c": 4}, Lens: lens([]int64{150}, 70, 3, 20), Absent: exact},
		{Name: "ties", Dims: kernel.Dims{"d": 16, "nq": 2, "nd": 9, "k": 5, "c": 12}, Lens: lens([]int64{4, 5}, 20, 9, 1, 0, 3, 33, 2, 8, 5), Absent: both,
			Fill: fills{"Query": fillIntegers, "Centroid": fillIntegers, "Weight": fillIntegers}},
		{Name: "full-count", Dims: kernel.Dims{"d": 24, "nq": 2, "nd": 12, "k": 5, "c": 40}, Lens: lens([]int64{33, 8}, uniform(12, 5)...), Absent: append([]string{"Count"}, exact...)},
		{Name: "same-documents", Dims: kernel.Dims{"d": 128, "nq": 10, "nd": 7, "k": 30, "c": 7}, Lens: lens([]int64{32, 8, 0, 16, 24, 32, 8, 32, 40, 32}, 30, 129, 0, 64, 1, 250, 16),
			Absent: append([]string{"Count"}, exact...), Fill: fills{"Packed": fillBelow(0, 256), "Candidate": fillIdentity(7)}},
		{Name: "same-documents-four-bits", Dims: kernel.Dims{"d": 128, "nq": 5, "nd": 7, "k": 30, "c": 7}, Lens: lens([]int64{32, 8, 0, 40, 24}, 30, 129, 0, 64, 1, 90, 16),
			Attrs: bits(4), Absent: append([]string{"Count"}, exact...), Fill: fills{"Candidate": fillIdentity(7)}, Smoke: true},
		{Name: "same-documents-short", Dims: kernel.Dims{"d": 56, "nq": 5, "nd": 7, "k": 30, "c": 7}, Lens: lens([]int64{32, 8, 0, 40, 24}, 30, 129, 0, 64, 1, 90, 16),
			Attrs: bits(4), Absent: append([]string{"Count"}, exact...), Fill: fills{"Candidate": fillIdentity(7)}},
		{Name: "few-of-many", Dims: kernel.Dims{"d": 16, "nq": 2, "nd": 9000, "k": 5, "c": 3}, Lens: lens([]int64{4, 5}, uniform(9000, 1)...), Absent: exact, Note: "more documents than the launch of a few places has threads"},
		{Name: "no-documents", Dims: kernel.Dims{"d": 16, "nq": 2, "nd": 0, "k": 5, "c": 4}, Lens: lens([]int64{4, 5}), Absent: exact},
		{Name: "no-places", Dims: kernel.Dims{"d": 16, "nq": 2, "nd": 2, "k": 5, "c": 0}, Lens: lens([]int64{4, 5}, 3, 4), Absent: exact},
		{Name: "bad-candidates", Dims: kernel.Dims{"d": 16, "nq": 2, "nd": 6, "k": 7, "c": 30}, Lens: lens([]int64{5, 9}, 13, 1, 0, 40, 2, 65),
			Absent: append([]string{"Count"}, exact...), Fill: fills{"Candidate": fillBelow(-3, 9)}, Faults: true},
		{Name: "bad-codes", Dims: kernel.Dims{"d": 16, "nq": 2, "nd": 6, "k": 37, "c": 30}, Lens: lens([]int64{5, 9}, 13, 1, 0, 40, 2, 65),
			Absent: append([]string{"Count"}, exact...), Fill: fills{"Code": fillBelow(-3, 41)}, Faults: true},
	}
	for _, n := range []int{1, 2, 4, 8} { // every byte value at every position of a row
		cases = append(cases, kernel.Case{Name: "every-byte-" + string(rune('0'+n)), Dims: kernel.Dims{"d": int64(32 / n * 8), "nq": 1, "nd": 2, "k": 3, "c": 2},
			Lens: lens([]int64{3}, 200, 60), Attrs: bits(n), Absent: append([]string{"Count"}, both...), Fill: fills{"Packed": fillRamp(256), "Candidate": fillIdentity(2)}})
	}
	return derived(derive, cases...)
}

// residualF32Cases are those of the kernel that keeps canonical sums.
func residualF32Cases() []kernel.Case {
	lens := func(tq []int64, td ...int64) map[string][]int64 { return map[string][]int64{"tq": tq, "td": td} }
	normalize := func(bits int) map[string]any { return map[string]any{"Bits": bits, "Normalize": true} }
	return append(residualCoarse(), derived(deriveResidual,
		kernel.Case{Name: "fixed", Types: only(f32), Dims: kernel.Dims{"d": 64, "nq": 3, "nd": 6, "k": 11, "c": 9}, Lens: lens([]int64{5, 0, 9}, 13, 0, 1, 40, 2, 65)},
		kernel.Case{Name: "fixed-d128", Types: only(f32), Dims: kernel.Dims{"d": 128, "nq": 2, "nd": 6, "k": 11, "c": 9}, Lens: lens([]int64{32, 21}, 13, 0, 1, 40, 2, 65), Attrs: map[string]any{"Bits": 4}},
		kernel.Case{Name: "fixed-odd", Types: only(f32), Dims: kernel.Dims{"d": 37, "nq": 2, "nd": 6, "k": 11, "c": 9}, Lens: lens([]int64{3, 35}, 13, 0, 1, 40, 2, 65), Attrs: map[string]any{"Bits": 8}},
		kernel.Case{Name: "fixed-normalize", Types: only(f32), Dims: kernel.Dims{"d": 72, "nq": 2, "nd": 6, "k": 11, "c": 9}, Lens: lens([]int64{3, 35}, 13, 0, 1, 40, 2, 65), Attrs: normalize(1), Absent: []string{"InvNorm"}},
		kernel.Case{Name: "many-places", Types: only(f32), Dims: kernel.Dims{"d": 16, "nq": 2, "nd": 40, "k": 11, "c": 500}, Lens: lens([]int64{5, 7}, ragged(40, 60)...)},
		kernel.Case{Name: "many-places-four-bits", Types: only(f32), Dims: kernel.Dims{"d": 36, "nq": 2, "nd": 40, "k": 11, "c": 500}, Lens: lens([]int64{3, 6}, ragged(40, 60)...), Attrs: map[string]any{"Bits": 4}},
		kernel.Case{Name: "normalize", Dims: kernel.Dims{"d": 128, "nq": 2, "nd": 6, "k": 11, "c": 9}, Lens: lens([]int64{32, 35}, 13, 0, 1, 40, 2, 65), Attrs: normalize(2), Absent: []string{"InvNorm", "Fixed"}},
		kernel.Case{Name: "zero-vectors", Types: only(f32), Dims: kernel.Dims{"d": 16, "nq": 2, "nd": 3, "k": 4, "c": 5}, Lens: lens([]int64{3, 5}, 13, 0, 4), Attrs: normalize(2), Absent: []string{"InvNorm"},
			Fill: fills{"Centroid": fillZero, "Weight": fillZero}},
		kernel.Case{Name: "tiny-vectors", Types: only(f32), Dims: kernel.Dims{"d": 16, "nq": 2, "nd": 3, "k": 4, "c": 5}, Lens: lens([]int64{3, 5}, 13, 0, 4), Attrs: normalize(2), Absent: []string{"InvNorm"},
			Fill: fills{"Centroid": fillZero, "Weight": fillConstant(0x1p-43)}, Note: "norms below the least that is divided by"},
		kernel.Case{Name: "specials", Types: only(f32), Dims: kernel.Dims{"d": 16, "nq": 2, "nd": 30, "k": 60, "c": 40}, Lens: lens([]int64{4, 2}, uniform(30, 3)...), Absent: []string{"InvNorm"}, Fill: fills{"Centroid": fillSpecials}},
		kernel.Case{Name: "beyond", Types: only(f32), Dims: kernel.Dims{"d": 16, "nq": 2, "nd": 6, "k": 7, "c": 30}, Lens: lens([]int64{5, 9}, 13, 1, 0, 40, 2, 65),
			Absent: []string{"Count", "InvNorm"}, Fill: fills{"Shift": fillConstant(63), "Query": fillIntegers}, Faults: true},
	)...)
}

// residualCoarse are sums of maxima of which half lie between two steps.
func residualCoarse() []kernel.Case {
	mk := func(name string, d, nd, c, bits int64, tq []int64) kernel.Case {
		out := kernel.Case{Name: name, Types: only(f32), Dims: kernel.Dims{"d": d, "nq": int64(len(tq)), "nd": nd, "k": 11, "c": c}, Lens: map[string][]int64{"tq": tq, "td": uniform(int(nd), 2)},
			Attrs: map[string]any{"Bits": int(bits)}, Absent: []string{"InvNorm"}, Fill: fills{"Query": fillIntegers, "Centroid": fillQuarters, "Weight": fillQuarters}}
		deriveResidual(&out)
		return instead(out, fills{"Shift": fillConstant(1)})
	}
	return []kernel.Case{mk("coarse", 16, 20, 24, 2, []int64{21, 3, 0, 40}), mk("coarse-many-places", 20, 40, 300, 4, []int64{3, 6})}
}

func only(t ...backend.DType) []backend.DType { return t }

func deriveResidual(c *kernel.Case) {
	deriveRows(c)
	add := deriveListing(c)
	if _, own := c.Fill["Candidate"]; own && c.Fill["Packed"] != nil {
		delete(add, "Candidate")
	}
	if c.Fill["Packed"] == nil {
		add["Packed"] = fillBelow(0, 256)
	}
	add["InvNorm"] = fillPositive
	if c.Fill["Weight"] == nil {
		add["Weight"] = fillAscending(.3)
	}
	setFills(c, add)
}

// residualBench are scans and rerankings; the candidates of a scan are all documents.
func residualBench(derive func(*kernel.Case), absent []string) []kernel.Case {
	mk := func(name string, nq, nd int, lq, mean, d, k, places int64, bits int, candidates func(kernel.Rand, []float64), note string) kernel.Case {
		c := kernel.Case{Name: name, Dims: kernel.Dims{"nq": int64(nq), "nd": int64(nd), "d": d, "k": k, "c": places}, Absent: absent, Note: note,
			Attrs: map[string]any{"Bits": bits}, Lens: map[string][]int64{"tq": uniform(nq, lq), "td": ragged(nd, mean)}}
		derive(&c)
		c.Fill["Candidate"] = candidates
		return c
	}
	scan := func(name string, nq, nd int, lq, mean, d, k int64, bits int, note string) kernel.Case {
		return mk(name, nq, nd, lq, mean, d, k, int64(nd), bits, fillIdentity(int64(nd)), note)
	}
	rerank := func(name string, nq, nd int, lq, mean, d, k, places int64, bits int, note string) kernel.Case {
		return mk(name, nq, nd, lq, mean, d, k, places, bits, fillBelow(0, int64(nd)), note)
	}
	equal := func(name string, nd int, length int64) kernel.Case {
		c := scan(name, 1, nd, 32, length, 128, 32768, 2, "decompression and scores of equal documents")
		c.Lens["td"] = uniform(nd, length)
		return c
	}
	return []kernel.Case{
		scan("cranfield", 1, 1400, 21, 176, 64, 4096, 2, "every document of a small index"),
		rerank("rerank-128", 1, 20000, 32, 120, 128, 16384, 128, 2, "128 of 20,000 documents"),
		rerank("rerank-256", 1, 20000, 32, 120, 128, 16384, 256, 2, "256 of 20,000 documents"),
		rerank("rerank-1024", 1, 20000, 32, 120, 128, 16384, 1024, 2, "1,024 of 20,000 documents"),
		rerank("batch-64x128", 64, 20000, 32, 120, 128, 16384, 128, 2, "64 queries, 128 documents each"),
		rerank("batch-64x256", 64, 20000, 32, 120, 128, 16384, 256, 2, "64 queries, 256 documents each"),
		scan("scan-10k-2bit", 1, 10000, 32, 226, 128, 16384, 2, "10,000 ragged documents"),
		scan("scan-10k-2bit-8q", 8, 10000, 32, 226, 128, 16384, 2, "the same for eight queries"),
		scan("scan-10k-4bit", 1, 10000, 32, 226, 128, 16384, 4, "10,000 ragged documents at 4 bits"),
		// LIK's bench_decompress_maxsim, by its names.
		equal("decompress-short", 1024, 200), equal("decompress-medium", 1024, 512), equal("decompress-long", 1024, 1024), equal("decompress-xlong", 1024, 4096),
		equal("decompress-xxlong", 512, 8192), equal("decompress-tiny-256-docs", 256, 512), equal("decompress-large-2048-docs", 2048, 512),
	}
}

// ragged are n lengths around a mean, from two thirds to four thirds of it.
func ragged(n int, mean int64) []int64 {
	l := make([]int64, n)
	spread := mean / 3
	for i := range l {
		l[i] = mean - spread + int64(i)*7919%(2*spread+1)
	}
	return l
}
