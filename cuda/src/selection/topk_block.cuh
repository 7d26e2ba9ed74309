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

// Sources give f the keys and indices that a thread has, U at a time where there are many, and keys 0 among them.

// Scores are those of a range of a row. The thread's first kHeld are on their way before it is known how many count.
template <int T, int kHeld = 4> struct Scores {
  static constexpr bool kGaps = false;
  const float* s;
  unsigned first, n;
  unsigned held[kHeld]; // keys

  __device__ __forceinline__ Scores(const float* scores, long long from, unsigned most) {
    s = scores + from, first = (unsigned)from, n = most;
#pragma unroll
    for (int j = 0; j < kHeld; j++) {
      const unsigned i = threadIdx.x + j * T;
      held[j] = scoreKey(i < n ? s[i] : 0.0f);
    }
  }
  __device__ __forceinline__ void limit(unsigned live) {
    n = live;
#pragma unroll
    for (int j = 0; j < kHeld; j++) held[j] = threadIdx.x + j * T < n ? held[j] : 0;
  }
  __device__ __forceinline__ Pair operator()(unsigned i) const { return pairOf(scoreKey(s[i]), first + i); }
  template <int U, class F> __device__ __forceinline__ void each(F f) const {
#pragma unroll
    for (int j = 0; j < kHeld; j++) f(held[j], first + threadIdx.x + j * T);
#pragma unroll 1
    for (unsigned i = threadIdx.x + kHeld * T; i < n; i += U * T) {
      float v[U];
#pragma unroll
      for (int j = 0; j < U; j++) v[j] = i + j * T < n ? s[i + j * T] : 0.0f;
#pragma unroll
      for (int j = 0; j < U; j++) f(i + j * T < n ? scoreKey(v[j]) : 0, first + i + j * T);
    }
  }
};

// Pairs are what the segments left, with gaps.
template <int T> struct Pairs {
  static constexpr bool kGaps = true;
  const Pair* p;
  unsigned n;
  __device__ __forceinline__ Pair operator()(unsigned i) const { return p[i]; }
  template <int U, class F> __device__ __forceinline__ void each(F f) const {
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < n; i += U * T) {
      Pair v[U];
#pragma unroll
      for (int j = 0; j < U; j++) v[j] = i + j * T < n ? p[i + j * T] : 0;
#pragma unroll
      for (int j = 0; j < U; j++) f((unsigned)(v[j] >> 32), rankIndex(v[j]));
    }
  }
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
