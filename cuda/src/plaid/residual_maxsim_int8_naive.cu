// residual_maxsim_int8, variant naive: per candidate the sum over query tokens of the largest
//   fma(dot(query, table of buckets), unit, centroid score) [* inverse norm]
// among its document tokens; dot products are integers, every other operation is one f32 rounding.
//
// Axes k, tq, d, nq, td, rb, nd, w, c. CentroidScore T [k,tq], rows centroid_score_stride elements apart; Query i8 [tq,d]; Unit
// f32 [tq]; QueryOff i64 [nq+1], DocOff i64 [nd+1]; Code i32 [td]; Packed u8 [td,rb]; Table i8 [w]; InvNorm f32 [td] or absent;
// Candidate i32 [nq,c]; Count i64 [nq] or absent; Score f32 [nq,c]. Bits 1, 2, 4 or 8.
// Geometry: 128 threads a block, a block for a place and a query, striding over the grid; a thread for a document token. The
// sum runs over query tokens in ascending order. Takes every operand, attribute and alignment. Requires sm_80.
#include "args/residual_maxsim_int8_args.h"
#include "plaid/plaid_block.cuh"
#include "plaid/plaid_element.cuh"
#include "plaid/plaid_listing.cuh"

namespace {

using namespace plaid;

constexpr int kThreads = 128, kWarps = kThreads / kLanes;

template <class E> __device__ float similarity(const residual_maxsim_int8_args& a, long long s, long long u, int code) {
  const signed char* q = (const signed char*)a.query + s * a.d;
  const signed char* table = (const signed char*)a.table;
  const unsigned char* row = (const unsigned char*)a.packed + u * a.rb;
  int dot = 0;
  for (long long i = 0; i < a.d; i++) dot += q[i] * table[bucketAt(row, i, (int)a.bits)];
  const float base = E::widen(((const typename E::Store*)a.centroid_score)[code * a.centroid_score_stride + s]);
  float x = __fmaf_rn(__int2float_rn(dot), ((const float*)a.unit)[s], base);
  return a.inv_norm ? __fmul_rn(x, ((const float*)a.inv_norm)[u]) : x;
}

template <class E> __device__ void naive(const residual_maxsim_int8_args& a) {
  __shared__ float slots[kWarps];
  const Faults faults = {a.status, a.tag, 9, 4, 0};
  const int* code = (const int*)a.code;
  checkAxes(a, 3, 6);
  for (long long i = blockIdx.y; i < a.nq; i += gridDim.y) {
    const Span q = segment((const long long*)a.query_off, i, a.tq);
    for (long long e = blockIdx.x; e < a.c; e += gridDim.x) {
      const Span t = entryTokens(a, faults, i, e, threadIdx.x == 0);
      for (long long u = t.lo + threadIdx.x; u < t.hi; u += kThreads)
        if (code[u] < 0 || code[u] >= a.k) faults.badCode(u);
      float sum = t.size() > 0 ? 0.0f : negativeInfinity();
      for (long long s = q.lo; s < q.hi && t.size() > 0; s++) { // every thread meets the same barriers
        float best = negativeInfinity();
        for (long long u = t.lo + threadIdx.x; u < t.hi; u += kThreads)
          if (code[u] >= 0 && code[u] < a.k) best = maxNaN(best, similarity<E>(a, s, u, code[u]));
        sum = __fadd_rn(sum, blockMax<kWarps>(best, slots));
      }
      if (threadIdx.x == 0) ((float*)a.score)[i * a.c + e] = sum;
    }
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads) residual_maxsim_int8_f32_naive(const __grid_constant__ residual_maxsim_int8_args a) { naive<F32>(a); }
extern "C" __global__ void __launch_bounds__(kThreads) residual_maxsim_int8_f16_naive(const __grid_constant__ residual_maxsim_int8_args a) { naive<F16>(a); }
