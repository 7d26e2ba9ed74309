package simd

import (
	"unsafe"

	"github.com/likbench/likbench/backend/num"
)

func centroidAboveGeneric(dots *float32, n, lanes int, bound *float32) (int, uint32) {
	x, b := unsafe.Slice(dots, n*lanes), unsafe.Slice(bound, lanes)
	for t := range n {
		var hits uint32
		for j, v := range x[t*lanes:][:lanes] {
			if !(v <= b[j]) {
				hits |= 1 << j
			}
		}
		if hits != 0 {
			return t, hits
		}
	}
	return n, 0
}

func centroidHalfGeneric(dots *float32, n, lanes int, dst *uint16, stride int) {
	centroidHalfRows(dots, n, lanes, dst, stride, 0, lanes)
}

// centroidHalfRows is the half of a unit for the lanes [lo, hi).
func centroidHalfRows(dots *float32, n, lanes int, dst *uint16, stride, lo, hi int) {
	if n == 0 {
		return
	}
	x, h := unsafe.Slice(dots, n*lanes), unsafe.Slice(dst, (n-1)*stride+hi)
	for t := range n {
		for j := lo; j < hi; j++ {
			h[t*stride+j] = num.F16FromFloat32(x[t*lanes+j])
		}
	}
}
