// Sums in fixed point: integers, so that neither order nor grouping shows. MSL has no double, so floats become counts
// of steps, and counts floats, by integer arithmetic on their bits.
#pragma once
#include "plaid/exact.h"

// What a sum is when it is no count.
#define FIXED_NAN long(1ul << 63)
#define FIXED_MINUS long((1ul << 63) + 1)
#define FIXED_PLUS long((1ul << 63) - 1)

enum { SUM_NAN = 1, SUM_PLUS = 2, SUM_MINUS = 4 };

// steps_shift keeps a shift within what makes a difference: floats reach from 2^-149 to 2^128, counts to 2^63.
static inline int steps_shift(long shift) { return shift < -1024 ? -1024 : shift > 1024 ? 1024 : int(shift); }

// to_steps sets steps to x * 2^shift, rounded half to even, and returns whether that is below 2^62. x is finite.
static inline bool to_steps(float x, int shift, thread long &steps) {
  uint b = as_type<uint>(x), e = b >> 23 & 255, m = b & 0x7fffff;
  steps = 0;
  if (e == 0) e = 1; // subnormal
  else m |= 0x800000;
  if (m == 0) return true;
  int up = int(e) - 150 + shift; // |x| is m * 2^(e-150)
  if (top_bit(m) + up >= 62) return false;
  ulong q = 0;
  if (up >= 0) q = ulong(m) << up;
  else if (up > -25) q = shift_even(m, -up); // below, m is less than half a step
  steps = b >> 31 != 0 ? -long(q) : long(q);
  return true;
}

// fixed_sum adds counts of steps; what is no count absorbs them.
struct fixed_sum {
  ulong total; // wraps, where a signed sum would be undefined
  uint flags;
};

static inline fixed_sum no_sum() {
  fixed_sum s = {0, 0};
  return s;
}

// add_fixed adds x as a count of steps. It returns false where x is finite and too large for one; the sum is NaN then.
static inline bool add_fixed(thread fixed_sum &s, float x, int shift) {
  if (!is_finite(x)) {
    s.flags |= is_nan(x) ? SUM_NAN : x > 0 ? SUM_PLUS : SUM_MINUS;
    return true;
  }
  long steps;
  if (!to_steps(x, shift, steps)) {
    s.flags |= SUM_NAN;
    return false;
  }
  s.total += ulong(steps);
  return true;
}

static inline fixed_sum add_sums(fixed_sum a, fixed_sum b) {
  fixed_sum s = {a.total + b.total, a.flags | b.flags};
  return s;
}

// simd_add gives every lane the sum of all 32: Metal's own reductions have 32 bits.
static inline fixed_sum simd_add(fixed_sum s) {
  for (ushort d = 16; d > 0; d /= 2) {
    uint low = simd_shuffle_xor(uint(s.total), d), high = simd_shuffle_xor(uint(s.total >> 32), d), flags = simd_shuffle_xor(s.flags, d);
    fixed_sum other = {ulong(high) << 32 | low, flags};
    s = add_sums(s, other);
  }
  return s;
}

static inline long fixed_value(fixed_sum s) {
  if ((s.flags & SUM_NAN) != 0 || (s.flags & (SUM_PLUS | SUM_MINUS)) == (SUM_PLUS | SUM_MINUS)) return FIXED_NAN;
  if ((s.flags & SUM_PLUS) != 0) return FIXED_PLUS;
  if ((s.flags & SUM_MINUS) != 0) return FIXED_MINUS;
  return long(s.total);
}

// fixed_float is v * 2^-shift: v rounded to 24 bits, half to even, then scaled; only a result below the normal floats
// is rounded once more.
static inline float fixed_float(long v, int shift) {
  if (v == 0) return 0;
  uint sign = v < 0 ? 0x80000000u : 0u;
  ulong q = v < 0 ? 0ul - ulong(v) : ulong(v);
  int low = top_bit(q) - 23; // q becomes a 24-bit number times 2^low
  q = low > 0 ? shift_even(q, low) : q << -low;
  if (q >> 24 != 0) {
    q >>= 1;
    low++;
  }
  int e = low - shift + 150; // as stored
  if (e >= 255) return as_type<float>(sign | 0x7f800000u);
  if (e <= 0) return as_type<float>(sign | (e < -24 ? 0u : uint(shift_even(q, 1 - e))));
  return as_type<float>(sign | uint(e) << 23 | (uint(q) & 0x7fffffu));
}

// fixed_score is the score of a sum.
static inline float fixed_score(long v, int shift) {
  if (v == FIXED_NAN) return canonical(NAN);
  if (v == FIXED_PLUS) return INFINITY;
  if (v == FIXED_MINUS) return -INFINITY;
  return fixed_float(v, shift);
}
