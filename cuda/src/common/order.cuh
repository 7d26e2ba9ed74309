// Order of scores: NaN above everything, -0 equal to +0.
#pragma once

// maxNaN is the larger value, NaN if either is (one instruction from sm_80 on).
__device__ __forceinline__ float maxNaN(float a, float b) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}

// orderKey maps a float to an unsigned with the same order; 0 is below every float.
__device__ __forceinline__ unsigned orderKey(float v) {
  if (v != v) return 0xffffffffu;
  unsigned b = __float_as_uint(v + 0.0f); // -0 becomes +0
  return b & 0x80000000u ? ~b : b | 0x80000000u;
}

__device__ __forceinline__ float orderValue(unsigned k) {
  if (k == 0xffffffffu) return __uint_as_float(0x7fffffffu);
  return __uint_as_float(k & 0x80000000u ? k & 0x7fffffffu : ~k);
}

// Best is the largest value seen and the lowest index that has it, as one word that compares as an unsigned:
// 0 is "none". Words of disjoint index sets combine by maximum.
struct Best {
  unsigned long long word;
  static __device__ __forceinline__ Best none() { return {0}; }
  static __device__ __forceinline__ Best of(float v, int index) {
    return {(unsigned long long)orderKey(v) << 32 | (0xffffffffu - (unsigned)index)};
  }
  __device__ __forceinline__ void take(Best b) { word = b.word > word ? b.word : word; }
  __device__ __forceinline__ float value() const { return word == 0 ? __uint_as_float(0xff800000u) : orderValue((unsigned)(word >> 32)); }
  __device__ __forceinline__ int index() const { return word == 0 ? -1 : (int)(0xffffffffu - (unsigned)word); }
};
