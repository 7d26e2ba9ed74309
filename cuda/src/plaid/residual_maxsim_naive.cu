// residual_maxsim, variant naive: per candidate the sum over query tokens of the largest dot product with a decoded document
// token, (centroid + weight of bucket) * inverse norm.
//
// Axes tq, d, nq, td, rb, nd, k, w, c. Query T [tq,d] and Centroid T [k,d], row-major; QueryOff i64 [nq+1], DocOff i64
// [nd+1]; Code i32 [td]; Packed u8 [td,rb]; Weight f32 [w]; InvNorm f32 [td] or absent; Candidate i32 [nq,c]; Count i64 [nq]
// or absent; Shift i32 [nq]; Score f32 [nq,c]; Fixed i64 [nq,c] or absent. Bits 1, 2, 4 or 8.
// Geometry: 128 threads a block, a block for a place and a query, striding over the grid; a thread for a document token.
// f32 is canonical: one chain of fused multiply-adds per dot product, the operations of package codec for the token, sums in
// fixed point. f16 rounds the decoded token to f16. Takes every operand, attribute and alignment. Requires sm_80.
#include "args/residual_maxsim_args.h"
#include "plaid/plaid_block.cuh"
#include "plaid/plaid_element.cuh"
#include "plaid/plaid_fixed.cuh"
#include "plaid/plaid_listing.cuh"

namespace {

using namespace plaid;

constexpr int kThreads = 128, kWarps = kThreads / kLanes;

template <class E> struct Token {
  const typename E::Store* centroid;
  const unsigned char* row;
  const float* weight;
  int bits;
  __device__ __forceinline__ float raw(long long i) const { return __fadd_rn(E::widen(centroid[i]), weight[bucketAt(row, i, bits)]); }
};

// inverse is 1/max(norm, 1e-12), every step rounded to f32.
template <class E> __device__ float inverse(const Token<E>& t, long long d) {
  float sum = 0;
  for (long long i = 0; i < d; i++) {
    float v = t.raw(i);
    sum = __fadd_rn(sum, __fmul_rn(v, v));
  }
  return inverseNorm(sum);
}

template <class E> __device__ float dotToken(const residual_maxsim_args& a, long long s, long long u, int code) {
  const Token<E> t = {(const typename E::Store*)a.centroid + code * a.d, (const unsigned char*)a.packed + u * a.rb, (const float*)a.weight, (int)a.bits};
  const typename E::Store* q = (const typename E::Store*)a.query + s * a.d;
  const bool scaled = a.inv_norm || a.normalize;
  const float inv = a.inv_norm ? ((const float*)a.inv_norm)[u] : a.normalize ? inverse(t, a.d) : 1.0f;
  float dot = 0;
  for (long long i = 0; i < a.d; i++) {
    float v = t.raw(i);
    if (scaled) v = __fmul_rn(v, inv);
    dot = __fmaf_rn(E::widen(q[i]), E::round(v), dot);
  }
  return dot;
}

struct Single : F32 {
  static __device__ __forceinline__ float round(float v) { return v; }
};

struct Half : F16 {
  static __device__ __forceinline__ float round(float v) { return widen(narrow(v)); }
};

template <class E> __device__ void naive(const residual_maxsim_args& a) {
  __shared__ float slots[kWarps];
  const Faults faults = {a.status, a.tag, 8, 2, 10};
  const int* code = (const int*)a.code;
  checkAxes(a, 1, 4);
  for (long long i = blockIdx.y; i < a.nq; i += gridDim.y) {
    const Span q = segment((const long long*)a.query_off, i, a.tq);
    const int shift = ((const int*)a.shift)[i];
    const double steps = stepsOf(shift);
    for (long long e = blockIdx.x; e < a.c; e += gridDim.x) {
      const Span t = entryTokens(a, faults, i, e, threadIdx.x == 0);
      for (long long u = t.lo + threadIdx.x; u < t.hi; u += kThreads)
        if (code[u] < 0 || code[u] >= a.k) faults.badCode(u);
      FixedSum sum;
      for (long long s = q.lo; s < q.hi && t.size() > 0; s++) { // every thread meets the same barriers
        float best = negativeInfinity();
        for (long long u = t.lo + threadIdx.x; u < t.hi; u += kThreads)
          if (code[u] >= 0 && code[u] < a.k) best = maxNaN(best, dotToken<E>(a, s, u, code[u]));
        sum.add(blockMax<kWarps>(best, slots), steps);
      }
      if (threadIdx.x != 0) continue;
      if (sum.beyond()) faults.beyond(i);
      const long long f = t.size() > 0 ? sum.fixed() : kFixedNegInf;
      ((float*)a.score)[i * a.c + e] = fixedScore(f, shift);
      if (a.fixed) ((long long*)a.fixed)[i * a.c + e] = f;
    }
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads) residual_maxsim_f32_naive(const __grid_constant__ residual_maxsim_args a) { naive<Single>(a); }
extern "C" __global__ void __launch_bounds__(kThreads) residual_maxsim_f16_naive(const __grid_constant__ residual_maxsim_args a) { naive<Half>(a); }
