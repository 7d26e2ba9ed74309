//go:build !noasm

package simd

// centroidAboveNEON takes 16 lanes, whatever lanes says, as the next does. Reference:
// centroidAboveGeneric.
//
//go:noescape
func centroidAboveNEON(dots *float32, n, lanes int, bound *float32) (t int, hits uint32)

// centroidHalfNEON: reference centroidHalfGeneric.
//
//go:noescape
func centroidHalfNEON(dots *float32, n, lanes int, dst *uint16, stride int)

// centroidAssembly are the units with assembly, best first.
func centroidAssembly() []*centroidUnit { return []*centroidUnit{&centroidNEON} }

var centroidNEON = centroidUnit{
	variant: "neon", requires: []string{"neon"}, width: 16, lanes: 16,
	pack: centroidPackNEON, dots: centroidDotsNEON, nearest: centroidNearestNEON, above: centroidAboveNEON, half: centroidHalfNEON,
}

// centroidPackNEON transposes 8 tokens at a time.
func centroidPackNEON(tokens *float32, n, d int, panel *float32, lanes int) {
	for j := 0; j < lanes; j += packRows {
		first := min(j, n-1)
		packNEON(add(tokens, first*d), 4*d, min(packRows, n-first), d, add(panel, j), lanes)
	}
}

func centroidDotsNEON(panel, centroids *float32, d, n int, out *float32, _ int) {
	maxsimDotsF32NEON(panel, centroids, 4*d, d, n, out)
}

func centroidNearestNEON(panel, centroids *float32, d, n int, best *float32, winner *int32, first int, room *float32, lanes int) {
	maxsimDotsF32NEON(panel, centroids, 4*d, d, n, room)
	maxsimWinnerNEON(room, n, lanes, best, winner, first)
}
