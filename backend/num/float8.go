package num

import "math"

// An 8-bit type has 256 values, so decoding is a table look-up (1 KiB each).
var (
	f8e4m3Values = values8(func(c uint8) bool { return c&0x7f == 0x7f }, 3, 7)
	f8e5m2Values = values8(func(c uint8) bool { return c&0x7f > 0x7c }, 2, 15)
)

// values8 tabulates a type of 8-bit codes with the given fraction bits and bias.
func values8(isNaN func(uint8) bool, fraction, bias int) (t [256]float32) {
	for i := range t {
		code := uint8(i)
		exp, frac := int(code&0x7f)>>fraction, float64(int(code)&(1<<fraction-1))
		unit := math.Ldexp(1, -fraction)
		abs := math.Ldexp(1+frac*unit, exp-bias)
		switch {
		case isNaN(code):
			abs = math.NaN()
		case exp == 0:
			abs = math.Ldexp(frac*unit, 1-bias)
		case fraction == 2 && exp == 31: // f8e4m3 has no infinities
			abs = math.Inf(1)
		}
		bits := math.Float32bits(float32(abs)) &^ (1 << 31)
		t[i] = math.Float32frombits(bits | uint32(code&0x80)<<24)
	}
	return t
}

// F8E4M3FromFloat64 returns the f8e4m3 code nearest to x, ties to even. Larger
// magnitudes than 448, infinities included, become ±448.
func F8E4M3FromFloat64(x float64) uint8 { return uint8(f8e4m3Layout.round(x)) }

// F8E4M3FromFloat32 is [F8E4M3FromFloat64] for a float32.
func F8E4M3FromFloat32(x float32) uint8 { return uint8(f8e4m3Layout.round(float64(x))) }

// F8E4M3ToFloat32 returns the value of f8e4m3 code c, exactly.
func F8E4M3ToFloat32(c uint8) float32 { return f8e4m3Values[c] }

// F8E4M3ToFloat64 returns the value of f8e4m3 code c, exactly.
func F8E4M3ToFloat64(c uint8) float64 { return float64(f8e4m3Values[c]) }

// F8E5M2FromFloat64 returns the f8e5m2 code nearest to x, ties to even. Larger
// finite magnitudes than 57344 become ±57344; an infinity stays one.
func F8E5M2FromFloat64(x float64) uint8 { return uint8(f8e5m2Layout.round(x)) }

// F8E5M2FromFloat32 is [F8E5M2FromFloat64] for a float32.
func F8E5M2FromFloat32(x float32) uint8 { return uint8(f8e5m2Layout.round(float64(x))) }

// F8E5M2ToFloat32 returns the value of f8e5m2 code c, exactly.
func F8E5M2ToFloat32(c uint8) float32 { return f8e5m2Values[c] }

// F8E5M2ToFloat64 returns the value of f8e5m2 code c, exactly.
func F8E5M2ToFloat64(c uint8) float64 { return float64(f8e5m2Values[c]) }
