//go:build noasm || (!amd64 && !arm64)

package simd

// residualUnits are the levels' arithmetic by variant; none in this build.
var residualUnits map[string]*residualUnit
