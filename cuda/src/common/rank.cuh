// The ranking of scores as integers: NaN below everything, -0 equal to +0, and equal scores by ascending index.
#pragma once

// rankKey maps a score to 32 bits that compare as scores do; NaN is 0, below -inf.
__device__ __forceinline__ unsigned rankKey(float v) {
  if (v != v) return 0;
  unsigned b = __float_as_uint(v == 0.0f ? 0.0f : v);
  return b & 0x80000000u ? ~b : b | 0x80000000u;
}

// rankScore is the score of a key that is not 0.
__device__ __forceinline__ float rankScore(unsigned key) { return __uint_as_float(key & 0x80000000u ? key & 0x7fffffffu : ~key); }

// rankPair orders (score, index) pairs, no two of which are equal: the larger ranks first. 0 is no pair; index < 2^31.
__device__ __forceinline__ unsigned long long rankPair(float score, unsigned index) {
  return (unsigned long long)rankKey(score) << 32 | ~index;
}

__device__ __forceinline__ unsigned rankIndex(unsigned long long pair) { return ~(unsigned)pair; }
