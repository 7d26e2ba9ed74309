//go:build !noasm

package simd

// residualInt8Units are the levels' arithmetic by variant.
var residualInt8Units = func() map[string]*residualInt8Unit {
	type (
		dots   = func(*uint32, *byte, int, int, int, *int32, *int32)
		finish = func(*int32, int, *int32, *float32, int, int, *float32, *float32, *float32)
		half   = func(*int32, int, *int32, *uint16, int, int, *float32, *float32, *float32)
		decode = func(*byte, int, *uint8, int, int, *int8)
	)
	avx2 := residualInt8Unit{
		width: 8, vectors: 4, group: 2,
		decode:    [3]decode{residualBytes1xI16AVX2, residualBytes2xI16AVX2, residualBytes4xI16AVX2},
		dots:      [5]dots{1: residualDotsx1AVX2, 2: residualDotsx2AVX2, 3: residualDotsx3AVX2, 4: residualDotsx4AVX2},
		finish:    [5]finish{1: residualFinishF32x1AVX2, 2: residualFinishF32x2AVX2, 3: residualFinishF32x3AVX2, 4: residualFinishF32x4AVX2},
		finishF16: [5]half{1: residualFinishF16x1AVX2, 2: residualFinishF16x2AVX2, 3: residualFinishF16x3AVX2, 4: residualFinishF16x4AVX2},
	}
	bytes := avx2
	bytes.group, bytes.offset = 4, true
	bytes.decode = [3]decode{residualBytes1xI8AVX2, residualBytes2xI8AVX2, residualBytes4xI8AVX2}
	bytes.dots = [5]dots{1: residualDotsBytesx1AVX2, 2: residualDotsBytesx2AVX2, 3: residualDotsBytesx3AVX2, 4: residualDotsBytesx4AVX2}
	avx2.small = &bytes

	avx512 := residualInt8Unit{
		width: 16, vectors: 2, group: 2, narrow: &avx2, decode: avx2.decode,
		dots:      [5]dots{1: residualDotsx1AVX512, 2: residualDotsx2AVX512},
		finish:    [5]finish{1: residualFinishF32x1AVX512, 2: residualFinishF32x2AVX512},
		finishF16: [5]half{1: residualFinishF16x1AVX512, 2: residualFinishF16x2AVX512},
	}
	bytes512 := avx512
	bytes512.group, bytes512.offset, bytes512.decode = 4, true, bytes.decode
	vnni := bytes512
	bytes512.dots = [5]dots{1: residualDotsBytesx1AVX512, 2: residualDotsBytesx2AVX512}
	avx512.small = &bytes512
	vnni.dots = [5]dots{1: residualDotsVNNIx1AVX512, 2: residualDotsVNNIx2AVX512}
	amx := vnni
	amx.dots = [5]dots{1: residualDotsx1AMX, 2: residualDotsx2AMX}
	return map[string]*residualInt8Unit{"avx2": &avx2, "avx512": &avx512, "avx512vnni": &vnni, "amx": &amx}
}()
