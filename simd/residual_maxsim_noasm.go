//go:build noasm || (!amd64 && !arm64)

package simd

// residualUnits: this build has no assembly.
var residualUnits map[string]*residualUnit
