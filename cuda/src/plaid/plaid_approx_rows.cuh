// Approximate scores of queries of up to 32 tokens, a row of centroid scores to each code.
//
// A warp, or W of them, take one document after the other: what counts of some codes is listed in shared memory, and the rows of
// kAhead steps of four rows are in flight together. Eight lanes have a row, four tokens each: neighbours, in one load, where
// rows are aligned, or every eighth.
#pragma once
#include "plaid/plaid_approx_walk.cuh"

namespace plaid {

// Lists are what a block has in shared memory: codes that count, by warp, and maxima by warp and query token.
template <int W> struct Lists {
  static constexpr int kOwn = W == 1 ? 4 : 2; // codes of a lane at a time
  unsigned code[kWarps][kOwn * kLanes];
  float most[W > 1 ? kWarps : 1][kLanes];
};

// reportCodes names the unknown codes of n tokens from lo on.
__device__ __forceinline__ void reportCodes(const plaid_approx_args& a, const Faults& faults, long long lo, int n) {
#pragma unroll 1
  for (int u = 0; u < n; u++)
    if ((unsigned)((const int*)a.code)[lo + u] >= (unsigned)a.k) faults.badCode(lo + u);
}

// isWide says that pieces of 16 bytes hold the scores of the query's tokens, in every row and within the operand.
__device__ __forceinline__ bool isWide(const plaid_approx_args& a, const Query& q) {
  const unsigned long long first = a.centroid_score + q.tokens.lo * 4;
  return ((first | (unsigned long long)a.centroid_score_stride * 4) & 15) == 0 && q.tokens.lo + ((q.tokens.size() + 3) & ~3ll) <= a.tq;
}

// addLanes is the sum over the lanes modulo 2^64, in parts whose sums have 32 bits.
__device__ __forceinline__ long long addLanes(long long v) {
  const unsigned low = (unsigned)v & 0x3ffffffu, middle = (unsigned)(v >> 26) & 0x3ffffffu, high = (unsigned)(v >> 52);
  return (long long)((unsigned long long)__reduce_add_sync(kAllLanes, low) + ((unsigned long long)__reduce_add_sync(kAllLanes, middle) << 26) +
                     ((unsigned long long)__reduce_add_sync(kAllLanes, high) << 52));
}

// Rows scores the places of one query of up to 32 tokens.
template <int W, Live L, bool Wide> struct Rows {
  static constexpr int kAhead = 4;             // steps in flight
  static constexpr int kOwn = Lists<W>::kOwn;
  static constexpr int kGroups = kWarps / W;   // documents of a block at a time
  const plaid_approx_args& a;
  const Query& q;
  const Faults& faults;
  Lists<W>& lists;
  int lane;
  const char* scores; // the lane's first value in row 0
  int tokens;
  int have;           // tokens of the lane; if wide, one without any repeats another's
  float floor;        // of the lane's token
  float best[4];
  bool strange;       // the lane met an unknown code

  __device__ __forceinline__ int warp() const { return threadIdx.x / kLanes; }

  // token is the one whose maximum spread leaves with the lane.
  __device__ __forceinline__ int token() const {
    const int i = lane / 8 % 2 * 2 + lane / 16;
    return Wide ? lane % 8 * 4 + i : lane % 8 + i * 8;
  }

  __device__ __forceinline__ void begin() {
    tokens = (int)min(q.tokens.size(), (long long)kLanes), have = (tokens - lane % 8 + 7) / 8;
    const int column = Wide ? max(min(lane % 8, (tokens + 3) / 4 - 1) * 4, 0) : lane % 8;
    scores = (const char*)((const float*)a.centroid_score + q.tokens.lo + column);
    floor = a.floor && tokens > 0 ? ((const float*)a.floor)[(q.tokens.lo + min(token(), tokens - 1) + 1) * a.p - 1] : negativeInfinity();
    reset();
  }

  __device__ __forceinline__ void reset() {
#pragma unroll
    for (int e = 0; e < 4; e++) best[e] = negativeInfinity();
  }

  __device__ __forceinline__ void load(unsigned code, float (&v)[4]) const {
    const char* s = scores + (unsigned long long)code * ((unsigned)a.centroid_score_stride * 4);
    if constexpr (Wide) {
      const float4 x = *(const float4*)s;
      v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
    } else {
#pragma unroll
      for (int e = 0; e < 4; e++) v[e] = e < have ? ((const float*)s)[e * 8] : negativeInfinity();
    }
  }

  // isLive is for any number, known or not. Nothing in it is branched on.
  __device__ __forceinline__ bool isLive(unsigned c, bool known) const {
    if constexpr (L == Live::kAll) return known;
    const unsigned w = ((const unsigned*)liveBits())[known ? c / 32 : 0];
    return w >> (c % 32) & (known ? 1u : 0u);
  }

  // consume takes the rows of what counts of a piece.
  __device__ __forceinline__ void consume(const Piece<kOwn>& x) {
    unsigned* list = lists.code[warp()];
    int listed = 0;
#pragma unroll
    for (int p = 0; p < kOwn; p++) {
      const int at = (p * W + warp() % W) * kLanes;
      if (at >= x.left) break; // the same for the warp
      const unsigned c = x.code[p];
      const bool known = c < (unsigned)a.k;
      if (!known && at + lane < x.left) strange = true;
      const bool counts = isLive(c, known);
      const unsigned mask = __ballot_sync(kAllLanes, counts);
      if (counts) list[listed + __popc(mask & ((1u << lane) - 1))] = c;
      listed += __popc(mask);
    }
    if (tokens == 0) return;
    __syncwarp();
#pragma unroll 1
    for (int s = 0; s < listed; s += kAhead * 4) {
      float v[kAhead][4];
#pragma unroll
      for (int i = 0; i < kAhead; i++)
        if (s + i * 4 < listed) load(list[min(s + i * 4 + lane / 8, listed - 1)], v[i]);
#pragma unroll
      for (int i = 0; i < kAhead; i++)
        if (s + i * 4 < listed)
#pragma unroll
          for (int e = 0; e < 4; e++) best[e] = maxNaN(best[e], v[i][e]);
    }
    __syncwarp(); // the list is written again
  }

  // spread leaves with each lane the maximum of one token. The groups of lanes have the same four each.
  __device__ __forceinline__ float spread() const {
    const bool second = lane & 8, upper = lane & 16;
    const float x = maxNaN(second ? best[2] : best[0], __shfl_xor_sync(kAllLanes, second ? best[0] : best[2], 8));
    const float y = maxNaN(second ? best[3] : best[1], __shfl_xor_sync(kAllLanes, second ? best[1] : best[3], 8));
    return maxNaN(upper ? y : x, __shfl_xor_sync(kAllLanes, upper ? x : y, 16));
  }

  // join joins the maxima of the warps that share a document, for the first of them.
  __device__ __forceinline__ float join(float v) {
    if constexpr (W > 1) {
      const int barrier = 1 + warp() / W;
      lists.most[warp()][lane] = v;
      asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(W * kLanes) : "memory");
      if (warp() % W == 0)
#pragma unroll
        for (int w = 1; w < W; w++) v = maxNaN(v, lists.most[warp() + w][lane]);
      asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(W * kLanes) : "memory"); // the maxima are written again
    }
    return v;
  }

  // finish ends a document, and is its sum, for the first of its warps.
  __device__ __forceinline__ long long finish() {
    const float v = join(maxNaN(spread(), floor));
    reset();
    if (warp() % W != 0) return 0;
    FixedSum s;
    if (token() < tokens) s.add(v, stepsOf(q.shift));
    s.total = addLanes(s.total), s.flags = __reduce_or_sync(kAllLanes, s.flags);
    if (s.beyond() && lane == 0) faults.beyond(q.i);
    return s.fixed();
  }

  // batch scores up to 32 documents: lane b has the n tokens of place b from lo on, and gets its score.
  __device__ __forceinline__ float batch(long long lo, int n) {
    long long sum = kFixedNegInf;
    strange = false;
    Walk<kOwn, W> walk = {(const int*)a.code, lo, n, warp() % W * kLanes + lane, __ballot_sync(kAllLanes, n > 0)};
    walk.open();
    unsigned rest = walk.full;
    Piece<kOwn> now, next;
    walk.fetch(now);
#pragma unroll 1
    while (now.left > 0) {
      walk.fetch(next);
      consume(now);
      if (now.left <= walk.kTokens) {
        const long long x = finish();
        if (lane == __ffs(rest) - 1) sum = x;
        rest &= rest - 1;
      }
      now = next;
    }
    if (__any_sync(kAllLanes, strange)) reportCodes(a, faults, lo, n);
    return fixedScore(sum, q.shift);
  }

  // tokensOf is the tokens of the document at place e, none where it is none or outside the index.
  __device__ __forceinline__ Span tokensOf(unsigned e, int document) const {
    if (document >= 0 && document < a.nd) return segment((const long long*)a.doc_off, document, a.td);
    if (document != -1 && warp() % W == 0) faults.badCandidate(q.i * a.c + e);
    return {0, 0};
  }

  // run takes the places of the query that fall to this warp, every one of so many as there are warps. The first candidates are
  // asked for before it is known how many places count.
  __device__ __forceinline__ void run() {
    const unsigned units = gridDim.x * kGroups;
    unsigned e = blockIdx.x * kGroups + warp() / W + lane * units;
    const int* candidate = (const int*)a.candidate + q.i * a.c;
    int document = e < a.c ? candidate[e] : -1;
    const unsigned places = (unsigned)livePlaces(a, q.i);
    begin();
    if (L == Live::kShared) awaitLive();
#pragma unroll 1
    while (__any_sync(kAllLanes, e < places)) {
      Span t = {0, 0};
      if (e < places) t = tokensOf(e, document);
      const float x = batch(t.lo, (int)t.size());
      if (e < places && warp() % W == 0) ((float*)a.score)[q.i * a.c + e] = x;
      e += gridDim.x * (kGroups * kLanes);
      if (e < places) document = ((const int*)a.candidate)[q.i * a.c + e];
    }
    fillPlaces(a, q.i, places);
  }
};

}  // namespace plaid
