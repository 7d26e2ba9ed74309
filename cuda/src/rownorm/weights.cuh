// The weight row of rms_norm: offset + w, or ones where there is no weight.
#pragma once
#include "common/rows.cuh"

namespace rownorm {

using namespace rows;

enum Casting { kLlama, kGemma, kNone };

// Weights are the factors of this thread's V packs of T, in W as stored.
template <class T, class W, int V> struct Weights {
  static constexpr int N = Pack<T>::kSize, S = Pack<W>::kSize, Q = N / S;
  Pack<W> p[V][Q];
  float offset;

  // load reads the weights of columns from.. of a row of n; none stands for an absent operand.
  __device__ __forceinline__ void load(unsigned long long weight, double off, long long from, long long n) {
    offset = (float)off;
    if (weight) {
      loadCached<N>(p, (const W*)weight + from, n - from, isWide<W>(weight, 0, n));
      return;
    }
    offset = 0.0f;
#pragma unroll
    for (int v = 0; v < V; v++)
#pragma unroll
      for (int q = 0; q < Q; q++) p[v][q] = Pack<W>::filled(1.0f);
  }

  __device__ __forceinline__ float get(int v, int i) const { return offset + p[v][i / S].get(i % S); }
};

// Scalar reads of the same factors.
template <class W> __device__ __forceinline__ float factor(unsigned long long weight, double off, long long col) {
  return weight ? (float)off + widen(((const W*)weight)[col]) : 1.0f;
}

}  // namespace rownorm
