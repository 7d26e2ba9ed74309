// f16 as bits, and residual bytes.
#pragma once
#include "common/element.cuh"

// F16 beside the elements of common/element.cuh.
struct F16 {
  using Store = unsigned short;
  static __device__ __forceinline__ float widen(unsigned short v) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v));
    return f;
  }
  static __device__ __forceinline__ unsigned short narrow(float v) {
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(v));
    return h;
  }
};

namespace plaid {

// bucketAt is the bucket of component i of a packed row: the first component sits in the high bits of a byte, and every
// group of bits is reversed.
__device__ __forceinline__ unsigned bucketAt(const unsigned char* row, long long i, int bits) {
  const long long at = i * bits;
  const unsigned group = ((unsigned)row[at / 8] << (at % 8)) & 0xffu; // its bits at the top of the byte
  return __brev(group) >> 24 & ((1u << bits) - 1);
}

// inverseNorm is 1/max(norm, 1e-12) of a sum of squares, each step rounded to f32. A NaN stays.
__device__ __forceinline__ float inverseNorm(float squares) {
  float norm = __fsqrt_rn(squares);
  return __fdiv_rn(1.0f, norm < 1e-12f ? 1e-12f : norm);
}

}  // namespace plaid
