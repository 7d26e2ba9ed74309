// What a block of T threads selects from, for the select variant of topk. A row takes a block a few thousand instructions,
// most of which are fetched for the first time, so code is kept short.
#pragma once
#include "common/rank.cuh"

namespace selection {

using Pair = unsigned long long; // key, complement of the index; the larger ranks first, 0 = none

constexpr int kLanes = 32;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kCapacity = 4096; // the largest k
constexpr int kBins = 2048;     // of a histogram

// scoreKey is rankKey but for NaN, which is 1, so that 0 is no score.
__device__ __forceinline__ unsigned scoreKey(float v) {
  const unsigned b = __float_as_uint(v + 0.0f); // -0 becomes +0
  return v != v ? 1 : b ^ ((unsigned)((int)b >> 31) | 0x80000000u);
}

__device__ __forceinline__ Pair pairOf(unsigned key, unsigned index) { return (Pair)key << 32 | ~index; }

constexpr int kAtOnce = 4;

// Sources give f the keys that a thread has, kAtOnce at a time and keys 0 among them, with the index of the first; those of
// the others are T apart.

// Scores are those of a range of a row. The thread's first ones are on their way before it is known how many count.
template <int T> struct Scores {
  static constexpr bool kGaps = false;
  const float* s;
  unsigned first, n;
  unsigned held[kAtOnce]; // keys

  __device__ __forceinline__ Scores(const float* scores, long long from, unsigned most) {
    s = scores + from, first = (unsigned)from, n = most;
    fetch(held, threadIdx.x);
  }
  __device__ __forceinline__ void fetch(unsigned (&key)[kAtOnce], unsigned i) const {
    float v[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; j++) v[j] = i + j * T < n ? s[i + j * T] : 0.0f;
#pragma unroll
    for (int j = 0; j < kAtOnce; j++) key[j] = scoreKey(v[j]);
  }
  __device__ __forceinline__ void mask(unsigned (&key)[kAtOnce], unsigned i) const {
#pragma unroll
    for (int j = 0; j < kAtOnce; j++) key[j] = i + j * T < n ? key[j] : 0;
  }
  __device__ __forceinline__ void limit(unsigned live) {
    n = live;
    mask(held, threadIdx.x);
  }
  __device__ __forceinline__ Pair operator()(unsigned i) const { return pairOf(scoreKey(s[i]), first + i); }
  // pair is the pair of a key that each gave.
  __device__ __forceinline__ Pair pair(unsigned key, unsigned index) const { return pairOf(key, index); }
  template <class F> __device__ __forceinline__ void each(F f) const {
    f(held, first + threadIdx.x);
#pragma unroll 1
    for (unsigned i = threadIdx.x + kAtOnce * T; i < n; i += kAtOnce * T) {
      unsigned key[kAtOnce];
      fetch(key, i), mask(key, i);
      f(key, first + i);
    }
  }
};

// Pairs are what the segments left, with gaps.
template <int T> struct Pairs {
  static constexpr bool kGaps = true;
  const Pair* p;
  unsigned n;
  __device__ __forceinline__ Pair operator()(unsigned i) const { return p[i]; }
  template <class F> __device__ __forceinline__ void each(F f) const {
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < n; i += kAtOnce * T) {
      unsigned key[kAtOnce];
#pragma unroll
      for (int j = 0; j < kAtOnce; j++) key[j] = i + j * T < n ? (unsigned)(p[i + j * T] >> 32) : 0;
      f(key, i);
    }
  }
  __device__ __forceinline__ Pair pair(unsigned, unsigned i) const { return p[i]; }
};

// through is the inclusive sum over the lanes up to this one.
__device__ __forceinline__ unsigned through(unsigned v) {
  const int lane = threadIdx.x % kLanes;
#pragma unroll
  for (int o = 1; o < kLanes; o *= 2) {
    const unsigned u = __shfl_up_sync(kAllLanes, v, o);
    if (lane >= o) v += u;
  }
  return v;
}

}  // namespace selection
