//go:build !noasm

package simd

// topkFindNEON returns the first group that has an element not below bound, or groups.
// Reference: topkFindGeneric.
//
//go:noescape
func topkFindNEON(x *float32, groups int, bound float32) int
