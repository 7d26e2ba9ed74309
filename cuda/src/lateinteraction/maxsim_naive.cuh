// The plain MaxSim body: one block per (query, document) pair, one thread per document token, one f32
// fused multiply-add chain per dot product. It takes every operand and attribute.
#pragma once
#include "common/element.cuh"
#include "common/order.cuh"
#include "common/status.cuh"

namespace maxsim {

constexpr int kNaiveThreads = 128;

struct Span {
  long long lo, hi;
};

// segment is entry i of a ragged axis, clamped to the axis and never reversed.
__device__ __forceinline__ Span segment(const long long* off, long long i, long long axis) {
  long long lo = min(max(off[i], 0ll), axis), hi = min(max(off[i + 1], 0ll), axis);
  return {lo, max(lo, hi)};
}

// Scales are what distinguishes maxsim_scaled: a factor per token on each side. Both null is maxsim.
struct Scales {
  const float* query;
  const float* doc;
};

__device__ __forceinline__ float inverseNorm(float squares) { return rsqrtf(fmaxf(squares, 1e-12f)); }

// blockBest leaves the best of all threads in thread 0. Uses two barriers.
__device__ __forceinline__ Best blockBest(Best b, Best* slots) {
  for (int o = 16; o > 0; o >>= 1) b.take({__shfl_xor_sync(0xffffffffu, b.word, o)});
  if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = b;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int i = 1; i < kNaiveThreads / 32; i++) b.take(slots[i]);
  __syncthreads(); // the slots are free again
  return b;
}

// Operand numbers of the offsets, for the status word.
template <class E, int kQueryOff, int kDocOff, class Args> __device__ void naive(const Args& a, bool normalize, Scales scale) {
  using T = typename E::Store;
  __shared__ Best slots[kNaiveThreads / 32];
  const T* query = (const T*)a.query;
  const T* doc = (const T*)a.doc;
  const long long* queryOff = (const long long*)a.query_off;
  const long long* docOff = (const long long*)a.doc_off;
  const unsigned char* queryMask = (const unsigned char*)a.query_mask;
  const unsigned char* docMask = (const unsigned char*)a.doc_mask;
  int* winner = (int*)a.winner;
  const long long threads = (long long)gridDim.x * gridDim.y * blockDim.x;
  const long long thread = ((long long)blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
  checkOffsets(queryOff, a.nq, a.tq, kQueryOff, a.status, a.tag, thread, threads);
  checkOffsets(docOff, a.nd, a.td, kDocOff, a.status, a.tag, thread, threads);

  if (winner) { // rows that belong to no query
    long long first = min(max(queryOff[0], 0ll), a.tq), last = a.nq > 0 ? segment(queryOff, a.nq - 1, a.tq).hi : first;
    for (long long i = thread; i < a.tq * a.nd; i += threads)
      if (i < first * a.nd || i >= last * a.nd) winner[i] = -1;
  }

  for (long long i = blockIdx.y; i < a.nq; i += gridDim.y)
    for (long long j = blockIdx.x; j < a.nd; j += gridDim.x) {
      const Span q = segment(queryOff, i, a.tq), t = segment(docOff, j, a.td);
      float sum = 0.0f;
      for (long long s = q.lo; s < q.hi; s++) { // every thread meets the same barriers: q and the mask are the block's
        if (queryMask && !queryMask[s]) {
          if (winner && threadIdx.x == 0) winner[s * a.nd + j] = -1;
          continue;
        }
        Best best = Best::none();
        for (long long u = t.lo + threadIdx.x; u < t.hi; u += kNaiveThreads) {
          if (docMask && !docMask[u]) continue;
          float dot = 0.0f, qq = 0.0f, dd = 0.0f;
          for (long long k = 0; k < a.d; k++) {
            float x = E::widen(query[s * a.d + k]), y = E::widen(doc[u * a.d + k]);
            dot = fmaf(x, y, dot);
            if (normalize) qq = fmaf(x, x, qq), dd = fmaf(y, y, dd);
          }
          if (normalize) dot = dot * inverseNorm(qq) * inverseNorm(dd);
          if (scale.doc) dot = dot * scale.doc[u] * scale.query[s];
          best.take(Best::of(dot, (int)(u - t.lo)));
        }
        best = blockBest(best, slots);
        if (threadIdx.x == 0) {
          sum += best.word == 0 && a.empty_zero ? 0.0f : best.value();
          if (winner) winner[s * a.nd + j] = best.index();
        }
      }
      if (threadIdx.x == 0) ((float*)a.score)[i * a.nd + j] = sum;
    }
}

}  // namespace maxsim
