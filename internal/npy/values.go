package npy

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Len is the number of elements.
func (a *Array) Len() int { return len(a.Data) / itemSize[a.DType] }

// Float64s returns the elements, in order, as float64. Every type is converted;
// 64-bit integers beyond 2^53 are rounded.
func (a *Array) Float64s() []float64 {
	out := make([]float64, a.Len())
	for i := range out {
		switch a.DType {
		case "f2":
			out[i] = half(binary.LittleEndian.Uint16(a.Data[2*i:]))
		case "f4":
			out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(a.Data[4*i:])))
		case "f8":
			out[i] = math.Float64frombits(binary.LittleEndian.Uint64(a.Data[8*i:]))
		case "u8":
			out[i] = float64(binary.LittleEndian.Uint64(a.Data[8*i:]))
		default:
			out[i] = float64(a.integer(i))
		}
	}
	return out
}

// Int64s returns the elements, in order, of an array of integers or booleans. A
// float array, or an unsigned element above 2^63−1, is an error.
func (a *Array) Int64s() ([]int64, error) {
	if a.DType[0] == 'f' {
		return nil, fmt.Errorf("npy: integers wanted, array is %s", a.DType)
	}
	out := make([]int64, a.Len())
	for i := range out {
		out[i] = a.integer(i)
		if a.DType == "u8" && out[i] < 0 {
			return nil, fmt.Errorf("npy: element %d is %d, above the largest int64", i, uint64(out[i]))
		}
	}
	return out, nil
}

// integer is element i of an integer or boolean array; u8 wraps.
func (a *Array) integer(i int) int64 {
	switch a.DType {
	case "i1":
		return int64(int8(a.Data[i]))
	case "i2":
		return int64(int16(binary.LittleEndian.Uint16(a.Data[2*i:])))
	case "u2":
		return int64(binary.LittleEndian.Uint16(a.Data[2*i:]))
	case "i4":
		return int64(int32(binary.LittleEndian.Uint32(a.Data[4*i:])))
	case "u4":
		return int64(binary.LittleEndian.Uint32(a.Data[4*i:]))
	case "i8", "u8":
		return int64(binary.LittleEndian.Uint64(a.Data[8*i:]))
	}
	return int64(a.Data[i]) // b1, u1
}

// half decodes IEEE binary16.
func half(b uint16) float64 {
	sign := 1 - 2*float64(b>>15)
	exp, frac := int(b>>10&31), float64(b&1023)
	switch exp {
	case 0:
		return math.Copysign(math.Ldexp(frac, -24), sign)
	case 31:
		if frac != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+frac, exp-25)
}
