//go:build !noasm

package simd

import "unsafe"

// int8Assembly are the units with assembly, best first.
func int8Assembly() []*int8Unit { return []*int8Unit{&int8VNNI, &int8AVX512, &int8AVX2} }

var int8AVX2 = int8Unit{
	variant: "avx2", requires: []string{"avx2", "f16c"}, base: &centroidAVX2, together: 2, block: 1,
	pack: int8PackAVX2, convert: int8WidenRows, dots: int8DotsAVX2, scale: int8ScaleAVX2,
}

var int8AVX512 = int8Unit{
	variant: "avx512", requires: []string{"avx512"}, base: &centroidAVX512, together: 2, block: 1,
	pack: int8PackAVX2, convert: int8WidenRows, dots: int8DotsAVX512, scale: int8ScaleAVX512,
}

var int8VNNI = int8Unit{
	variant: "avx512vnni", requires: []string{"avx512", "avx512_vnni"}, base: &centroidAVX512, together: 4, block: 1,
	pack: int8PackVNNI, convert: int8FlipRows, dots: int8DotsVNNI, scale: int8ScaleAVX512,
}

func int8DotsAVX2(panel *int32, rows *byte, pitch, words, n int, out *int32, lanes int) {
	[...]func(panel *int32, rows *byte, pitch, words, n int, out *int32){int8Dotsx1AVX2, int8Dotsx2AVX2, int8Dotsx3AVX2, int8Dotsx4AVX2}[lanes/8-1](panel, rows, pitch, words, n, out)
}

func int8DotsAVX512(panel *int32, rows *byte, pitch, words, n int, out *int32, lanes int) {
	[...]func(panel *int32, rows *byte, pitch, words, n int, out *int32){int8Dotsx1AVX512, int8Dotsx2AVX512}[lanes/16-1](panel, rows, pitch, words, n, out)
}

func int8DotsVNNI(panel *int32, rows *byte, pitch, words, n int, out *int32, lanes int) {
	[...]func(panel *int32, rows *byte, pitch, words, n int, out *int32){int8Dotsx1AVX512VNNI, int8Dotsx2AVX512VNNI}[lanes/16-1](panel, rows, pitch, words, n, out)
}

// int8WidenRows leaves what is beyond a multiple of 16 components to the loop.
func int8WidenRows(rows *int8, n, d int, dst *byte, pitch int) {
	full := d &^ 15
	int8WidenAVX2(rows, n, d, full, dst, pitch)
	for t := 0; t < n && full < d; t++ {
		row := unsafe.Slice((*int16)(unsafe.Pointer(add(dst, t*pitch))), pitch/2)
		for i, v := range unsafe.Slice(add(rows, t*d+full), d-full) {
			row[full+i] = int16(v)
		}
		clear(row[d:])
	}
}

func int8FlipRows(rows *int8, n, d int, dst *byte, pitch int) {
	full := d &^ 15
	int8FlipAVX2(rows, n, d, full, dst, pitch)
	for t := 0; t < n && full < d; t++ {
		row := unsafe.Slice(add(dst, t*pitch), pitch)
		for i, v := range unsafe.Slice(add(rows, t*d+full), d-full) {
			row[full+i] = uint8(v) ^ 0x80
		}
	}
}

// int8PackAVX2 widens 8 tokens at a time and transposes their words.
func int8PackAVX2(tokens *int8, n, d int, panel *int32, lanes int, room *byte, pitch int) {
	for j := 0; j < lanes; j += packRows {
		first := min(j, n-1)
		count := min(packRows, n-first)
		int8WidenRows(add(tokens, first*d), count, d, room, pitch)
		packAVX2((*float32)(unsafe.Pointer(room)), pitch, count, ceil(d, 2), (*float32)(unsafe.Pointer(add(panel, j))), lanes)
	}
}

// int8PackVNNI takes the words as they are. The row behind them takes back what 128 more in
// each component of a row adds.
func int8PackVNNI(tokens *int8, n, d int, panel *int32, lanes int, room *byte, pitch int) {
	words := ceil(d, 4)
	undo := unsafe.Slice(add(panel, words*lanes), lanes)
	for j := 0; j < lanes; j += packRows {
		first := min(j, n-1)
		count := min(packRows, n-first)
		for t := range count {
			row := unsafe.Slice((*int8)(unsafe.Pointer(add(room, t*pitch))), pitch)
			clear(row[copy(row, unsafe.Slice(add(tokens, (first+t)*d), d)):])
			var sum int32
			for _, v := range row[:d] {
				sum += int32(v)
			}
			undo[j+t] = -128 * sum
		}
		packAVX2((*float32)(unsafe.Pointer(room)), pitch, count, words, (*float32)(unsafe.Pointer(add(panel, j))), lanes)
	}
}
