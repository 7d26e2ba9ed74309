// From the maxima of query tokens to scores.
#pragma once
#include "lateinteraction/maxsim_work.cuh"

namespace maxsim {

// Summer adds maxima. The loads of kBatch rows run together, since one lane adds a query.
struct Summer {
  static constexpr int kBatch = 8;

  Ragged query, doc;
  const unsigned char* queryMask;
  const unsigned char* docMask;
  float* score;
  bool emptyZero;

  __device__ __forceinline__ bool hasToken(int j) const {
    int t0 = doc.at(j), t1 = doc.at(j + 1);
    if (!docMask) return t0 < t1;
    for (int t = t0; t < t1; t++)
      if (docMask[t]) return true;
    return false;
  }

  // add continues, for document j, the sums of the queries [q0, q1) over their rows within [row0, row0+rows):
  // maxima(r) is the maximum of row row0+r. A query's rows are added in ascending order by one lane, whichever
  // chunk they come in; a query that began in an earlier chunk finds its sum in score, where the same lane left
  // it. All lanes of a warp call it.
  template <class At> __device__ __forceinline__ void add(int q0, int q1, int row0, int rows, int j, At maxima) const {
    for (int q = q0 + (int)threadIdx.x % kLanes; q < q1; q += kLanes) {
      const int lo = query.at(q), hi = max(lo, query.at(q + 1));
      const int s0 = max(lo, row0), s1 = min(hi, row0 + rows);
      if (s0 >= s1 && lo < hi) continue;
      float* out = score + (long long)q * doc.n + j;
      float sum = lo < row0 && lo < hi ? *out : 0.0f;
      int s = s0;
      for (; !queryMask && s + kBatch <= s1; s += kBatch) {
        float m[kBatch];
#pragma unroll
        for (int i = 0; i < kBatch; i++) m[i] = maxima(s + i - row0);
#pragma unroll
        for (int i = 0; i < kBatch; i++) sum += m[i];
      }
      for (; s < s1; s++)
        if (!queryMask || queryMask[s]) sum += maxima(s - row0);
      // An empty document left -inf in every row; the test is rare, so that its loads are off the common path.
      if (emptyZero && sum == __uint_as_float(0xff800000u) && !hasToken(j)) sum = 0.0f;
      *out = sum;
    }
  }
};

}  // namespace maxsim
