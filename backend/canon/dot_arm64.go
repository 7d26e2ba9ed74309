//go:build !noasm

package canon

// chain is chainGeneric on n > 0 elements. Every arm64 processor fuses.
//
//go:noescape
func chain(q, d *float32, n int) float32

// tile is tileGeneric.
//
//go:noescape
func tile(acc, q0, q1, q2, q3, panel *float32, k int)

func pack(panel *[depth * lanes]float32, rows []float32, width, dim, k int) {
	packGeneric(panel, rows, 0, width, dim, k)
}
