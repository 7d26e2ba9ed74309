//go:build !noasm

package simd

// residualUnits are the levels' arithmetic by variant.
var residualUnits = func() map[string]*residualUnit {
	type (
		score    = func(*float32, *float32, int, *uint8, int, *int32, int, int, *float32, int, *float32, *float32, *float32)
		scoreF16 = func(*float32, *float32, int, *uint8, int, *int32, int, int, *uint16, int, *float32, *float32, *float32)
	)
	avx2 := residualUnit{
		maxsimUnit: maxsimUnits["avx2"],
		decode: [4]func(*float32, int, *uint8, int, *int32, int, int, *float32, int, *float32, *float32){
			residualDecode1xF32AVX2, residualDecode2xF32AVX2, residualDecode4xF32AVX2, residualDecode8xF32AVX2},
		decodeF16: [4]func(*float32, int, *uint8, int, *int32, int, int, *uint16, int, *float32, *float32){
			residualDecode1xF16AVX2, residualDecode2xF16AVX2, residualDecode4xF16AVX2, residualDecode8xF16AVX2},
		norms: normsAVX2, scale: residualScaleAVX2,
	}
	avx2.score = [2][5]score{
		{1: residualScore2xF32x1AVX2, 2: residualScore2xF32x2AVX2, 3: residualScore2xF32x3AVX2, 4: residualScore2xF32x4AVX2},
		{1: residualScore4xF32x1AVX2, 2: residualScore4xF32x2AVX2, 3: residualScore4xF32x3AVX2, 4: residualScore4xF32x4AVX2}}
	avx2.scoreF16 = [2][5]scoreF16{
		{1: residualScore2xF16x1AVX2, 2: residualScore2xF16x2AVX2, 3: residualScore2xF16x3AVX2, 4: residualScore2xF16x4AVX2},
		{1: residualScore4xF16x1AVX2, 2: residualScore4xF16x2AVX2, 3: residualScore4xF16x3AVX2, 4: residualScore4xF16x4AVX2}}

	avx512 := avx2
	avx512.maxsimUnit = maxsimUnits["avx512"]
	avx512.score = [2][5]score{
		{1: residualScore2xF32x1AVX512, 2: residualScore2xF32x2AVX512}, {1: residualScore4xF32x1AVX512, 2: residualScore4xF32x2AVX512}}
	avx512.scoreF16 = [2][5]scoreF16{
		{1: residualScore2xF16x1AVX512, 2: residualScore2xF16x2AVX512}, {1: residualScore4xF16x1AVX512, 2: residualScore4xF16x2AVX512}}
	return map[string]*residualUnit{"avx2": &avx2, "avx512": &avx512}
}()

// normsAVX2 transposes 16 rows at a time; lanes beyond n get numbers that nobody reads.
func normsAVX2(rows *float32, pitch, n, d int, scratch, inv *float32) {
	for i := 0; i < n; i += 16 {
		for j := i; j < min(i+16, n); j += packRows {
			packAVX2(add(rows, j*pitch/4), pitch, min(packRows, n-j), d, add(scratch, j-i), 16)
		}
		residualNormsAVX2(scratch, d, add(inv, i))
	}
}
