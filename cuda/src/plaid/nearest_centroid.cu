// nearest_centroid: for each token the centroid of the largest canonical dot product, the lowest on ties, -0 equal to +0. A
// NaN dot product: code -1, score NaN, fault 1 with the token's number.
//
// Axes n, d, k. Token f32 [n, d]; Centroid f32 [k, d]; Code i32 [n]; Score f32 [n] or absent. Any d, any alignment. k < 2^31;
// offsets are 64-bit. Every dot product is one ascending chain of fused multiply-adds (plaid_tile.cuh) and the best is found
// by comparing, so the bits do not depend on how the launch is cut.
//
// Entries:
//   nearest_centroid_tiled          a block of 256 threads per 128 tokens and range of centroids, of which each thread keeps
//                                   the best for 8 tokens. grid (ceil(n/128), ranges).
//   nearest_centroid_tiled_finish   more than one range only: a thread per token joins the ranges' words. grid
//                                   ceil(n/256), block 256.
// Scratch: ranges*n words of 8 bytes if there is more than one range (cuda/nearest_centroid.go cuts alike). Requires sm_80.
//
// dynamic: nearest_centroid_tiled 90112
#include "args/nearest_centroid_args.h"
#include "common/order.cuh"
#include "common/status.cuh"
#include "plaid/plaid_tile.cuh"

namespace {

using namespace plaid;

using Dots = Tile<F32, 8, 8, 16, 2>;

constexpr int kTokens = Dots::kBRows, kCentroids = Dots::kARows, kThreads = Dots::kThreads, kPerThread = 8;
constexpr int kShared = Dots::kShared + kPerThread * kThreads * 8;
static_assert(kShared == 90112, "the comment above and cuda/nearest_centroid.go state it");

extern __shared__ __align__(128) unsigned char pool[];

__device__ __forceinline__ float negativeInfinity() { return __uint_as_float(0xff800000u); }

// emit writes what a token's word says.
__device__ __forceinline__ void emit(const nearest_centroid_args& a, long long token, Best best) {
  bool nan = (unsigned)(best.word >> 32) == 0xffffffffu;
  if (nan) raiseFault(a.status, a.tag, 1, 0, token);
  ((int*)a.code)[token] = nan ? -1 : best.index();
  if (a.score) ((float*)a.score)[token] = nan ? __uint_as_float(0x7fc00000u) : best.value();
}

// A thread's best of each of its tokens lies in shared memory between tiles of centroids: the registers are taken.
struct Entry {
  float value;
  int index;
};

__device__ __forceinline__ void take(Entry& e, const float (&sum)[8], int first, int left) {
  Entry b = e;
  bool nan = false;
#pragma unroll
  for (int i = 0; i < 8; i++) {
    float v = 16 * i < left ? sum[i] : negativeInfinity();
    nan |= v != v;
    if (v > b.value) b.value = v, b.index = first + 16 * i;
  }
  if (nan) b.value = __uint_as_float(0x7fc00000u); // nothing is larger than it from here on
  e = b;
}

__device__ __forceinline__ void nearest(const nearest_centroid_args& a) {
  Dots tile(a.token, a.centroid, a.d, pool);
  Entry* best = (Entry*)(pool + Dots::kShared) + threadIdx.x;
  const long long all = (a.k + kCentroids - 1) / kCentroids, ranges = gridDim.y, range = blockIdx.y;
  const int from = (int)(all * range / ranges), to = (int)(all * (range + 1) / ranges);
  const long long token = (long long)blockIdx.x * kTokens;
#pragma unroll
  for (int j = 0; j < kPerThread; j++) best[j * kThreads] = {negativeInfinity(), from * kCentroids + tile.at};
  tile.run({(const unsigned char*)a.centroid, a.k}, from, to, {(const unsigned char*)a.token, a.n}, token, [&](int n) {
    const int first = n * kCentroids + tile.at, left = (int)a.k - first;
#pragma unroll
    for (int j = 0; j < kPerThread; j++) take(best[j * kThreads], tile.sum[j], first, left);
  });
  __syncthreads();
  // Four lanes of each of four warps have seen a token.
  unsigned long long* words = (unsigned long long*)pool;
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
#pragma unroll
  for (int j = 0; j < kPerThread; j++) {
    Entry e = best[j * kThreads];
    Best b = Best::of(e.value, e.index);
    b.take({__shfl_xor_sync(kAllLanes, b.word, 1)});
    b.take({__shfl_xor_sync(kAllLanes, b.word, 16)});
    if ((lane & 17) == 0) words[warp / 2 * kTokens + tile.bt + 16 * j] = b.word;
  }
  __syncthreads();
  if (threadIdx.x >= kTokens || token + threadIdx.x >= a.n) return;
  Best b = Best::none();
#pragma unroll
  for (int w = 0; w < 4; w++) b.take({words[w * kTokens + threadIdx.x]});
  if (ranges == 1)
    emit(a, token + threadIdx.x, b);
  else
    ((unsigned long long*)a.scratch)[range * a.n + token + threadIdx.x] = b.word;
}

// rangesOf is how many ranges the centroids were cut into; cuda/nearest_centroid.go computes the same.
__device__ __forceinline__ long long rangesOf(const nearest_centroid_args& a) {
  constexpr long long kBlocks = 264;
  long long blocks = (a.n + kTokens - 1) / kTokens, tiles = (a.k + kCentroids - 1) / kCentroids;
  return max(min(kBlocks / max(blocks, 1ll), tiles), 1ll);
}

__device__ __forceinline__ void finish(const nearest_centroid_args& a) {
  long long token = (long long)blockIdx.x * blockDim.x + threadIdx.x, ranges = rangesOf(a);
  if (token >= a.n) return;
  Best b = Best::none();
  for (long long r = 0; r < ranges; r++) b.take({((const unsigned long long*)a.scratch)[r * a.n + token]});
  emit(a, token, b);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 2) nearest_centroid_tiled(const __grid_constant__ nearest_centroid_args a) { nearest(a); }
extern "C" __global__ void __launch_bounds__(256) nearest_centroid_tiled_finish(const __grid_constant__ nearest_centroid_args a) { finish(a); }
