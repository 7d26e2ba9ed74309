package simd

import (
	"math"
	"unsafe"

	"github.com/likbench/likbench/backend/num"
)

// maxsimUnit is the arithmetic of one level. A panel holds query tokens component by
// component, [d][lanes], so that a vector lane is a token and no sum crosses lanes: a dot
// product is one chain over ascending components, and a token's bits do not depend on
// where it stands in a tile. Pointers are to operands and scratch that the caller checked.
type maxsimUnit struct {
	width   int  // lanes of a vector; a panel has width*vectors lanes, the last of a group maybe fewer
	vectors int  // vectors of a full panel, at most 4
	pairs   bool // panels and document rows are pairs of bf16
	step    int  // d has to be a multiple of it; 0: any
	// f32 and bf16 set out[t*lanes+j] to the product of document row t and panel lane j, for
	// n rows of d components, stride bytes apart; by vectors of the panel, from 1. A nil
	// bf16[1] means that rows are widened first. With pairs only bf16 is set.
	f32  [5]func(panel, doc *float32, stride, d, n int, out *float32)
	bf16 [5]func(panel *float32, doc *uint16, stride, d, n int, out *float32)
	// max raises best[j] to the largest of dots[t*lanes+j], NaN if one of them is. lanes is a
	// multiple of width, n at least 1.
	max func(dots *float32, n, lanes int, best *float32)
	// winner is max with the index: first+t of the lowest t that holds it, or of the first NaN.
	winner func(dots *float32, n, lanes int, best *float32, winner *int32, first int)
	// scale multiplies dots[t*lanes+j] by query[j], then by doc[t].
	scale func(dots *float32, n, lanes int, query, doc *float32)
	// pack sets panel[k*lanes+j] to 32-bit component k of row j for 8 rows, of which those at
	// and beyond rows (1 to 8) repeat the last; packBF16 widens.
	pack     func(src *float32, stride, rows, d int, panel *float32, lanes int)
	packBF16 func(src *uint16, stride, rows, d int, panel *float32, lanes int)
	// pack16 is pack for 16 rows, all given; nil where vectors are narrower.
	pack16 func(src *float32, stride, d int, panel *float32, lanes int)
	// prefetch asks for n bytes, at least 1, that will be read soon; nil: the hardware has to guess.
	prefetch func(p *byte, n int)
	// widen and decode convert n components to f32.
	widen  func(dst *float32, src *uint16, n int)
	decode func(dst *float32, src *uint8, n int)
	// decodeBF16 converts n components of e4m3 to bf16; only with pairs.
	decodeBF16 func(dst *uint16, src *uint8, n int)
	// normalize divides x[:n], n a multiple of 8, by the root of the larger of its sum of
	// squares and floor.
	normalize func(x *float32, n int, floor float32)
}

// packRows is the rows that pack takes at once.
const packRows = 8

// genericUnit is the portable arithmetic, and the reference of the others. Products are
// rounded before they are added, on every architecture.
var genericUnit = maxsimUnit{
	width: 8, vectors: 4,
	f32:       [5]func(*float32, *float32, int, int, int, *float32){1: dotsGeneric(8), 2: dotsGeneric(16), 3: dotsGeneric(24), 4: dotsGeneric(32)},
	max:       maxsimMaxGeneric,
	winner:    maxsimWinnerGeneric,
	scale:     maxsimScaleGeneric,
	pack:      maxsimPackGeneric,
	packBF16:  maxsimPackBF16Generic,
	widen:     maxsimWidenGeneric,
	decode:    maxsimDecodeGeneric,
	normalize: maxsimNormalizeGeneric,
}

func dotsGeneric(lanes int) func(panel, doc *float32, stride, d, n int, out *float32) {
	return func(panel, doc *float32, stride, d, n int, out *float32) {
		maxsimDotsGeneric(panel, doc, stride, d, n, out, lanes)
	}
}

// maxsimDotsGeneric takes 8 lanes at once, which is what fits in registers.
func maxsimDotsGeneric(panel, doc *float32, stride, d, n int, out *float32, lanes int) {
	q := unsafe.Slice(panel, d*lanes)
	o := unsafe.Slice(out, n*lanes)
	for t := range n {
		row := unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(doc), t*stride)), d)
		for j := 0; j < lanes; j += 8 {
			var a0, a1, a2, a3, a4, a5, a6, a7 float32
			for k, x := range row {
				p := q[k*lanes+j : k*lanes+j+8]
				a0 += float32(x * p[0]) // the conversion forbids fusing
				a1 += float32(x * p[1])
				a2 += float32(x * p[2])
				a3 += float32(x * p[3])
				a4 += float32(x * p[4])
				a5 += float32(x * p[5])
				a6 += float32(x * p[6])
				a7 += float32(x * p[7])
			}
			copy(o[t*lanes+j:], []float32{a0, a1, a2, a3, a4, a5, a6, a7})
		}
	}
}

func maxsimMaxGeneric(dots *float32, n, lanes int, best *float32) {
	x, m := unsafe.Slice(dots, n*lanes), unsafe.Slice(best, lanes)
	for t := 0; t < n*lanes; t += lanes {
		for j, v := range x[t : t+lanes] {
			if v > m[j] || v != v {
				m[j] = v
			}
		}
	}
}

func maxsimWinnerGeneric(dots *float32, n, lanes int, best *float32, winner *int32, first int) {
	x, m, w := unsafe.Slice(dots, n*lanes), unsafe.Slice(best, lanes), unsafe.Slice(winner, lanes)
	for t := range n {
		for j, v := range x[t*lanes : (t+1)*lanes] {
			if v > m[j] || v != v && m[j] == m[j] {
				m[j], w[j] = v, int32(first+t)
			}
		}
	}
}

func maxsimScaleGeneric(dots *float32, n, lanes int, query, doc *float32) {
	x, sq, sd := unsafe.Slice(dots, n*lanes), unsafe.Slice(query, lanes), unsafe.Slice(doc, n)
	for t := range n {
		for j := range lanes {
			x[t*lanes+j] = float32(x[t*lanes+j]*sq[j]) * sd[t]
		}
	}
}

func maxsimPackGeneric(src *float32, stride, rows, d int, panel *float32, lanes int) {
	p := unsafe.Slice(panel, max(0, (d-1)*lanes+packRows))
	for j := range packRows {
		row := unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(src), min(j, rows-1)*stride)), d)
		for k, v := range row {
			p[k*lanes+j] = v
		}
	}
}

func maxsimPackBF16Generic(src *uint16, stride, rows, d int, panel *float32, lanes int) {
	p := unsafe.Slice(panel, max(0, (d-1)*lanes+packRows))
	for j := range packRows {
		row := unsafe.Slice((*uint16)(unsafe.Add(unsafe.Pointer(src), min(j, rows-1)*stride)), d)
		for k, v := range row {
			p[k*lanes+j] = num.BF16ToFloat32(v)
		}
	}
}

func maxsimWidenGeneric(dst *float32, src *uint16, n int) {
	x := unsafe.Slice(dst, n)
	for i, v := range unsafe.Slice(src, n) {
		x[i] = num.BF16ToFloat32(v)
	}
}

// e4m3 holds every code's value.
var e4m3 = func() (t [256]float32) {
	for i := range t {
		t[i] = num.F8E4M3ToFloat32(uint8(i))
	}
	return t
}()

func maxsimDecodeGeneric(dst *float32, src *uint8, n int) {
	x := unsafe.Slice(dst, n)
	for i, v := range unsafe.Slice(src, n) {
		x[i] = e4m3[v]
	}
}

func maxsimDecodeBF16Generic(dst *uint16, src *uint8, n int) {
	x := unsafe.Slice(dst, n)
	for i, v := range unsafe.Slice(src, n) {
		x[i] = uint16(math.Float32bits(e4m3[v]) >> 16)
	}
}

// maxsimNormalizeGeneric sums squares in 8 chains by component modulo 8 and adds those in a
// tree, as a vector register does.
func maxsimNormalizeGeneric(x *float32, n int, floor float32) {
	v := unsafe.Slice(x, n)
	var s [8]float32
	for i := 0; i < n; i += 8 {
		for j := range s {
			s[j] += float32(v[i+j] * v[i+j])
		}
	}
	for h := 4; h > 0; h /= 2 {
		for j := range h {
			s[j] += s[j+h]
		}
	}
	norm := s[0]
	if norm < floor { // false for NaN
		norm = floor
	}
	norm = float32(math.Sqrt(float64(norm))) // rounds once: 53 bits are more than 2·24+2
	for i := range v {
		v[i] /= norm
	}
}
