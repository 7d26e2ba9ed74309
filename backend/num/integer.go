package num

import "math"

// I8FromFloat64 rounds x to the nearest integer, ties to even, and saturates to
// [−128, 127]; NaN becomes 0.
func I8FromFloat64(x float64) int8 {
	return int8(clamp(x, math.MinInt8, math.MaxInt8))
}

// U8FromFloat64 rounds x to the nearest integer, ties to even, and saturates to
// [0, 255]; NaN becomes 0.
func U8FromFloat64(x float64) uint8 { return uint8(clamp(x, 0, math.MaxUint8)) }

// I32FromFloat64 rounds x to the nearest integer, ties to even, and saturates to
// the range of int32; NaN becomes 0.
func I32FromFloat64(x float64) int32 {
	return int32(clamp(x, math.MinInt32, math.MaxInt32))
}

// I64FromFloat64 rounds x to the nearest integer, ties to even, and saturates to
// the range of int64; NaN becomes 0.
func I64FromFloat64(x float64) int64 {
	// 2^63 itself is a float64 and not an int64, so the limit cannot be clamped to.
	if x >= 0x1p63 {
		return math.MaxInt64
	}
	return int64(clamp(x, math.MinInt64, 0x1p63))
}

// clamp rounds x to an integer within [low, high], both integers; NaN gives 0.
func clamp(x, low, high float64) float64 {
	switch {
	case x != x:
		return 0
	case x <= low:
		return low
	case x >= high:
		return high
	}
	return math.RoundToEven(x)
}
