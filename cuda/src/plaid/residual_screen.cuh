// What the warp-product bodies of the residual scores share. A block of four warps takes documents one after the other; in
// round r of a document warp w takes the 16 tokens from 16*(4r+w). Of the products, lane l has tokens l/4 and l/4+8 with query
// tokens 8(l%4) .. 8(l%4)+7, so that it reads neighbouring scores; maxima stay in registers until the document ends.
#pragma once
#include "common/async.cuh"
#include "common/order.cuh"
#include "plaid/plaid_listing.cuh"

namespace plaid {

constexpr int kScreenWarps = 4, kScreenThreads = kScreenWarps * kLanes;
constexpr int kScreenTokens = 16;   // of a warp in a round
constexpr int kScreenPlaces = 128;  // whose documents a block looks up at a time

struct ScreenState {
  long long lo[kScreenPlaces];
  long long n[kScreenPlaces]; // tokens
  float best[2][kScreenWarps][kLanes];
};

// Cursor walks the rounds of the places that a block looked up; each place has at least one round.
struct Cursor {
  static constexpr int kRound = kScreenWarps * kScreenTokens;
  int place, round, rounds;

  __device__ __forceinline__ void start(const ScreenState& s, int places) { place = -1, round = rounds = 0, next(s, places); }

  __device__ __forceinline__ bool last() const { return round + 1 >= rounds; }

  __device__ __forceinline__ void next(const ScreenState& s, int places) {
    if (++round < rounds) return;
    place++, round = 0;
    rounds = place < places ? (int)max((s.n[place] + kRound - 1) / kRound, 1ll) : 1;
  }

  // tokens is how many tokens the warp has in this round, and their first.
  __device__ __forceinline__ int tokens(const ScreenState& s, int places, long long* first) const {
    if (place >= places) return 0;
    const long long at = (long long)round * kRound + threadIdx.x / kLanes * kScreenTokens;
    *first = s.lo[place] + at;
    return (int)min(max(s.n[place] - at, 0ll), (long long)kScreenTokens);
  }
};

// lookUp brings the documents of places [e0, e0+places) of query i to shared memory.
template <class Args> __device__ __forceinline__ void lookUp(const Args& a, const Faults& f, ScreenState& s, long long i, long long e0, int places) {
  __syncthreads(); // those before have been read
  if ((int)threadIdx.x < places) {
    const Span t = entryTokens(a, f, i, e0 + threadIdx.x, true);
    s.lo[threadIdx.x] = t.lo, s.n[threadIdx.x] = t.size();
  }
  __syncthreads();
}

// leaveMaxima joins the maxima of a warp's lanes and leaves them in s.best[turn], by query token.
__device__ __forceinline__ void leaveMaxima(float (&m)[8], ScreenState& s, int turn) {
  const int lane = threadIdx.x % kLanes;
  // Each step gives half of what is left away and takes the other half.
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const bool upper = lane & 16;
    const float give = upper ? m[i] : m[i + 4], keep = upper ? m[i + 4] : m[i];
    m[i] = maxNaN(keep, __shfl_xor_sync(kAllLanes, give, 16));
  }
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const bool upper = lane & 8;
    const float give = upper ? m[i] : m[i + 2], keep = upper ? m[i + 2] : m[i];
    m[i] = maxNaN(keep, __shfl_xor_sync(kAllLanes, give, 8));
  }
  const bool upper = lane & 4;
  const float give = upper ? m[0] : m[1], keep = upper ? m[1] : m[0];
  const float best = maxNaN(keep, __shfl_xor_sync(kAllLanes, give, 4));
  s.best[turn][threadIdx.x / kLanes][lane % 4 * 8 + (lane & 16 ? 4 : 0) + (lane & 8 ? 2 : 0) + (lane & 4 ? 1 : 0)] = best;
}

// joinedMaximum is query token lane's maximum over the warps, after a barrier.
__device__ __forceinline__ float joinedMaximum(const ScreenState& s, int turn) {
  const int lane = threadIdx.x % kLanes;
  float best = s.best[turn][0][lane];
#pragma unroll
  for (int w = 1; w < kScreenWarps; w++) best = maxNaN(best, s.best[turn][w][lane]);
  return best;
}

}  // namespace plaid
