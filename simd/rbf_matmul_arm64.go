//go:build !noasm

package simd

// rbfAssembly are the units with assembly, best first.
func rbfAssembly() []*rbfUnit { return []*rbfUnit{&rbfNEON} }

var rbfNEON = rbfUnit{
	variant: "neon", requires: []string{"neon"}, class: rowFused,
	single: rbfRoutines[float32]{tile: rbfTileF32NEON, sum: rbfSumF32NEON},
	double: rbfRoutines[float64]{tile: rbfTileF64NEON, sum: rbfSumF64NEON},
}
