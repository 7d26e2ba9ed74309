//go:build !noasm

package simd

// residualUnits are the levels' arithmetic by variant.
var residualUnits map[string]*residualUnit
