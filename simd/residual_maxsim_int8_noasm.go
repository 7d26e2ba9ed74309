//go:build noasm || (!amd64 && !arm64)

package simd

// residualInt8Units: this build has no assembly.
var residualInt8Units map[string]*residualInt8Unit
