package num

import "unsafe"

// The slice conversions below work on min(len(dst), len(src)) elements, as copy
// does, and return that number. dst and src must not overlap.

// DecodeF16 decodes f16 codes.
func DecodeF16[F Float](dst []F, src []uint16) int {
	n := min(len(dst), len(src))
	dst = dst[:n]
	for i, h := range src[:n] {
		dst[i] = F(F16ToFloat32(h))
	}
	return n
}

// EncodeF16 rounds each element of src to f16 as [F16FromFloat64] does.
func EncodeF16[F Float](dst []uint16, src []F) int {
	n := min(len(dst), len(src))
	dst = dst[:n]
	for i, x := range src[:n] {
		dst[i] = f16From(x)
	}
	return n
}

// DecodeBF16 decodes bf16 codes.
func DecodeBF16[F Float](dst []F, src []uint16) int {
	n := min(len(dst), len(src))
	dst = dst[:n]
	for i, b := range src[:n] {
		dst[i] = F(BF16ToFloat32(b))
	}
	return n
}

// EncodeBF16 rounds each element of src to bf16 as [BF16FromFloat64] does.
func EncodeBF16[F Float](dst []uint16, src []F) int {
	n := min(len(dst), len(src))
	dst = dst[:n]
	for i, x := range src[:n] {
		dst[i] = bf16From(x)
	}
	return n
}

// DecodeF8E4M3 decodes f8e4m3 codes.
func DecodeF8E4M3[F Float](dst []F, src []uint8) int {
	n := min(len(dst), len(src))
	dst = dst[:n]
	for i, c := range src[:n] {
		dst[i] = F(f8e4m3Values[c])
	}
	return n
}

// EncodeF8E4M3 rounds each element of src to f8e4m3 as [F8E4M3FromFloat64] does.
func EncodeF8E4M3[F Float](dst []uint8, src []F) int {
	n := min(len(dst), len(src))
	dst = dst[:n]
	for i, x := range src[:n] {
		dst[i] = F8E4M3FromFloat64(float64(x))
	}
	return n
}

// DecodeF8E5M2 decodes f8e5m2 codes.
func DecodeF8E5M2[F Float](dst []F, src []uint8) int {
	n := min(len(dst), len(src))
	dst = dst[:n]
	for i, c := range src[:n] {
		dst[i] = F(f8e5m2Values[c])
	}
	return n
}

// EncodeF8E5M2 rounds each element of src to f8e5m2 as [F8E5M2FromFloat64] does.
func EncodeF8E5M2[F Float](dst []uint8, src []F) int {
	n := min(len(dst), len(src))
	dst = dst[:n]
	for i, x := range src[:n] {
		dst[i] = F8E5M2FromFloat64(float64(x))
	}
	return n
}

// f16From picks the rounding that fits F: float32 has a faster one.
func f16From[F Float](x F) uint16 {
	if narrow[F]() {
		return F16FromFloat32(float32(x))
	}
	return F16FromFloat64(float64(x))
}

func bf16From[F Float](x F) uint16 {
	if narrow[F]() {
		return BF16FromFloat32(float32(x))
	}
	return BF16FromFloat64(float64(x))
}

// narrow reports whether F is float32; a constant in each instance.
func narrow[F Float]() bool { return unsafe.Sizeof(F(0)) == 4 }
