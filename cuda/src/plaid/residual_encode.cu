// residual_encode: what the centroid leaves of each token, packed, and the inverse norm of the vector that decoding gives back.
//
// bucket_i = #{cutoff < x_i - c_i}, one f32 subtraction; NaN counts 0. Buckets are packed 8/bits to the byte from its high end,
// the bits of each reversed. inv = 1/max(|v|, 1e-12) of v_i = c_i + weight[bucket_i]: squares added in ascending order, each
// operation rounded to f32 once, none fused. A code outside [0, k) is fault 1: row of zeros, inv 0.
//
// Axes n, d, k, cut, w, rb. Token f32 [n, d]; Code i32 [n]; Centroid f32 [k, d]; Cutoff f32 [cut], ascending; Weight f32 [w];
// Packed u8 [n, rb]; InvNorm f32 [n] or absent. Bits 1, 2, 4 or 8; rb*8 = d*bits. Offsets are 64-bit.
//
// Entry residual_encode_rows: a block per 32 tokens takes 128 components at a time: 256 threads find buckets, neighbours side by
// side; then they make bytes while the first warp adds squares, a lane for a token. grid any, block 256. Shared memory:
// 22,784 bytes. Requires sm_80.
#include "args/residual_encode_args.h"
#include "common/status.cuh"

namespace {

constexpr int kThreads = 256, kTokens = 32, kSpan = 128; // components at a time: whole bytes in every width
constexpr int kBuckets = 256;

struct Shared {
  float v[kTokens][kSpan + 1];           // decoded; a lane per row reads a column
  unsigned char bucket[kTokens][kSpan];  // reversed
  float cutoff[kBuckets], weight[kBuckets];
  int code[kTokens]; // -1: none
};

// bucketOf counts the cut points below r. Few are counted one by one, many by halving: they ascend.
__device__ __forceinline__ int bucketOf(const float* cutoff, int cuts, float r) {
  int n = 0;
  if (cuts <= 15) {
    for (int i = 0; i < cuts; i++) n += cutoff[i] < r;
    return n;
  }
  for (int step = kBuckets / 2; step > 0; step /= 2)
    if (cutoff[n + step - 1] < r) n += step; // 255 cut points: n + step - 1 stays below
  return n;
}

__device__ __forceinline__ void encode(const residual_encode_args& a, long long first, Shared& sh) {
  const int bits = (int)a.bits, per = 8 / bits, cuts = (int)a.cut, tokens = (int)min(a.n - first, (long long)kTokens);
  if (threadIdx.x < kTokens) {
    int code = -1;
    if (threadIdx.x < tokens) {
      code = ((const int*)a.code)[first + threadIdx.x];
      if (code < 0 || code >= a.k) {
        raiseFault(a.status, a.tag, 1, 1, first + threadIdx.x);
        code = -1;
      }
    }
    sh.code[threadIdx.x] = code;
  }
  float sum = 0.0f; // of this lane's token, first warp
  for (long long from = 0; from < a.d; from += kSpan) {
    const int span = (int)min(a.d - from, (long long)kSpan);
    __syncthreads(); // codes are here; the span before has been read
#pragma unroll 4
    for (int t = threadIdx.x; t < kTokens * kSpan; t += kThreads) {
      const int token = t / kSpan, i = t % kSpan, code = sh.code[token];
      if (code < 0 || i >= span) continue;
      const float c = ((const float*)a.centroid)[code * a.d + from + i];
      const float r = __fsub_rn(((const float*)a.token)[(first + token) * a.d + from + i], c);
      const int b = bucketOf(sh.cutoff, cuts, r);
      sh.bucket[token][i] = (unsigned char)(__brev((unsigned)b) >> (32 - bits));
      sh.v[token][i] = __fadd_rn(c, sh.weight[b]);
    }
    __syncthreads();
    if (threadIdx.x < kTokens && a.inv_norm)
      for (int i = 0; i < span; i++) sum = __fadd_rn(sum, __fmul_rn(sh.v[threadIdx.x][i], sh.v[threadIdx.x][i]));
    const int bytes = span / per;
    unsigned char* packed = (unsigned char*)a.packed + first * a.rb + from / per;
    for (int t = threadIdx.x; t < tokens * bytes; t += kThreads) {
      const int token = t / bytes, at = t % bytes;
      unsigned byte = 0;
      if (sh.code[token] >= 0)
        for (int i = 0; i < per; i++) byte = byte << bits | sh.bucket[token][at * per + i];
      packed[token * a.rb + at] = (unsigned char)byte;
    }
  }
  if (threadIdx.x < tokens && a.inv_norm) {
    const float norm = __fsqrt_rn(sum);
    const float inv = __fdiv_rn(1.0f, norm < 1e-12f ? 1e-12f : norm); // NaN stays
    ((float*)a.inv_norm)[first + threadIdx.x] = sh.code[threadIdx.x] < 0 ? 0.0f : inv;
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads) residual_encode_rows(const __grid_constant__ residual_encode_args a) {
  __shared__ Shared sh;
  for (int i = threadIdx.x; i < kBuckets; i += kThreads) {
    sh.cutoff[i] = i < a.cut ? ((const float*)a.cutoff)[i] : 0.0f;
    sh.weight[i] = i < a.w ? ((const float*)a.weight)[i] : 0.0f;
  }
  for (long long first = (long long)blockIdx.x * kTokens; first < a.n; first += (long long)gridDim.x * kTokens) {
    __syncthreads(); // the tokens before have been written
    encode(a, first, sh);
  }
}
