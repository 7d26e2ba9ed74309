//go:build !noasm

package simd

// approxUnits are the levels' arithmetic by variant.
var approxUnits = func() map[string]*approxUnit {
	type maximum = func(*float32, int, int, *int32, int, *float32)
	avx2 := approxUnit{width: 8, vectors: 4, live: approxLiveAVX2, max: [5]maximum{1: approxMaxx1AVX2, 2: approxMaxx2AVX2, 3: approxMaxx3AVX2, 4: approxMaxx4AVX2}}
	avx512 := approxUnit{width: 16, vectors: 4, narrow: &avx2, live: approxLiveAVX2, max: [5]maximum{1: approxMaxx1AVX512, 2: approxMaxx2AVX512, 3: approxMaxx3AVX512, 4: approxMaxx4AVX512}}
	return map[string]*approxUnit{"avx2": &avx2, "avx512": &avx512}
}()

// What listing does at every level but generic.
var (
	largestCode = approxLargestAVX2
	sumSteps    = approxStepsAVX2
)
