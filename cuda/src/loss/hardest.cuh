// What forward and backward of hardest_negative_loss know of a row. Faults are those of the declaration:
// 1 the positive is not finite, 2 a NaN or +inf negative, 3 no negative above -inf; the highest of a row counts.
#pragma once
#include "common/rank.cuh"
#include "common/rows.cuh"

namespace hardest {

enum Reduction { kNone, kMean, kSum };

// Search is one thread's share of a row; the two words of a row are reduced by maximum.
struct Search {
  unsigned long long best = 0; // rankPair of the hardest negative, NaN left out; 0 = none seen
  unsigned long long bad = 0;  // ~column of the first NaN or +inf negative; 0 = none

  __device__ __forceinline__ void see(float s, unsigned col) {
    if (!(s < __int_as_float(0x7f800000))) bad = max(bad, (unsigned long long)~col);
    if (s == s) best = max(best, rankPair(s, col));
  }
};

struct Row {
  float positive, negative;
  long long at; // column of the hardest negative, -1 = none above -inf
  int fault;
  long long faultAt; // flat element

  __device__ __forceinline__ Row(unsigned long long best, unsigned long long bad, float pos, long long row, long long cols, long long posCol)
      : positive(pos), negative(__int_as_float(0xff800000)), at(-1), fault(0), faultAt(0) {
    unsigned key = (unsigned)(best >> 32);
    if (key > rankKey(negative)) {
      negative = rankScore(key);
      at = rankIndex(best);
    }
    if (!isfinite(pos)) fault = 1, faultAt = row * cols + posCol;
    if (bad) fault = 2, faultAt = row * cols + rankIndex(bad);
    if (at < 0) fault = 3, faultAt = row * cols;
  }

  __device__ __forceinline__ float z(float temperature) const { return (negative - positive) / temperature; }
};

// softplus in its exact form; torch's is linear above 20.
__device__ __forceinline__ float softplus(float z) { return fmaxf(z, 0.0f) + log1pf(expf(-fabsf(z))); }

__device__ __forceinline__ float nan() { return __int_as_float(0x7fc00000); }

}  // namespace hardest
