// What a block of T threads selects from, for the select variant of topk.
#pragma once
#include "common/rank.cuh"

namespace selection {

using Pair = unsigned long long; // of common/rank.cuh; 0 = none

constexpr int kLanes = 32;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kCapacity = 4096; // the largest k
constexpr int kBins = 2048;     // of a histogram

// Sources yield pairs. each gives f those that a thread has, U at a time where there are many; what runs once is as long as it
// takes to fetch, so short code is fast code.

// Scores are the pairs of a range of a row. The thread's first ones are on their way before it is known how many count.
template <int T> struct Scores {
  static constexpr bool kGaps = false;
  static constexpr int kHeld = 4;
  const float* s;
  unsigned first;
  unsigned held[kHeld]; // keys

  __device__ __forceinline__ Scores(const float* scores, long long from, long long n) : s(scores + from), first((unsigned)from) {
#pragma unroll
    for (int j = 0; j < kHeld; j++) {
      const unsigned i = threadIdx.x + j * T;
      held[j] = rankKey(i < n ? s[i] : 0.0f);
    }
  }
  __device__ __forceinline__ Pair operator()(unsigned i) const { return rankPair(s[i], first + i); }
  template <int U, class F> __device__ __forceinline__ void each(unsigned n, F f) const {
#pragma unroll
    for (int j = 0; j < kHeld; j++) {
      const unsigned i = threadIdx.x + j * T;
      if (i < n) f((Pair)held[j] << 32 | ~(first + i));
    }
#pragma unroll U
    for (unsigned i = threadIdx.x + kHeld * T; i < n; i += T) f((*this)(i));
  }
};

// Pairs are what the segments left, with gaps.
template <int T> struct Pairs {
  static constexpr bool kGaps = true;
  const Pair* p;
  __device__ __forceinline__ Pair operator()(unsigned i) const { return p[i]; }
  template <int U, class F> __device__ __forceinline__ void each(unsigned n, F f) const {
#pragma unroll U
    for (unsigned i = threadIdx.x; i < n; i += T)
      if (p[i]) f(p[i]);
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
