//go:build !noasm

package simd

// rbfAssembly are the units with assembly, best first.
func rbfAssembly() []*rbfUnit { return []*rbfUnit{&rbfAVX512, &rbfAVX2} }

var rbfAVX2 = rbfUnit{
	variant: "avx2", requires: []string{"avx2"}, class: rowFused,
	single: rbfRoutines[float32]{tile: rbfTileF32AVX2, sum: rbfSumF32AVX2},
	double: rbfRoutines[float64]{tile: rbfTileF64AVX2, sum: rbfSumF64AVX2},
}

var rbfAVX512 = rbfUnit{
	variant: "avx512", requires: []string{"avx512"}, class: rowFused,
	single: rbfRoutines[float32]{tile: rbfTileF32AVX512, sum: rbfSumF32AVX512},
	double: rbfRoutines[float64]{tile: rbfTileF64AVX512, sum: rbfSumF64AVX512},
}
