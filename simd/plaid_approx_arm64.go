//go:build !noasm

package simd

// approxUnits are the levels' arithmetic by variant.
var approxUnits map[string]*approxUnit

var largestCode func(codes *int32, n int) uint32
