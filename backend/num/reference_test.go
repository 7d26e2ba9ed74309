package num

import (
	"math"
	"math/big"
	"sort"
)

// format is the slow description of a code that the tests trust: fields read off
// the standards, values by scaling, rounding by searching all values.
type format struct {
	name                 string
	bits, fraction, bias int
	infinity             bool // the top exponent holds infinities and NaNs
	saturate             bool // finite overflow gives the largest finite code

	from64 func(float64) uint32
	from32 func(float32) uint32
	to32   func(uint32) float32
	to64   func(uint32) float64

	count uint32 // of finite non-negative codes, once counted
}

var formats = []*format{
	{
		name: "f16", bits: 16, fraction: 10, bias: 15, infinity: true,
		from64: func(x float64) uint32 { return uint32(F16FromFloat64(x)) },
		from32: func(x float32) uint32 { return uint32(F16FromFloat32(x)) },
		to32:   func(c uint32) float32 { return F16ToFloat32(uint16(c)) },
		to64:   func(c uint32) float64 { return F16ToFloat64(uint16(c)) },
	},
	{
		name: "bf16", bits: 16, fraction: 7, bias: 127, infinity: true,
		from64: func(x float64) uint32 { return uint32(BF16FromFloat64(x)) },
		from32: func(x float32) uint32 { return uint32(BF16FromFloat32(x)) },
		to32:   func(c uint32) float32 { return BF16ToFloat32(uint16(c)) },
		to64:   func(c uint32) float64 { return BF16ToFloat64(uint16(c)) },
	},
	{
		name: "f8e4m3", bits: 8, fraction: 3, bias: 7, saturate: true,
		from64: func(x float64) uint32 { return uint32(F8E4M3FromFloat64(x)) },
		from32: func(x float32) uint32 { return uint32(F8E4M3FromFloat32(x)) },
		to32:   func(c uint32) float32 { return F8E4M3ToFloat32(uint8(c)) },
		to64:   func(c uint32) float64 { return F8E4M3ToFloat64(uint8(c)) },
	},
	{
		name: "f8e5m2", bits: 8, fraction: 2, bias: 15, infinity: true, saturate: true,
		from64: func(x float64) uint32 { return uint32(F8E5M2FromFloat64(x)) },
		from32: func(x float32) uint32 { return uint32(F8E5M2FromFloat32(x)) },
		to32:   func(c uint32) float32 { return F8E5M2ToFloat32(uint8(c)) },
		to64:   func(c uint32) float64 { return F8E5M2ToFloat64(uint8(c)) },
	},
}

func (f *format) sign() uint32 { return 1 << (f.bits - 1) }

// value returns what the code means.
func (f *format) value(code uint32) float64 {
	abs := code &^ f.sign()
	exp := int(abs >> f.fraction)
	frac := float64(abs & (1<<f.fraction - 1))
	top := 1<<(f.bits-1-f.fraction) - 1
	var v float64
	switch {
	case f.infinity && exp == top && frac == 0:
		v = math.Inf(1)
	case f.infinity && exp == top, !f.infinity && abs == f.sign()-1:
		return math.NaN()
	case exp == 0:
		v = math.Ldexp(frac, 1-f.bias-f.fraction)
	default:
		v = math.Ldexp(frac+math.Ldexp(1, f.fraction), exp-f.bias-f.fraction)
	}
	if code&f.sign() != 0 {
		v = -v
	}
	return v
}

// finite returns the number of non-negative finite codes: 0 … finite−1.
func (f *format) finite() uint32 {
	if f.count == 0 {
		for v := f.value(0); !math.IsInf(v, 0) && !math.IsNaN(v); v = f.value(f.count) {
			f.count++
		}
	}
	return f.count
}

// overflow returns the code of finite values that round beyond the largest.
func (f *format) overflow() uint32 {
	if f.saturate {
		return f.finite() - 1
	}
	return f.finite()
}

// nearest rounds |x| by exact comparison with the midpoints between neighbouring
// values; ok is false for a NaN. It shares no step with the code under test.
func (f *format) nearest(x float64) (code uint32, ok bool) {
	if math.IsNaN(x) {
		return 0, false
	}
	var sign uint32
	if math.Signbit(x) {
		sign = f.sign()
	}
	n := f.finite()
	if math.IsInf(x, 0) {
		if f.infinity {
			return sign | n, true
		}
		return sign | (n - 1), true
	}
	abs := new(big.Float).SetPrec(2200).SetFloat64(math.Abs(x))
	// The first code whose upper midpoint is not below |x|, or on it when even.
	c := uint32(sort.Search(int(n), func(i int) bool {
		order := f.midpoint(uint32(i), n).Cmp(abs)
		return order > 0 || order == 0 && i%2 == 0
	}))
	if c == n {
		c = f.overflow()
	}
	return sign | c, true
}

// midpoint returns the exact middle of codes i and i+1; beyond the largest finite
// value n−1 the next one is where an unbounded exponent would put it.
func (f *format) midpoint(i, n uint32) *big.Float {
	low := f.value(i)
	high := f.value(i + 1)
	if i+1 == n {
		high = 2*low - f.value(i-1)
	}
	m := new(big.Float).SetPrec(2200).SetFloat64(low)
	m.Add(m, new(big.Float).SetFloat64(high))
	return m.SetMantExp(m, -1)
}
