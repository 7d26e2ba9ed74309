//go:build !noasm

package simd

// encodeAssembly are the units with assembly, best first. Encoding takes a hundredth of the
// time of finding the centroids, so that AVX-512 has no routines of its own.
func encodeAssembly() []*encodeUnit {
	avx2 := encodeUnit{variant: "avx2", requires: []string{"avx2"}, sum: encodeSumAVX2,
		bucket: [9]func(x, c, levels, weight *float32, n int, bucket *uint8, square *float32){
			1: encodeBucket1AVX2, 2: encodeBucket2AVX2, 4: encodeBucket4AVX2, 8: encodeBucket8AVX2}}
	avx512 := avx2
	avx512.variant, avx512.requires = "avx512", []string{"avx512"}
	return []*encodeUnit{&avx512, &avx2}
}
