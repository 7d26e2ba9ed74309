// Sums in fixed point: counts of steps 2^-shift, which neither order nor grouping changes (package canon).
#pragma once

namespace plaid {

// What a sum is when it is no count.
constexpr long long kFixedNaN = (long long)(1ull << 63), kFixedNegInf = kFixedNaN + 1, kFixedPosInf = 0x7fffffffffffffff;

// stepsOf is 2^shift. Shifts beyond the range of a double's exponent change nothing: below it every f32 is less than
// half a step, above it every one but 0 is beyond 2^62.
__device__ __forceinline__ double stepsOf(int shift) { return __longlong_as_double((long long)(1023 + min(max(shift, -1000), 800)) << 52); }

// FixedSum adds f32 values. An addend of 2^62 steps or more makes it NaN and is remembered.
struct FixedSum {
  static constexpr unsigned kNaN = 1, kPlus = 2, kMinus = 4, kBeyond = 8;
  long long total = 0;
  unsigned flags = 0;

  // add takes x; steps is stepsOf the shift. The product is exact, or rounds to no step anyhow.
  __device__ __forceinline__ void add(float x, double steps) {
    double s = (double)x * steps;
    if (fabs(s) < 0x1p62) // false for NaN
      total += __double2ll_rn(s);
    else
      flags |= x != x ? kNaN : fabsf(x) <= 3.402823466e38f ? kBeyond : x > 0 ? kPlus : kMinus;
  }

  // join adds the sums of the lanes; all of them have it.
  __device__ __forceinline__ void join() {
#pragma unroll
    for (int o = 16; o > 0; o /= 2) total += __shfl_xor_sync(0xffffffffu, total, o);
    flags = __reduce_or_sync(0xffffffffu, flags);
  }

  __device__ __forceinline__ bool beyond() const { return flags & kBeyond; }

  __device__ __forceinline__ long long fixed() const {
    if (flags == 0) return total;
    if ((flags & (kNaN | kBeyond)) || flags == (kPlus | kMinus)) return kFixedNaN;
    return flags == kPlus ? kFixedPosInf : kFixedNegInf;
  }
};

// fixedScore is a sum as f32: the count rounded once, then scaled.
__device__ __forceinline__ float fixedScore(long long f, int shift) {
  if (f == kFixedNaN) return __uint_as_float(0x7fc00000u);
  if (f == kFixedPosInf) return __uint_as_float(0x7f800000u);
  if (f == kFixedNegInf) return __uint_as_float(0xff800000u);
  return (float)((double)__ll2float_rn(f) * stepsOf(-shift));
}

}  // namespace plaid
