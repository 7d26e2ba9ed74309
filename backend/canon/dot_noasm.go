//go:build noasm || (!amd64 && !arm64)

package canon

import "unsafe"

func chain(q, d *float32, n int) float32 {
	return chainGeneric(unsafe.Slice(q, n), unsafe.Slice(d, n))
}

func tile(acc, q0, q1, q2, q3, panel *float32, k int) {
	tileGeneric(acc, q0, q1, q2, q3, panel, k)
}

func pack(panel *[depth * lanes]float32, rows []float32, width, dim, k int) {
	packGeneric(panel, rows, 0, width, dim, k)
}
