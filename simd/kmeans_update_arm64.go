//go:build !noasm

package simd

// kmeansAddNEON: reference kmeansAddGeneric.
//
//go:noescape
func kmeansAddNEON(token *float32, index *int32, count, stride int, scale float64, limit float32, sum *int64) bool

// kmeansAssembly are the units with assembly, best first.
func kmeansAssembly() []*kmeansUnit {
	return []*kmeansUnit{{variant: "neon", requires: []string{"neon"}, add: kmeansAddNEON}}
}
