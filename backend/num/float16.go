package num

import "math"

const (
	f32Fraction = 23
	f32Inf      = 0x7f800000
	f32Quiet    = 0x00400000
)

// F16FromFloat64 returns the f16 code nearest to x, ties to even; values of
// magnitude 65520 and more become infinities.
func F16FromFloat64(x float64) uint16 { return uint16(f16Layout.round(x)) }

// F16FromFloat32 is [F16FromFloat64] for a float32.
func F16FromFloat32(x float32) uint16 {
	bits := math.Float32bits(x)
	sign := uint16(bits >> 16 & 0x8000)
	abs := bits &^ (1 << 31)
	const (
		rebias  = (127 - 15) << f32Fraction
		minNorm = (127 - 14) << f32Fraction
		tooBig  = (127 + 16) << f32Fraction
	)
	// Normal results, and those that round up to infinity: adding just under half
	// of the last kept place, plus that place's bit, rounds ties to even.
	if abs-minNorm < tooBig-minNorm {
		abs += 1<<12 - 1 + abs>>13&1
		return sign | uint16((abs-rebias)>>13)
	}
	return uint16(f16Layout.round(float64(x)))
}

// F16ToFloat32 returns the value of f16 code h, exactly.
func F16ToFloat32(h uint16) float32 {
	abs := uint32(h&0x7fff) << 13
	sign := uint32(h&0x8000) << 16
	if abs >= 0x7c00<<13 {
		return specialF16(sign, abs)
	}
	// The exponent bias differs by 112: one multiplication by a power of two,
	// exact for subnormals as well.
	const rebias = 0x1p112
	return math.Float32frombits(math.Float32bits(math.Float32frombits(abs)*rebias) | sign)
}

// specialF16 returns an infinity or a quiet NaN from the shifted bits of an f16.
func specialF16(sign, shifted uint32) float32 {
	bits := shifted | f32Inf
	if bits != f32Inf {
		bits |= f32Quiet
	}
	return math.Float32frombits(sign | bits)
}

// F16ToFloat64 returns the value of f16 code h, exactly.
func F16ToFloat64(h uint16) float64 { return float64(F16ToFloat32(h)) }

// BF16FromFloat64 returns the bf16 code nearest to x, ties to even; values that
// round beyond the largest finite code become infinities.
func BF16FromFloat64(x float64) uint16 { return uint16(bf16Layout.round(x)) }

// BF16FromFloat32 is [BF16FromFloat64] for a float32. Subnormals are kept, where
// the instruction VCVTNEPS2BF16 flushes them to zero.
func BF16FromFloat32(x float32) uint16 {
	bits := math.Float32bits(x)
	if bits&^(1<<31) > f32Inf {
		return uint16((bits | f32Quiet) >> 16)
	}
	return uint16((bits + 1<<15 - 1 + bits>>16&1) >> 16)
}

// BF16ToFloat32 returns the value of bf16 code b, exactly; a NaN becomes quiet.
func BF16ToFloat32(b uint16) float32 {
	bits := uint32(b) << 16
	if bits&^(1<<31) > f32Inf {
		bits |= f32Quiet
	}
	return math.Float32frombits(bits)
}

// BF16ToFloat64 returns the value of bf16 code b, exactly.
func BF16ToFloat64(b uint16) float64 { return float64(BF16ToFloat32(b)) }
