//go:build !noasm

package simd

// maxsimDotsNEONBF16 multiplies pairs of bf16 with BFDOT: panels are [d/2][16] pairs, odd d
// padded with 0. The sum of a pair is rounded before it is added.
//
//go:noescape
func maxsimDotsNEONBF16(panel *float32, doc *uint16, stride, d, n int, out *float32)
