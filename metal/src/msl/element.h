// Element types. Storage is the type, arithmetic is float: load widens, store rounds once to nearest even.
#pragma once
#include <metal_stdlib>
using namespace metal;

// bf16 and f8e4m3 are bits of our own: MSL's bfloat needs macOS 14 and a recent GPU, and there is no 8-bit float.
struct bf16 { ushort bits; };
struct f8e4m3 { uchar bits; };

static inline float widen_bf16(ushort bits) { return as_type<float>(uint(bits) << 16); }

static inline ushort narrow_bf16(float x) {
  uint b = as_type<uint>(x);
  if ((b & 0x7fffffffu) > 0x7f800000u) return ushort(b >> 16 | 0x40); // a NaN stays one
  return ushort((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

// widen_f8e4m3: sign, 4 bits of exponent with bias 7, 3 bits of fraction; no infinities, 0x7f is NaN.
static inline float widen_f8e4m3(uchar bits) {
  uint e = bits >> 3 & 15, m = bits & 7;
  float x = e == 0 ? float(m) * (1.0f / 512) : as_type<float>((e + 120) << 23 | m << 20);
  if (e == 15 && m == 7) x = NAN;
  return bits & 0x80 ? -x : x;
}

static inline float load(device const float *p) { return *p; }
static inline float load(device const half *p) { return float(*p); }
static inline float load(device const bf16 *p) { return widen_bf16(p->bits); }
static inline float load(device const f8e4m3 *p) { return widen_f8e4m3(p->bits); }

static inline void store(device float *p, float x) { *p = x; }
static inline void store(device half *p, float x) { *p = half(x); }
static inline void store(device bf16 *p, float x) { p->bits = narrow_bf16(x); }

// rounded is x after a trip through T.
template <typename T> struct element;
template <> struct element<float> { static float rounded(float x) { return x; } };
template <> struct element<half> { static float rounded(float x) { return float(half(x)); } };
template <> struct element<bf16> { static float rounded(float x) { return widen_bf16(narrow_bf16(x)); } };

// not_a_number and the infinities by bits, so that no compiler option can fold the test away.
static inline bool is_nan(float x) { return (as_type<uint>(x) & 0x7fffffffu) > 0x7f800000u; }
static inline bool is_finite(float x) { return (as_type<uint>(x) & 0x7f800000u) != 0x7f800000u; }
