//go:build noasm || (!amd64 && !arm64)

package simd

// approxUnits: this build has no assembly.
var approxUnits map[string]*approxUnit

// What listing does in assembly elsewhere.
var (
	largestCode func(codes *int32, n int) uint32
	sumSteps    func(best *float32, n int, scale float64) (total int64, seen uint64)
)
