//go:build !noasm

package simd

// kmeansAssembly are the units with assembly, best first.
func kmeansAssembly() []*kmeansUnit {
	return []*kmeansUnit{
		{variant: "avx512", requires: []string{"avx512"}, add: kmeansAddAVX512},
		{variant: "avx2", requires: []string{"avx2"}, add: kmeansAddAVX2},
	}
}
