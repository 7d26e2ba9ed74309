package num

import "math"

// Float is an element type of host memory that codes decode into.
type Float interface{ float32 | float64 }

// layout describes a binary floating-point code narrower than float32.
type layout struct {
	fraction int    // stored fraction bits
	minExp   int    // exponent of the smallest normal value
	sign     uint32 // the sign bit
	limit    uint32 // code of the largest finite value
	over     uint32 // code for finite values that round beyond limit
	inf      uint32 // code for an infinity
	nan      uint32 // quiet NaN
	payload  uint32 // fraction bits a NaN keeps
}

var (
	f16Layout    = layout{fraction: 10, minExp: -14, sign: 0x8000, limit: 0x7bff, over: 0x7c00, inf: 0x7c00, nan: 0x7e00, payload: 0x1ff}
	bf16Layout   = layout{fraction: 7, minExp: -126, sign: 0x8000, limit: 0x7f7f, over: 0x7f80, inf: 0x7f80, nan: 0x7fc0, payload: 0x3f}
	f8e4m3Layout = layout{fraction: 3, minExp: -6, sign: 0x80, limit: 0x7e, over: 0x7e, inf: 0x7e, nan: 0x7f}
	f8e5m2Layout = layout{fraction: 2, minExp: -14, sign: 0x80, limit: 0x7b, over: 0x7b, inf: 0x7c, nan: 0x7e, payload: 0x1}
)

const (
	f64Fraction = 52
	f64Bias     = 1023
	f64Special  = 0x7ff // exponent field of infinities and NaNs
)

// round returns the code of l nearest to x, ties to the even code.
func (l *layout) round(x float64) uint32 {
	bits := math.Float64bits(x)
	var sign uint32
	if bits>>63 != 0 {
		sign = l.sign
	}
	field := int(bits >> f64Fraction & f64Special)
	fraction := bits & (1<<f64Fraction - 1)
	if field == f64Special {
		if fraction == 0 {
			return sign | l.inf
		}
		return sign | l.nan | uint32(fraction>>(f64Fraction-l.fraction))&l.payload
	}
	if field == 0 { // zero, or a float64 subnormal, far below half of any code
		return sign
	}
	exp := field - f64Bias
	// base counts the codes below this binade once the significand, with its
	// leading one, is added; a carry out of the fraction then moves to the next
	// binade, or from the subnormals to the normals, by itself.
	shift, base := f64Fraction-l.fraction, 0
	if exp >= l.minExp {
		base = exp - l.minExp
	} else {
		shift += l.minExp - exp
		if shift > f64Fraction+1 { // below half of the smallest subnormal
			return sign
		}
	}
	significand := fraction | 1<<f64Fraction
	kept := significand >> shift
	rest, half := significand&(1<<shift-1), uint64(1)<<(shift-1)
	if rest > half || rest == half && kept&1 != 0 {
		kept++
	}
	code := kept + uint64(base)<<l.fraction
	if code > uint64(l.limit) {
		return sign | l.over
	}
	return sign | uint32(code)
}
