//go:build noasm || (!amd64 && !arm64)

package simd

var (
	rateLoops   = genericLoops
	memoryLoops map[Level]memoryLoop
)
