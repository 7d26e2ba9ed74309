//go:build !noasm

package canon

import "unsafe"

// useFMA is set where the processor has AVX and FMA3 and the system saves the
// upper halves of the vector registers.
var useFMA = hasFMA()

func hasFMA() bool {
	const (
		fma3, osxsave, avx = 1 << 12, 1 << 27, 1 << 28 // of CPUID leaf 1, ECX
		vectors            = 1<<1 | 1<<2               // XMM and YMM state in XCR0
	)
	all := uint32(fma3 | osxsave | avx)
	return features()&all == all && enabled()&vectors == vectors
}

// features returns ECX of CPUID leaf 1.
func features() uint32

// enabled returns the low half of XCR0; the processor must have OSXSAVE.
func enabled() uint32

// chainFMA is chainGeneric on n > 0 elements.
//
//go:noescape
func chainFMA(q, d *float32, n int) float32

// tileFMA is tileGeneric.
//
//go:noescape
func tileFMA(acc, q0, q1, q2, q3, panel *float32, k int)

// packAVX transposes 8 rows of k elements, k a multiple of 8, dim apart: component
// i of row j to panel[i*lanes+j].
//
//go:noescape
func packAVX(panel, rows *float32, dim, k int)

func chain(q, d *float32, n int) float32 {
	if useFMA {
		return chainFMA(q, d, n)
	}
	return chainGeneric(unsafe.Slice(q, n), unsafe.Slice(d, n))
}

func tile(acc, q0, q1, q2, q3, panel *float32, k int) {
	if useFMA {
		tileFMA(acc, q0, q1, q2, q3, panel, k)
		return
	}
	tileGeneric(acc, q0, q1, q2, q3, panel, k)
}

func pack(panel *[depth * lanes]float32, rows []float32, width, dim, k int) {
	from := 0
	if useFMA && k%8 == 0 {
		for ; from+8 <= width; from += 8 {
			packAVX(&panel[from], &rows[from*dim], dim, k)
		}
	}
	packGeneric(panel, rows, from, width, dim, k)
}
