//go:build !noasm

package simd

// centroidAssembly are the units with assembly, best first.
func centroidAssembly() []*centroidUnit { return []*centroidUnit{&centroidAVX512, &centroidAVX2} }

var centroidAVX2 = centroidUnit{
	variant: "avx2", requires: []string{"avx2"}, width: 8, lanes: 32,
	pack: centroidPackAVX2, dots: centroidDotsAVX2, nearest: centroidNearestAVX2, above: centroidAboveAVX2, insert: centroidInsertAVX2, half: centroidHalfAVX2, rows: centroidRowsAVX2,
}

var centroidAVX512 = centroidUnit{
	variant: "avx512", requires: []string{"avx512"}, width: 16, lanes: 32,
	pack: centroidPackAVX2, dots: centroidDotsAVX512, nearest: centroidNearestAVX512, above: centroidAboveAVX512, insert: centroidInsertAVX512, half: centroidHalfAVX512, rows: centroidRowsAVX2,
}

// centroidPackAVX2 transposes 8 tokens at a time.
func centroidPackAVX2(tokens *float32, n, d int, panel *float32, lanes int) {
	for j := 0; j < lanes; j += packRows {
		first := min(j, n-1)
		packAVX2(add(tokens, first*d), 4*d, min(packRows, n-first), d, add(panel, j), lanes)
	}
}

func centroidDotsAVX2(panel, centroids *float32, d, n int, out *float32, lanes int) {
	maxsimUnits["avx2"].f32[lanes/8](panel, centroids, 4*d, d, n, out)
}

func centroidDotsAVX512(panel, centroids *float32, d, n int, out *float32, lanes int) {
	maxsimUnits["avx512"].f32[lanes/16](panel, centroids, 4*d, d, n, out)
}

// centroidNearestAVX2 keeps the products of a full panel in registers.
func centroidNearestAVX2(panel, centroids *float32, d, n int, best *float32, winner *int32, first int, room *float32, lanes int) {
	if lanes == 32 {
		nearestCentroidAVX2(panel, centroids, d, n, best, winner, first)
		return
	}
	centroidDotsAVX2(panel, centroids, d, n, room, lanes)
	maxsimWinnerAVX2(room, n, lanes, best, winner, first)
}

func centroidNearestAVX512(panel, centroids *float32, d, n int, best *float32, winner *int32, first int, room *float32, lanes int) {
	if lanes == 32 {
		nearestCentroidAVX512(panel, centroids, d, n, best, winner, first)
		return
	}
	centroidDotsAVX512(panel, centroids, d, n, room, lanes)
	maxsimWinnerAVX2(room, n, lanes, best, winner, first)
}
