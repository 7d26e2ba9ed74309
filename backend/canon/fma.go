package canon

import "math"

const (
	f64Below  = 1<<29 - 1  // the float64 fraction bits that float32 has not
	f64Half   = 1 << 28    // of these, the pattern of a tie
	f32MinExp = 1023 - 126 // float64 exponent field of the smallest normal float32
)

// FMA returns x·y + z rounded once to float32, ties to even: IEEE 754
// fusedMultiplyAdd, subnormals, infinities and signed zeros included.
//
// The product of two 24-bit significands is exact in float64, so only the sum
// rounds there. Rounding that to float32 again could round a tie the wrong way;
// rounding the first time to odd, which keeps a trace of what was lost, makes the
// second exact (Boldo and Melquiond, "Emulation of a FMA and correctly rounded
// sums: proved algorithms using rounding to odd", IEEE Trans. Computers, 2008).
func FMA(x, y, z float32) float32 {
	p := float64(x) * float64(y) // exact, so a compiler that fuses changes nothing
	s := p + float64(z)
	if undecided(s) {
		s = roundToOdd(p, float64(z), s)
	}
	return float32(s)
}

// undecided reports whether what s lost in rounding can matter to float32(s): only
// where s is on a tie between two float32, or in the range of float32's subnormals,
// where ties lie elsewhere.
func undecided(s float64) bool {
	bits := math.Float64bits(s)
	return bits&f64Below == f64Half || bits>>52&0x7ff < f32MinExp
}

// roundToOdd corrects s, the sum a + b rounded to nearest, to rounding to odd.
// It is rare, and kept out of the callers' loops.
//
//go:noinline
func roundToOdd(a, b, s float64) float64 {
	if s-s != 0 { // infinity or NaN
		return s
	}
	// Knuth's TwoSum: lost is exactly a + b − s.
	t := s - a
	lost := (a - (s - t)) + (b - t)
	bits := math.Float64bits(s)
	if lost == 0 || bits&1 != 0 {
		return s
	}
	if (lost > 0) == (s > 0) {
		return math.Float64frombits(bits + 1)
	}
	return math.Float64frombits(bits - 1)
}

// quiet gives every NaN one bit pattern; processors disagree on sign and payload.
func quiet(x float32) float32 {
	if x != x {
		return math.Float32frombits(0x7fc00000)
	}
	return x
}
