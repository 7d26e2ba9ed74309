package simd

import (
	"slices"
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

// centroidInsertGeneric is the reference of the units that have it.
func centroidInsertGeneric(dots *float32, n, lanes, first int, value *float32, index *int32, p int) int {
	x, v, at := unsafe.Slice(dots, n*lanes), unsafe.Slice(value, p*lanes), unsafe.Slice(index, p*lanes)
	for t := range n {
		row := x[t*lanes:][:lanes]
		if slices.ContainsFunc(row, func(y float32) bool { return y != y }) {
			return t // above any list's last
		}
		for j, y := range row {
			s := p
			for ; s > 0 && !(y <= v[(s-1)*lanes+j]); s-- {
				if s < p {
					v[s*lanes+j], at[s*lanes+j] = v[(s-1)*lanes+j], at[(s-1)*lanes+j]
				}
			}
			if s < p {
				v[s*lanes+j], at[s*lanes+j] = y, int32(first+t)
			}
		}
	}
	return n
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
