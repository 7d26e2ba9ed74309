//go:build !noasm

package simd

// approxUnits are the levels' arithmetic by variant.
var approxUnits map[string]*approxUnit
