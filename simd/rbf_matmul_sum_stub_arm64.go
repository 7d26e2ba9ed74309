//go:build !noasm

package simd

// rbfSumF32NEON adds to acc[r] the dot product of row r of k with one column of weights.
// k is 4 rows stride bytes apart. A row has 64 bytes of lanes, folded in float64.
// Reference: rbfSumGeneric.
//
//go:noescape
func rbfSumF32NEON(k, w *float32, acc *float64, panels, stride int)

// rbfSumF64NEON adds to acc[r] the dot product of row r of k with one column of weights.
// k is 4 rows stride bytes apart. A row has 64 bytes of lanes, folded in float64.
// Reference: rbfSumGeneric.
//
//go:noescape
func rbfSumF64NEON(k, w *float64, acc *float64, panels, stride int)
