// Packed buckets as f16 weights in registers, by byte permutations.
#pragma once
#include "plaid/plaid_element.cuh"

namespace plaid {

// A half-precision table by the bits of a bucket, its low and high bytes apart, and how a packed word becomes pairs of
// weights. arrange puts components of a row, as they lie in memory, into the same pairs.
struct HalfPack2 {
  static constexpr int kBits = 2, kRegisters = 8; // pairs (i, i+4), (i+8, i+12) for i = 0..3
  unsigned low, high;

  __device__ __forceinline__ explicit HalfPack2(const float* weight) : low(0), high(0) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const unsigned w = F16::narrow(weight[__brev(i) >> 30]);
      low |= (w & 255) << 8 * i, high |= w >> 8 << 8 * i;
    }
  }

  __device__ __forceinline__ void weights(unsigned word, unsigned (&v)[8]) const {
#pragma unroll
    for (int i = 0; i < 4; i++) { // component i of each byte: both nibbles of a byte, the upper one in the high table
      const unsigned at = (word >> (6 - 2 * i) & 0x03030303u) * 0x11u + 0x40404040u;
      v[2 * i] = __byte_perm(low, high, at), v[2 * i + 1] = __byte_perm(low, high, at >> 16);
    }
  }

  static __device__ __forceinline__ void arrange(const uint4* row, unsigned (&v)[8]) {
    const uint4 a = row[0], b = row[1];
    v[0] = __byte_perm(a.x, a.z, 0x5410), v[1] = __byte_perm(b.x, b.z, 0x5410);
    v[2] = __byte_perm(a.x, a.z, 0x7632), v[3] = __byte_perm(b.x, b.z, 0x7632);
    v[4] = __byte_perm(a.y, a.w, 0x5410), v[5] = __byte_perm(b.y, b.w, 0x5410);
    v[6] = __byte_perm(a.y, a.w, 0x7632), v[7] = __byte_perm(b.y, b.w, 0x7632);
  }
};

struct HalfPack4 {
  static constexpr int kBits = 4, kRegisters = 4; // pairs as they lie in memory
  unsigned low[4], high[4];

  __device__ __forceinline__ explicit HalfPack4(const float* weight) : low{}, high{} {
#pragma unroll
    for (int i = 0; i < 16; i++) {
      const unsigned w = F16::narrow(weight[__brev(i) >> 28]);
      low[i / 4] |= (w & 255) << 8 * (i % 4), high[i / 4] |= w >> 8 << 8 * (i % 4);
    }
  }

  static __device__ __forceinline__ unsigned four(const unsigned (&t)[4], unsigned at, unsigned half) {
    return __byte_perm(__byte_perm(t[0], t[1], at), __byte_perm(t[2], t[3], at), half);
  }

  __device__ __forceinline__ void weights(unsigned word, unsigned (&v)[4]) const {
#pragma unroll
    for (int i = 0; i < 2; i++) { // nibbles stand for components 1 0 3 2
      const unsigned n = i ? word >> 16 : word, at = n & 0x7777u, half = (n >> 1 & 0x4444u) | 0x3210u;
      const unsigned l = four(low, at, half), h = four(high, at, half);
      v[2 * i] = __byte_perm(l, h, 0x4051), v[2 * i + 1] = __byte_perm(l, h, 0x6273);
    }
  }

  static __device__ __forceinline__ void arrange(const uint4* row, unsigned (&v)[4]) {
    const uint4 a = *row;
    v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w;
  }
};

}  // namespace plaid
