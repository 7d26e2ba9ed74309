//go:build !noasm

package simd

// rbfTileF32NEON writes k = 2^(c*u/4), u the squared distances of 4 rows of x from the columns of
// panels of y. x is d by 4, a panel of y d by 128 bytes, k 4 rows stride bytes apart.
// u is cut at limit, where the result is 0; clow is the part of c that its type cannot hold.
// Reference: rbfTileGeneric.
//
//go:noescape
func rbfTileF32NEON(x, y, k *float32, d, panels, stride int, c, clow, limit float32)

// rbfTileF64NEON writes k = 2^(c*u), u the squared distances of 4 rows of x from the columns of
// panels of y. x is d by 4, a panel of y d by 128 bytes, k 4 rows stride bytes apart.
// u is cut at limit, where the result is 0; clow is the part of c that its type cannot hold.
// Reference: rbfTileGeneric.
//
//go:noescape
func rbfTileF64NEON(x, y, k *float64, d, panels, stride int, c, clow, limit float64)
