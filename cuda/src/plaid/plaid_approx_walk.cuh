// How the warps of plaid_approx go through documents.
#pragma once
#include "args/plaid_approx_args.h"
#include "common/async.cuh"
#include "common/early.cuh"
#include "common/order.cuh"
#include "plaid/plaid_fixed.cuh"
#include "plaid/plaid_listing.cuh"

namespace plaid {

constexpr int kThreads = 256, kWarps = kThreads / kLanes;

// liveBits is the dynamic shared memory.
__device__ __forceinline__ unsigned char* liveBits() {
  extern __shared__ __align__(16) unsigned char dynamic[];
  return dynamic;
}

// awaitLive waits for bits that are on their way to shared memory. All threads of the block call it once for a query.
__device__ __forceinline__ void awaitLive() {
  copyWait<0>();
  __syncthreads();
}

struct Query {
  long long i; // number
  Span tokens;
  const unsigned* live; // its bits
  int shift;
};

// Piece is what a lane holds of some consecutive tokens of a document: N of its warp.
template <int N> struct Piece {
  int code[N];
  int left;  // tokens from the first to the document's end; 0 ends the batch
  int place; // of the batch
};

// Walk goes through the documents of a batch, kTokens at a time: lane b has the n tokens of place b from lo on, and full says
// which have any. W warps take 32 tokens in turn, N times; the lane's first stands skip after the first of them all.
template <int N, int W> struct Walk {
  static constexpr int kTurn = W * kLanes, kTokens = N * kTurn;
  const int* code; // of all documents
  long long lo;
  int n, skip;
  unsigned full;
  int place, left;
  const int* at;

  __device__ __forceinline__ void open() {
    place = (__ffs(full) - 1) & 31;
    left = __shfl_sync(kAllLanes, n, place), at = code + __shfl_sync(kAllLanes, lo, place) + skip;
    if (!full) left = 0;
  }

  __device__ __forceinline__ void fetch(Piece<N>& x) {
    x.left = left, x.place = place;
#pragma unroll
    for (int p = 0; p < N; p++) x.code[p] = skip + p * kTurn < left ? at[p * kTurn] : -1;
    left -= kTokens, at += kTokens;
    if (left <= 0) full &= full - 1, open();
  }
};

// Where the bits of live cells are. The difference is compiled, not branched on.
enum class Live { kAll, kShared, kGlobal };

}  // namespace plaid
