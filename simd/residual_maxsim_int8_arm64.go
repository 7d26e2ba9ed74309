//go:build !noasm

package simd

// residualInt8Units are the levels' arithmetic by variant.
var residualInt8Units map[string]*residualInt8Unit
