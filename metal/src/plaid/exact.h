// Arithmetic whose bits are defined: what decides the bytes of an index, or which document comes first, is the same on
// every backend (docs/semantics.md). Each operation here is one IEEE float32 operation in the order written, and only an
// fma is fused.
//
// MSL lets a GPU take subnormal floats for zeros, so the bits are those of other backends where no operand and no
// intermediate result is subnormal. Conversions to and from fixed point keep subnormals.
#pragma once
#include "msl/element.h"

// The library is compiled with fast arithmetic off, which still leaves a compiler free to fuse a product with the sum
// that takes it. Compilers that do not know the pragma ignore it.
#pragma METAL fp contract(off)

// canonical gives every NaN the same bits.
static inline float canonical(float x) { return is_nan(x) ? as_type<float>(0x7fc00000u) : x; }

// chain is one step of a canonical dot product: components ascending, from +0. Integers just add up.
static inline float chain(float x, float y, float acc) { return fma(x, y, acc); }
static inline int chain(int x, int y, int acc) { return acc + x * y; }

// maximum keeps the larger; NaN wins and stays.
static inline float maximum(float best, float x) { return x > best || (is_nan(x) && !is_nan(best)) ? x : best; }

// add_square is s + x*x, rounded after the product and after the sum.
static inline float add_square(float s, float x) {
  float p = x * x;
  return s + p;
}

// inverse_norm is 1/max(sqrt(squares), 1e-12).
static inline float inverse_norm(float squares) {
  float norm = precise::sqrt(squares);
  return canonical(precise::divide(1.0f, norm > 1e-12f || is_nan(norm) ? norm : 1e-12f));
}

// top_bit is the position of the highest set bit of m, which has one.
static inline int top_bit(ulong m) {
  uint high = uint(m >> 32);
  return high != 0 ? 63 - int(clz(high)) : 31 - int(clz(uint(m)));
}

// shift_even is m / 2^s rounded half to even, s from 1 to 63.
static inline ulong shift_even(ulong m, int s) {
  ulong q = m >> s, rest = m & ((1ul << s) - 1), half_way = 1ul << (s - 1);
  return rest > half_way || (rest == half_way && (q & 1) != 0) ? q + 1 : q;
}
