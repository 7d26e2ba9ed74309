//go:build !noasm

package simd

import "unsafe"

// maxsimUnits are the levels' arithmetic by variant. The chains of avx2 and avx512 have
// the same links, so they agree bit for bit; pairs of bf16 are rounded differently.
var maxsimUnits = func() map[string]*maxsimUnit {
	avx2 := genericUnit
	avx2.f32 = [5]func(*float32, *float32, int, int, int, *float32){1: maxsimDotsF32x1AVX2, 2: maxsimDotsF32x2AVX2, 3: maxsimDotsF32x3AVX2, 4: maxsimDotsF32x4AVX2}
	avx2.bf16 = [5]func(*float32, *uint16, int, int, int, *float32){1: maxsimDotsBF16x1AVX2, 2: maxsimDotsBF16x2AVX2, 3: maxsimDotsBF16x3AVX2, 4: maxsimDotsBF16x4AVX2}
	avx2.max, avx2.winner, avx2.scale = maxsimMaxAVX2, maxsimWinnerAVX2, maxsimScaleAVX2
	avx2.pack, avx2.packBF16, avx2.prefetch = packAVX2, packBF16AVX2, maxsimPrefetchAVX2
	avx2.widen, avx2.decode, avx2.normalize = widenAVX2, decodeAVX2, maxsimNormalizeAVX2

	avx512 := avx2
	avx512.width, avx512.vectors = 16, 2
	avx512.max, avx512.pack16 = maxsimMaxAVX512, pack16AVX512
	avx512.f32 = [5]func(*float32, *float32, int, int, int, *float32){1: maxsimDotsF32x1AVX512, 2: maxsimDotsF32x2AVX512}
	avx512.bf16 = [5]func(*float32, *uint16, int, int, int, *float32){1: maxsimDotsBF16x1AVX512, 2: maxsimDotsBF16x2AVX512}

	pairs := avx512
	pairs.pairs, pairs.decodeBF16 = true, decodeBF16AVX2
	pairs.f32 = [5]func(*float32, *float32, int, int, int, *float32){}
	pairs.bf16 = [5]func(*float32, *uint16, int, int, int, *float32){1: maxsimDotsx1AVX512BF16, 2: maxsimDotsx2AVX512BF16}

	amx := pairs
	amx.step = 8
	amx.bf16 = [5]func(*float32, *uint16, int, int, int, *float32){1: maxsimDotsx1AMX, 2: maxsimDotsx2AMX}
	return map[string]*maxsimUnit{"avx2": &avx2, "avx512": &avx512, "avx512bf16": &pairs, "amx": &amx}
}()

// packAVX2 leaves what is beyond a multiple of 8 components to the portable body, as
// packBF16AVX2, widenAVX2 and the decoders do.
func packAVX2(src *float32, stride, rows, d int, panel *float32, lanes int) {
	full := d &^ 7
	maxsimPackF32AVX2(src, stride, rows, full, panel, lanes)
	if full < d {
		maxsimPackGeneric(add(src, full), stride, rows, d-full, add(panel, full*lanes), lanes)
	}
}

// pack16AVX512 leaves what is beyond a multiple of 4 components to the portable body.
func pack16AVX512(src *float32, stride, d int, panel *float32, lanes int) {
	full := d &^ 3
	maxsimPackF32AVX512(src, stride, full, panel, lanes)
	if full < d {
		rest := unsafe.Add(unsafe.Pointer(src), full*4)
		for j := 0; j < 16; j += packRows {
			maxsimPackGeneric((*float32)(unsafe.Add(rest, j*stride)), stride, packRows, d-full, add(panel, full*lanes+j), lanes)
		}
	}
}

func packBF16AVX2(src *uint16, stride, rows, d int, panel *float32, lanes int) {
	full := d &^ 7
	maxsimPackBF16AVX2(src, stride, rows, full, panel, lanes)
	if full < d {
		maxsimPackBF16Generic(add(src, full), stride, rows, d-full, add(panel, full*lanes), lanes)
	}
}

func widenAVX2(dst *float32, src *uint16, n int) {
	full := n &^ 7
	maxsimWidenBF16AVX2(dst, src, full)
	if full < n {
		maxsimWidenGeneric(add(dst, full), add(src, full), n-full)
	}
}

func decodeAVX2(dst *float32, src *uint8, n int) {
	full := n &^ 7
	maxsimDecodeF32AVX2(dst, src, full)
	if full < n {
		maxsimDecodeGeneric(add(dst, full), add(src, full), n-full)
	}
}

func decodeBF16AVX2(dst *uint16, src *uint8, n int) {
	full := n &^ 7
	maxsimDecodeBF16AVX2(dst, src, full)
	if full < n {
		maxsimDecodeBF16Generic(add(dst, full), add(src, full), n-full)
	}
}
