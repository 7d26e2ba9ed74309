// Which columns of a tile a document owns, and the fold of accumulators over them.
#pragma once
#include "common/order.cuh"

namespace maxsim {

__device__ __forceinline__ float negativeInfinity() { return __uint_as_float(0xff800000u); }

// below has the lowest n bits set, for n clamped to [0, 32].
__device__ __forceinline__ unsigned below(int n) { return n <= 0 ? 0u : n >= 32 ? 0xffffffffu : (1u << n) - 1; }

// columnWord is word w of the columns [c0, c1).
__device__ __forceinline__ unsigned columnWord(int c0, int c1, int w) { return below(c1 - 32 * w) & ~below(c0 - 32 * w); }

// maskWord reads the mask bytes of tokens t+32w.. and gathers them: bit l is lane l's token. Tokens from t1 on are 0.
__device__ __forceinline__ unsigned maskWord(const unsigned char* mask, int t, int t1, int w) {
  int u = t + 32 * w + (int)threadIdx.x % 32;
  return __ballot_sync(0xffffffffu, u < t1 && mask[u] != 0);
}

// padded spaces rows in shared memory: a gap after 32, so that lanes which add queries of 32 rows each meet
// different banks.
__device__ __forceinline__ int padded(int row) { return row + (row >> 5); }

// foldFragment takes the maximum of each of a thread's two rows over the columns whose bits are set. acc is a
// matrix fragment of 8-column groups: columns 8g + 2(lane%4) and the next, of the upper row and of the lower
// one. scale, if Scaled, points at the tile's column factors; factor multiplies each row after that.
template <bool Scaled, int N>
__device__ __forceinline__ void foldFragment(const float (&acc)[N], const unsigned (&words)[(N / 4 + 3) / 4], const float* scale, float up,
                                             float low, float& m0, float& m1) {
  const int pair = 2 * (threadIdx.x % 4);
#pragma unroll
  for (int g = 0; g < N / 4; g++) {
    unsigned bits = words[g / 4] >> (8 * (g % 4)) & 0xff; // the same in all lanes: branches do not diverge
    if (bits == 0) continue;
    float v[4] = {acc[4 * g], acc[4 * g + 1], acc[4 * g + 2], acc[4 * g + 3]};
    if (Scaled) {
      float2 s = *(const float2*)(scale + 8 * g + pair);
      v[0] = v[0] * s.x * up, v[1] = v[1] * s.y * up, v[2] = v[2] * s.x * low, v[3] = v[3] * s.y * low;
    }
    if (bits != 0xff) {
      bool a = bits >> pair & 1, b = bits >> pair & 2;
      v[0] = a ? v[0] : negativeInfinity(), v[1] = b ? v[1] : negativeInfinity();
      v[2] = a ? v[2] : negativeInfinity(), v[3] = b ? v[3] : negativeInfinity();
    }
    m0 = maxNaN(m0, maxNaN(v[0], v[1]));
    m1 = maxNaN(m1, maxNaN(v[2], v[3]));
  }
}

// foldAll is foldFragment over all columns with rows' factors of 1: the common tile, without a branch.
template <bool Scaled, int N> __device__ __forceinline__ void foldAll(const float (&acc)[N], const float* scale, float& m0, float& m1) {
  const int pair = 2 * (threadIdx.x % 4);
  float a[2] = {m0, negativeInfinity()}, b[2] = {m1, negativeInfinity()}; // two chains a row: the maximum's latency is 4 issues
#pragma unroll
  for (int g = 0; g < N / 4; g++) {
    float2 s = {1.0f, 1.0f};
    if (Scaled) s = *(const float2*)(scale + 8 * g + pair);
    a[0] = maxNaN(a[0], Scaled ? acc[4 * g] * s.x : acc[4 * g]), a[1] = maxNaN(a[1], Scaled ? acc[4 * g + 1] * s.y : acc[4 * g + 1]);
    b[0] = maxNaN(b[0], Scaled ? acc[4 * g + 2] * s.x : acc[4 * g + 2]), b[1] = maxNaN(b[1], Scaled ? acc[4 * g + 3] * s.y : acc[4 * g + 3]);
  }
  m0 = maxNaN(a[0], a[1]), m1 = maxNaN(b[0], b[1]);
}

// rowMaxima completes m0 and m1 over the four lanes that share the rows.
__device__ __forceinline__ void rowMaxima(float& m0, float& m1) {
#pragma unroll
  for (int o = 1; o < 4; o *= 2) {
    m0 = maxNaN(m0, __shfl_xor_sync(0xffffffffu, m0, o));
    m1 = maxNaN(m1, __shfl_xor_sync(0xffffffffu, m1, o));
  }
}

}  // namespace maxsim
