//go:build noasm || (!amd64 && !arm64)

package simd

// maxsimUnits: this build has no assembly.
var maxsimUnits map[string]*maxsimUnit
