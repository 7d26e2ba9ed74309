// Package num converts between Go's float64 and float32 and the element types
// of device memory: f16, bf16, f8e4m3, f8e5m2, and the integers i8, u8, i32, i64.
//
// Every conversion to a narrower type rounds once, to nearest with ties to even,
// straight from the value it is given: a float64 never passes through float32 on
// its way to f16, which could round twice. Decoding is exact (i64 excepted, which
// rounds once to the target).
//
//	type    layout (sign.exponent.fraction)  largest    beyond the largest  infinity    NaN
//	f16     1.5.10, bias 15                  65504      infinity            kept        kept
//	bf16    1.8.7, bias 127                  3.3895e38  infinity            kept        kept
//	f8e4m3  1.4.3, bias 7, no infinities     448        ±448                ±448        S.1111.111
//	f8e5m2  1.5.2, bias 15                   57344      ±57344              kept        S.11111.1xx
//	i8 …                                     2^(w−1)−1  the nearest limit   a limit     0
//
// The f8 types saturate. An infinity becomes ±448 in f8e4m3, which has none, and
// stays an infinity in f8e5m2, so that every code of every type survives a decode
// and encode; the PTX conversion with .satfinite differs there and gives ±57344.
// A NaN stays a NaN of the same sign, made quiet; payload bits that fit are kept.
//
// Three layers: scalars ([F16FromFloat64]), slices of codes ([DecodeF16]), and
// little-endian bytes, the layout of device memory, through a [Codec] per type.
//
// Sources: IEEE 754-2019; "OCP 8-bit Floating Point Specification (OFP8)",
// revision 1.0, 2023; bfloat16 is the upper half of binary32.
package num
