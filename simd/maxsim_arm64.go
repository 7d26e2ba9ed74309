//go:build !noasm

package simd

// Panels have 16 lanes. Each routine is what its name says in maxsimUnit, and the portable
// body of that name its reference.

//go:noescape
func maxsimDotsF32NEON(panel, doc *float32, stride, d, n int, out *float32)

//go:noescape
func maxsimDotsBF16NEON(panel *float32, doc *uint16, stride, d, n int, out *float32)

// maxsimMaxNEON takes 16 lanes, whatever lanes says, as the next two do.
//
//go:noescape
func maxsimMaxNEON(dots *float32, n, lanes int, best *float32)

//go:noescape
func maxsimWinnerNEON(dots *float32, n, lanes int, best *float32, winner *int32, first int)

//go:noescape
func maxsimScaleNEON(dots *float32, n, lanes int, query, doc *float32)

// maxsimPackF32NEON takes d components, a multiple of 4, as maxsimPackBF16NEON does.
//
//go:noescape
func maxsimPackF32NEON(src *float32, stride, rows, d int, panel *float32, lanes int)

//go:noescape
func maxsimPackBF16NEON(src *uint16, stride, rows, d int, panel *float32, lanes int)

// maxsimWidenBF16NEON takes n elements, a multiple of 8.
//
//go:noescape
func maxsimWidenBF16NEON(dst *float32, src *uint16, n int)

//go:noescape
func maxsimNormalizeNEON(x *float32, n int, floor float32)

// maxsimUnits are the levels' arithmetic by variant.
var maxsimUnits = func() map[string]*maxsimUnit {
	neon := genericUnit
	neon.width, neon.vectors = 16, 1
	neon.f32 = [5]func(*float32, *float32, int, int, int, *float32){1: maxsimDotsF32NEON}
	neon.bf16 = [5]func(*float32, *uint16, int, int, int, *float32){1: maxsimDotsBF16NEON}
	neon.max, neon.winner, neon.scale = maxsimMaxNEON, maxsimWinnerNEON, maxsimScaleNEON
	neon.pack, neon.packBF16 = packNEON, packBF16NEON
	neon.widen, neon.normalize = widenNEON, maxsimNormalizeNEON

	pairs := neon
	pairs.pairs, pairs.decodeBF16 = true, maxsimDecodeBF16Generic
	pairs.f32 = [5]func(*float32, *float32, int, int, int, *float32){}
	pairs.bf16 = [5]func(*float32, *uint16, int, int, int, *float32){1: maxsimDotsNEONBF16}
	return map[string]*maxsimUnit{"neon": &neon, "neonbf16": &pairs}
}()

// packNEON leaves what is beyond a multiple of 4 components to the portable body, as
// packBF16NEON does, and widenNEON of 8.
func packNEON(src *float32, stride, rows, d int, panel *float32, lanes int) {
	full := d &^ 3
	maxsimPackF32NEON(src, stride, rows, full, panel, lanes)
	if full < d {
		maxsimPackGeneric(add(src, full), stride, rows, d-full, add(panel, full*lanes), lanes)
	}
}

func packBF16NEON(src *uint16, stride, rows, d int, panel *float32, lanes int) {
	full := d &^ 3
	maxsimPackBF16NEON(src, stride, rows, full, panel, lanes)
	if full < d {
		maxsimPackBF16Generic(add(src, full), stride, rows, d-full, add(panel, full*lanes), lanes)
	}
}

func widenNEON(dst *float32, src *uint16, n int) {
	full := n &^ 7
	maxsimWidenBF16NEON(dst, src, full)
	if full < n {
		maxsimWidenGeneric(add(dst, full), add(src, full), n-full)
	}
}
