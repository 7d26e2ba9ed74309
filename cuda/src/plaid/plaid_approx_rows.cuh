// Approximate scores of queries of up to 32 tokens, a row of centroid scores to each code.
//
// A warp lists the codes that count, of one document after the other, and looks up the rows of many at once: the loads of
// kAhead steps are in flight together, across documents. Where rows are aligned a step is four of them: eight lanes have a row,
// four neighbouring tokens each, and the maxima of the four groups meet at the document's end. Else a step is one row, a lane a
// token. A document's last step is filled up with a code that it has: a maximum does not mind.
#pragma once
#include "plaid/plaid_approx_walk.cuh"

namespace plaid {

constexpr int kListed = 384;            // codes of a warp's list
constexpr unsigned kEnds = 0x80000000u; // marks the last step of a document in the list

// Lists are what a warp has in shared memory: codes, and the maxima of the documents of a batch by query token, whose rows are
// apart so that four lanes to a document meet no bank twice.
struct alignas(16) Lists {
  unsigned code[kListed];
  float most[kBatch][kLanes + 4];
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

// Rows scores the places of one query of up to 32 tokens.
template <Live L, bool Wide> struct Rows {
  static constexpr int kStep = Wide ? 4 : 1;   // rows of a step
  static constexpr int kValues = Wide ? 4 : 1; // of a lane in a step
  static constexpr int kAhead = Wide ? 8 : 16; // steps in flight
  const plaid_approx_args& a;
  const Query& q;
  const Faults& faults;
  Lists& lists;
  int lane;
  const char* scores; // the lane's first value in row 0; lanes without a token repeat the last
  unsigned stride;    // bytes between rows
  int tokens;
  int strange;        // not 0: the lane met an unknown code
  int listed;         // codes in the list, whole steps between documents
  unsigned ended;     // places whose documents end in the list, in order
  bool here, carried; // the document that is listed has codes in the list, or had some before
  float base[kValues], best[kValues];

  __device__ __forceinline__ void begin() {
    tokens = (int)min(q.tokens.size(), (long long)kLanes), stride = (unsigned)a.centroid_score_stride * 4;
    const int column = max(Wide ? min(lane % 8, (tokens + 3) / 4 - 1) * 4 : min(lane, tokens - 1), 0);
    scores = (const char*)((const float*)a.centroid_score + q.tokens.lo + column);
#pragma unroll
    for (int e = 0; e < kValues; e++)
      base[e] = a.floor && tokens > 0 ? ((const float*)a.floor)[(q.tokens.lo + min(column + e, tokens - 1) + 1) * a.p - 1] : negativeInfinity();
    reset();
  }

  __device__ __forceinline__ void reset() {
#pragma unroll
    for (int e = 0; e < kValues; e++) best[e] = base[e];
  }

  __device__ __forceinline__ void load(unsigned code, float (&v)[kValues]) const {
    const char* s = scores + (unsigned long long)code * stride;
    if constexpr (Wide) {
      const float4 x = *(const float4*)s;
      v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
    } else {
      v[0] = *(const float*)s;
    }
  }

  // put leaves maxima, which all groups of lanes have, for collect.
  __device__ __forceinline__ void put(int place, const float (&v)[kValues]) {
    if constexpr (Wide) {
      if (lane < 8) *(float4*)&lists.most[place][lane * 4] = make_float4(v[0], v[1], v[2], v[3]);
    } else {
      lists.most[place][lane] = v[0];
    }
  }

  // finish ends the document of a place.
  __device__ __forceinline__ void finish(int place) {
    if constexpr (Wide)
#pragma unroll
      for (int o = 8; o < kLanes; o *= 2)
#pragma unroll
        for (int e = 0; e < kValues; e++) best[e] = maxNaN(best[e], __shfl_xor_sync(kAllLanes, best[e], o));
    put(place, best);
    reset();
  }

  // lookUp takes the rows of all listed codes.
  __device__ __forceinline__ void lookUp() {
    __syncwarp();
    const unsigned* list = lists.code + (Wide ? lane / 8 : 0);
#pragma unroll 1
    for (int s = 0; s < listed; s += kAhead * kStep) {
      float v[kAhead][kValues];
      unsigned ends = 0;
#pragma unroll
      for (int i = 0; i < kAhead; i++) {
        const unsigned c = list[min(s + i * kStep, listed - kStep)];
        ends |= (unsigned)__any_sync(kAllLanes, c >= kEnds) << i;
        load(c & ~kEnds, v[i]);
      }
#pragma unroll
      for (int i = 0; i < kAhead; i++) {
        if (s + i * kStep >= listed) break;
#pragma unroll
        for (int e = 0; e < kValues; e++) best[e] = maxNaN(best[e], v[i][e]);
        if (ends >> i & 1) {
          finish(__ffs(ended) - 1);
          ended &= ended - 1;
        }
      }
    }
    listed = 0, carried |= here, here = false;
    __syncwarp(); // the list is written again
  }

  // isLive is for any number, known or not.
  __device__ __forceinline__ bool isLive(unsigned c, bool known) const {
    if constexpr (L == Live::kAll) return known;
    const unsigned i = known ? c / 32 : 0;
    const unsigned w = L == Live::kShared ? ((const unsigned*)liveBits())[i] : q.live[i];
    return known && (w >> (c % 32) & 1);
  }

  // consume lists what counts of a piece.
  __device__ __forceinline__ void consume(const Piece& x) {
    if (listed > kListed - kPieces * kLanes - kStep) lookUp();
    const int before = listed;
#pragma unroll
    for (int p = 0; p < kPieces; p++) {
      if (p * kLanes >= x.left) break;
      const unsigned c = x.code[p];
      const bool known = c < (unsigned)a.k;
      if (!known && p * kLanes + lane < x.left) strange = 1;
      const bool counts = isLive(c, known) && tokens > 0;
      const unsigned mask = __ballot_sync(kAllLanes, counts);
      if (counts) lists.code[listed + __popc(mask & ((1u << lane) - 1))] = c;
      listed += __popc(mask);
    }
    const int fill = before - listed & (kStep - 1);
    if (fill) {
      __syncwarp();
      if (lane < fill) lists.code[listed + lane] = lists.code[listed - 1];
      listed += fill;
    }
    here |= listed > before;
    if (x.left <= kPieces * kLanes) close(x.place);
  }

  // close marks the end of the document that was listed.
  __device__ __forceinline__ void close(int place) {
    if (here) {
      __syncwarp();
      if (lane < kStep) lists.code[listed - kStep + lane] |= kEnds;
      ended |= 1u << place;
    } else if (carried) {
      finish(place); // the list is empty: all since the last look was this document's
    } else {
      put(place, base);
    }
    here = carried = false;
  }

  // collect adds the maxima to the sums of the lanes that have their places. Four lanes share a document.
  __device__ __forceinline__ void collect(FixedSum& sum) {
    __syncwarp();
    const double steps = stepsOf(q.shift);
    FixedSum s;
#pragma unroll
    for (int t = 0; t < kLanes; t += 4)
      if (t + lane % 4 < tokens) s.add(lists.most[lane / 4][t + lane % 4], steps);
#pragma unroll
    for (int o = 1; o < 4; o *= 2) {
      s.total += __shfl_xor_sync(kAllLanes, s.total, o);
      s.flags |= __shfl_xor_sync(kAllLanes, s.flags, o);
    }
    sum.total = __shfl_sync(kAllLanes, s.total, lane * 4 % kLanes), sum.flags = __shfl_sync(kAllLanes, s.flags, lane * 4 % kLanes);
    __syncwarp(); // the maxima are written again
  }

  // batch scores up to eight documents: lane b has the n tokens of place b from lo on.
  __device__ __forceinline__ void batch(long long lo, int n, FixedSum& sum) {
    strange = listed = 0, ended = 0, here = carried = false;
    Walk walk = {(const int*)a.code + lane, lo, n, __ballot_sync(kAllLanes, n > 0)};
    walk.open();
    Piece now, next, later;
    walk.fetch(now), walk.fetch(next);
#pragma unroll 1
    while (now.left > 0) {
      walk.fetch(later);
      consume(now);
      now = next, next = later;
    }
    lookUp();
    collect(sum);
    if (__any_sync(kAllLanes, strange)) reportCodes(a, faults, lo, n);
  }

  // run takes the places of the query that fall to this warp.
  __device__ __forceinline__ void run() {
    const long long warp = (long long)blockIdx.x * kWarps + threadIdx.x / kLanes, warps = (long long)gridDim.x * kWarps;
    const long long places = livePlaces(a, q.i);
    const long long rounds = max((places + warps * kBatch - 1) / (warps * kBatch), 1ll);
    const int most = (int)max((places + warps * rounds - 1) / (warps * rounds), 1ll); // warps end together
    float* score = (float*)a.score + q.i * a.c;
    begin();
    fillPlaces(a, q.i, places);
#pragma unroll 1
    for (long long e0 = warp * most; e0 < places; e0 += warps * most) {
      const long long e = e0 + lane;
      const bool mine = lane < most && e < places;
      Span t = {0, 0};
      if (mine) t = entryTokens(a, faults, q.i, e, true);
      const int n = (int)t.size();
      FixedSum sum;
      batch(t.lo, n, sum);
      if (!mine) continue;
      if (n > 0 && sum.beyond()) faults.beyond(q.i);
      score[e] = fixedScore(n > 0 ? sum.fixed() : kFixedNegInf, q.shift);
    }
  }
};

}  // namespace plaid
