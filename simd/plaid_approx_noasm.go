//go:build noasm || (!amd64 && !arm64)

package simd

// approxUnits: this build has no assembly.
var approxUnits map[string]*approxUnit

var largestCode func(codes *int32, n int) uint32
