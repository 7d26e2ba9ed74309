// What the bodies of nearest_centroid share: what a token's result says, and the search of centroids for a block of tokens.
#pragma once
#include "args/nearest_centroid_args.h"
#include "common/order.cuh"
#include "common/status.cuh"
#include "plaid/plaid_tile.cuh"

namespace plaid {

using Dots = Tile<F32, 8, 8, 16, 2>;

constexpr int kTokens = Dots::kBRows, kCentroids = Dots::kARows, kThreads = Dots::kThreads, kPerThread = 8;
constexpr int kSearchShared = Dots::kShared + kPerThread * kThreads * 8;

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

// search gives thread i < kTokens the best of the centroids of tiles [from, to) for row first+i of tokens. All threads of the
// block call it; shared memory is free again after a barrier.
__device__ __forceinline__ Best search(const nearest_centroid_args& a, const Rows& tokens, long long first, int from, int to, unsigned char* shared) {
  Dots tile(a.centroid, a.token, a.d, shared);
  Entry* best = (Entry*)(shared + Dots::kShared) + threadIdx.x;
#pragma unroll
  for (int j = 0; j < kPerThread; j++) best[j * kThreads] = {negativeInfinity(), from * kCentroids + tile.at};
  tile.run({(const unsigned char*)a.centroid, a.k}, from, to, tokens, first, [&](int n) {
    const int c = n * kCentroids + tile.at, left = (int)a.k - c;
#pragma unroll
    for (int j = 0; j < kPerThread; j++) take(best[j * kThreads], tile.sum[j], c, left);
  });
  __syncthreads();
  // Four lanes of each of four warps have seen a token.
  unsigned long long* words = (unsigned long long*)shared;
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
  Best b = Best::none();
  if (threadIdx.x < kTokens)
#pragma unroll
    for (int w = 0; w < 4; w++) b.take({words[w * kTokens + threadIdx.x]});
  return b;
}

}  // namespace plaid
