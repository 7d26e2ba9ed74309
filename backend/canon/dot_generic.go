package canon

import "unsafe"

// chainGeneric is the body of [Dot], and the reference of the assembly.
func chainGeneric(q, d []float32) float32 {
	var acc float32
	for i, x := range q {
		acc = FMA(x, d[i], acc)
	}
	return acc
}

// tileGeneric continues group×lanes chains over k components: acc[i*lanes+j] is
// that of query qi and lane j of the panel. A query with the address of the one
// before it is padding, and its chains are undefined. It is the reference of the
// assembly.
func tileGeneric(acc, q0, q1, q2, q3, panel *float32, k int) {
	rows := unsafe.Slice(panel, k*lanes)
	var last *float32
	for i, q := range [group]*float32{q0, q1, q2, q3} {
		if q == last {
			continue
		}
		last = q
		out := (*[lanes]float32)(unsafe.Add(unsafe.Pointer(acc), i*lanes*4))
		for c, x := range unsafe.Slice(q, k) {
			row := (*[lanes]float32)(rows[c*lanes:])
			// FMA by hand, since the compiler does not inline it: 16 chains at once.
			for j, z := range out {
				p := float64(x) * float64(row[j])
				s := p + float64(z)
				if undecided(s) {
					s = roundToOdd(p, float64(z), s)
				}
				out[j] = float32(s)
			}
		}
	}
}
