package num

import (
	"encoding/binary"
	"math"
)

// Codec converts between little-endian elements of one type, the layout of device
// memory, and host floats. All methods work on as many whole elements as fit both
// slices and return that number; bytes need no alignment; dst and src must not
// overlap. Encoding rounds and saturates as the package comment says.
type Codec struct {
	name     string
	size     int
	decode32 func([]float32, []byte) int
	decode64 func([]float64, []byte) int
	encode32 func([]byte, []float32) int
	encode64 func([]byte, []float64) int
}

// The codec of each element type.
var (
	F64    = codec("f64", 8, loadF64[float32], loadF64[float64], storeF64[float32], storeF64[float64])
	F32    = codec("f32", 4, loadF32[float32], loadF32[float64], storeF32[float32], storeF32[float64])
	F16    = codec("f16", 2, loadF16[float32], loadF16[float64], storeF16[float32], storeF16[float64])
	BF16   = codec("bf16", 2, loadBF16[float32], loadBF16[float64], storeBF16[float32], storeBF16[float64])
	F8E4M3 = codec("f8e4m3", 1, DecodeF8E4M3[float32], DecodeF8E4M3[float64], EncodeF8E4M3[float32], EncodeF8E4M3[float64])
	F8E5M2 = codec("f8e5m2", 1, DecodeF8E5M2[float32], DecodeF8E5M2[float64], EncodeF8E5M2[float32], EncodeF8E5M2[float64])
	I8     = codec("i8", 1, loadI8[float32], loadI8[float64], storeI8[float32], storeI8[float64])
	U8     = codec("u8", 1, loadU8[float32], loadU8[float64], storeU8[float32], storeU8[float64])
	I32    = codec("i32", 4, loadI32[float32], loadI32[float64], storeI32[float32], storeI32[float64])
	I64    = codec("i64", 8, loadI64[float32], loadI64[float64], storeI64[float32], storeI64[float64])
)

func codec(name string, size int, d32 func([]float32, []byte) int, d64 func([]float64, []byte) int,
	e32 func([]byte, []float32) int, e64 func([]byte, []float64) int) *Codec {
	return &Codec{name, size, d32, d64, e32, e64}
}

// Name returns the type's name as device sources and reports spell it.
func (c *Codec) Name() string { return c.name }

// Size returns the bytes of one element.
func (c *Codec) Size() int { return c.size }

// Decode32 decodes into float32. Elements of f64, i32 and i64 round once, to
// nearest even; all others are exact.
func (c *Codec) Decode32(dst []float32, src []byte) int { return c.decode32(dst, src) }

// Decode64 decodes into float64. Elements of i64 round once; all others are exact.
func (c *Codec) Decode64(dst []float64, src []byte) int { return c.decode64(dst, src) }

// Encode32 encodes float32 values, rounding each once.
func (c *Codec) Encode32(dst []byte, src []float32) int { return c.encode32(dst, src) }

// Encode64 encodes float64 values, rounding each once.
func (c *Codec) Encode64(dst []byte, src []float64) int { return c.encode64(dst, src) }

func loadF64[F Float](dst []F, src []byte) int {
	n := min(len(dst), len(src)/8)
	for i := range dst[:n] {
		dst[i] = F(math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:])))
	}
	return n
}

func storeF64[F Float](dst []byte, src []F) int {
	n := min(len(dst)/8, len(src))
	for i, x := range src[:n] {
		binary.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(float64(x)))
	}
	return n
}

func loadF32[F Float](dst []F, src []byte) int {
	n := min(len(dst), len(src)/4)
	for i := range dst[:n] {
		dst[i] = F(math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:])))
	}
	return n
}

func storeF32[F Float](dst []byte, src []F) int {
	n := min(len(dst)/4, len(src))
	for i, x := range src[:n] {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(float32(x)))
	}
	return n
}

func loadF16[F Float](dst []F, src []byte) int {
	n := min(len(dst), len(src)/2)
	for i := range dst[:n] {
		dst[i] = F(F16ToFloat32(binary.LittleEndian.Uint16(src[2*i:])))
	}
	return n
}

func storeF16[F Float](dst []byte, src []F) int {
	n := min(len(dst)/2, len(src))
	for i, x := range src[:n] {
		binary.LittleEndian.PutUint16(dst[2*i:], f16From(x))
	}
	return n
}

func loadBF16[F Float](dst []F, src []byte) int {
	n := min(len(dst), len(src)/2)
	for i := range dst[:n] {
		dst[i] = F(BF16ToFloat32(binary.LittleEndian.Uint16(src[2*i:])))
	}
	return n
}

func storeBF16[F Float](dst []byte, src []F) int {
	n := min(len(dst)/2, len(src))
	for i, x := range src[:n] {
		binary.LittleEndian.PutUint16(dst[2*i:], bf16From(x))
	}
	return n
}

func loadI8[F Float](dst []F, src []byte) int {
	n := min(len(dst), len(src))
	for i := range dst[:n] {
		dst[i] = F(int8(src[i]))
	}
	return n
}

func storeI8[F Float](dst []byte, src []F) int {
	n := min(len(dst), len(src))
	for i, x := range src[:n] {
		dst[i] = uint8(I8FromFloat64(float64(x)))
	}
	return n
}

func loadU8[F Float](dst []F, src []byte) int {
	n := min(len(dst), len(src))
	for i := range dst[:n] {
		dst[i] = F(src[i])
	}
	return n
}

func storeU8[F Float](dst []byte, src []F) int {
	n := min(len(dst), len(src))
	for i, x := range src[:n] {
		dst[i] = U8FromFloat64(float64(x))
	}
	return n
}

func loadI32[F Float](dst []F, src []byte) int {
	n := min(len(dst), len(src)/4)
	for i := range dst[:n] {
		dst[i] = F(int32(binary.LittleEndian.Uint32(src[4*i:])))
	}
	return n
}

func storeI32[F Float](dst []byte, src []F) int {
	n := min(len(dst)/4, len(src))
	for i, x := range src[:n] {
		binary.LittleEndian.PutUint32(dst[4*i:], uint32(I32FromFloat64(float64(x))))
	}
	return n
}

func loadI64[F Float](dst []F, src []byte) int {
	n := min(len(dst), len(src)/8)
	for i := range dst[:n] {
		dst[i] = F(int64(binary.LittleEndian.Uint64(src[8*i:])))
	}
	return n
}

func storeI64[F Float](dst []byte, src []F) int {
	n := min(len(dst)/8, len(src))
	for i, x := range src[:n] {
		binary.LittleEndian.PutUint64(dst[8*i:], uint64(I64FromFloat64(float64(x))))
	}
	return n
}
