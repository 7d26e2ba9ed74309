//go:build !noasm

package simd

import "unsafe"

// int8DotsNEON takes rows and a panel of 16 bits, words a multiple of 8: one component each.
// Reference: int8DotsGeneric.
//
//go:noescape
func int8DotsNEON(panel *int32, rows *byte, pitch, words, n int, out *int32)

// int8DotsDotNEON takes words of four components of 8 bits, a multiple of 4 of them.
// Reference: int8DotsGeneric.
//
//go:noescape
func int8DotsDotNEON(panel *int32, rows *byte, pitch, words, n int, out *int32)

// int8WidenNEON does full components of each row, a multiple of 16. Reference:
// int8WidenGeneric.
//
//go:noescape
func int8WidenNEON(rows *int8, n, d, full int, dst *byte, pitch int)

// int8ScaleNEON takes 16 lanes. Reference: int8ScaleGeneric.
//
//go:noescape
func int8ScaleNEON(out *float32, n, lanes int, query, centroid *float32)

// int8Assembly are the units with assembly, best first.
func int8Assembly() []*int8Unit { return []*int8Unit{&int8Dot, &int8NEON} }

var int8NEON = int8Unit{
	variant: "neon", requires: []string{"neon"}, base: &centroidNEON, together: 1, block: 8,
	pack: int8PackNEON, convert: int8WidenRows, scale: int8ScaleNEON,
	dots: func(panel *int32, rows *byte, pitch, words, n int, out *int32, _ int) {
		int8DotsNEON(panel, rows, pitch, words, n, out)
	},
}

var int8Dot = int8Unit{
	variant: "neondot", requires: []string{"neon", "dotprod"}, base: &centroidNEON, together: 4, block: 4,
	pack: int8PackDot, convert: int8CopyRows, scale: int8ScaleNEON,
	dots: func(panel *int32, rows *byte, pitch, words, n int, out *int32, _ int) {
		int8DotsDotNEON(panel, rows, pitch, words, n, out)
	},
}

// int8WidenRows leaves what is beyond a multiple of 16 components to the loop.
func int8WidenRows(rows *int8, n, d int, dst *byte, pitch int) {
	full := d &^ 15
	int8WidenNEON(rows, n, d, full, dst, pitch)
	for t := 0; t < n && full < d; t++ {
		row := unsafe.Slice((*int16)(unsafe.Pointer(add(dst, t*pitch))), pitch/2)
		for i, v := range unsafe.Slice(add(rows, t*d+full), d-full) {
			row[full+i] = int16(v)
		}
		clear(row[d:])
	}
}

func int8CopyRows(rows *int8, n, d int, dst *byte, pitch int) {
	for t := range n {
		row := unsafe.Slice((*int8)(unsafe.Pointer(add(dst, t*pitch))), pitch)
		clear(row[copy(row, unsafe.Slice(add(rows, t*d), d)):])
	}
}

// int8PackNEON makes a panel of 16 bits.
func int8PackNEON(tokens *int8, n, d int, panel *int32, lanes int, _ *byte, _ int) {
	src, dst := unsafe.Slice(tokens, n*d), unsafe.Slice((*int16)(unsafe.Pointer(panel)), int(roundUp(int64(d), 8))*lanes)
	clear(dst)
	for j := range n {
		for i, v := range src[j*d:][:d] {
			dst[i*lanes+j] = int16(v)
		}
	}
}

// int8PackDot transposes the words of 8 tokens at a time.
func int8PackDot(tokens *int8, n, d int, panel *int32, lanes int, room *byte, pitch int) {
	words := int(roundUp(int64(ceil(d, 4)), 4))
	for j := 0; j < lanes; j += packRows {
		first := min(j, n-1)
		count := min(packRows, n-first)
		int8CopyRows(add(tokens, first*d), count, d, room, pitch)
		packNEON((*float32)(unsafe.Pointer(room)), pitch, count, words, (*float32)(unsafe.Pointer(add(panel, j))), lanes)
	}
}
