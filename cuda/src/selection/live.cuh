// Rows of topk as every variant reads and writes them.
#pragma once
#include "args/topk_args.h"

namespace selection {

// liveScores is how many scores of a row count.
__device__ __forceinline__ long long liveScores(const topk_args& a, long long row) {
  if (!a.live) return a.n;
  return min(max(((const long long*)a.live)[row], 0ll), a.n);
}

__device__ __forceinline__ const float* scoreRow(const topk_args& a, long long row) { return (const float*)a.score + row * a.score_stride; }

// write puts score i of the row at a place, by its label where it has one; -1 is no score. The value is read again, so that -0 and NaN stay what they were.
__device__ __forceinline__ void write(const topk_args& a, long long row, long long place, long long i, const float* score) {
  ((float*)a.value)[row * a.k + place] = i < 0 ? __int_as_float(0xff800000) : score[i];
  ((int*)a.index)[row * a.k + place] = i < 0 || !a.label ? (int)i : ((const int*)a.label)[row * a.n + i];
}

}  // namespace selection
