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
#include "plaid/nearest_centroid.cuh"

namespace {

using namespace plaid;

static_assert(kSearchShared == 90112, "the comment above and cuda/nearest_centroid.go state it");

extern __shared__ __align__(128) unsigned char pool[];

__device__ __forceinline__ void nearest(const nearest_centroid_args& a) {
  const long long all = (a.k + kCentroids - 1) / kCentroids, ranges = gridDim.y, range = blockIdx.y;
  const int from = (int)(all * range / ranges), to = (int)(all * (range + 1) / ranges);
  const long long first = (long long)blockIdx.x * kTokens, token = first + threadIdx.x;
  const Best b = search(a, {(const unsigned char*)a.token, a.n}, first, from, to, pool);
  if (threadIdx.x >= kTokens || token >= a.n) return;
  if (ranges == 1)
    emit(a, token, b);
  else
    ((unsigned long long*)a.scratch)[range * a.n + token] = b.word;
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
