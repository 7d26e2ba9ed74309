//go:build !noasm

package simd

// The routines of each width: reference encodeBucketGeneric.
//
//go:noescape
func encodeBucket1NEON(x, c, levels, weight *float32, n int, bucket *uint8, square *float32)

//go:noescape
func encodeBucket2NEON(x, c, levels, weight *float32, n int, bucket *uint8, square *float32)

//go:noescape
func encodeBucket4NEON(x, c, levels, weight *float32, n int, bucket *uint8, square *float32)

// encodeSumNEON: reference encodeSumGeneric.
//
//go:noescape
func encodeSumNEON(square *float32, stride, n int, sums *float32)

// encodeAssembly are the units with assembly, best first. A table of 8 bits is beyond what a
// look-up in registers holds.
func encodeAssembly() []*encodeUnit {
	return []*encodeUnit{{variant: "neon", requires: []string{"neon"}, sum: encodeSumNEON,
		bucket: [9]func(x, c, levels, weight *float32, n int, bucket *uint8, square *float32){
			1: encodeBucket1NEON, 2: encodeBucket2NEON, 4: encodeBucket4NEON, 8: encodeBucketGeneric(8)}}}
}
