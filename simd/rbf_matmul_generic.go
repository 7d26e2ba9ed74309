package simd

import (
	"math"
	"unsafe"
)

// rbfGeneric is the portable unit and the reference of the others.
var rbfGeneric = rbfUnit{
	variant: "generic", class: "generic",
	single: rbfRoutines[float32]{tile: rbfTileGeneric[float32], sum: rbfSumGeneric[float32]},
	double: rbfRoutines[float64]{tile: rbfTileGeneric[float64], sum: rbfSumGeneric[float64]},
}

func rbfTileGeneric[F float32 | float64](x, y, k *F, d, panels, stride int, c, clow, limit F) {
	size := int(unsafe.Sizeof(F(0)))
	panel := rbfPanelBytes / size
	rows, columns := unsafe.Slice(x, d*rbfQuad), unsafe.Slice(y, panels*panel*d)
	exponent := float64(c) + float64(clow)
	if size == 4 {
		exponent /= rbfQuarters
	}
	out := unsafe.Slice(k, (rbfQuad-1)*stride/size+panels*panel)
	for j := range panels * panel {
		col := columns[j/panel*panel*d+j%panel:]
		for r := range rbfQuad {
			var u F
			for i := range d {
				e := rows[i*rbfQuad+r] - col[i*panel]
				u += F(e * e)
			}
			v := F(math.Exp2(float64(min(u, limit)) * exponent)) // a NaN goes on
			if u >= limit {
				v = 0
			}
			out[r*stride/size+j] = v
		}
	}
}

// rbfTileFlat is every unit's tile for γ = 0, or so little that no finite distance reaches 2^-127.
// There the others cannot tell an infinite distance, whose value is e^(-0·∞) = NaN or 0, from a
// square beyond float32, whose value is not: distances in f64 can.
func rbfTileFlat[F float32 | float64](x, y, k *F, d, panels, stride int, c, clow, _ F) {
	size := int(unsafe.Sizeof(F(0)))
	panel := rbfPanelBytes / size
	rows, columns := unsafe.Slice(x, d*rbfQuad), unsafe.Slice(y, panels*panel*d)
	exponent := float64(c) + float64(clow)
	if size == 4 {
		exponent /= rbfQuarters
	}
	out := unsafe.Slice(k, (rbfQuad-1)*stride/size+panels*panel)
	for j := range panels * panel {
		col := columns[j/panel*panel*d+j%panel:]
		for r := range rbfQuad {
			var u float64
			for i := range d {
				e := float64(rows[i*rbfQuad+r]) - float64(col[i*panel])
				u += float64(e * e)
			}
			out[r*stride/size+j] = F(math.Exp2(u * exponent))
		}
	}
}

func rbfSumGeneric[F float32 | float64](k, w *F, acc *float64, panels, stride int) {
	size := int(unsafe.Sizeof(F(0)))
	n, lanes := panels*rbfPanelBytes/size, 64/size
	values, weights := unsafe.Slice(k, (rbfQuad-1)*stride/size+n), unsafe.Slice(w, n)
	sums := unsafe.Slice(acc, rbfQuad)
	for r := range sums {
		var lane [16]F
		for j, v := range values[r*stride/size:][:n] {
			lane[j%lanes] += F(v * weights[j])
		}
		for _, v := range lane[:lanes] {
			sums[r] += float64(v)
		}
	}
}
