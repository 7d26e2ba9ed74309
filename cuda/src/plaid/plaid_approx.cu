// plaid_approx: per candidate the fixed-point sum over query tokens of the largest centroid score among its document tokens,
// or among those in live cells, and no less than a floor.
//
// Axes k, tq, nq, td, nd, c, kw, p. CentroidScore f32 [k,tq], rows centroid_score_stride elements apart; QueryOff i64 [nq+1], DocOff
// i64 [nd+1]; Code i32 [td]; Candidate i32 [nq,c]; Count i64 [nq] or absent; Live i32 [nq,kw] or absent; Floor f32 [tq,p], of
// which the last of a row counts, or absent; Shift i32 [nq]; Score f32 [nq,c].
// Geometry: 256 threads, grid (any, min(nq, any)). Codes are read some at a time, ahead of those that are looked up. Queries of
// up to 32 tokens: a warp (stage q32) or, where places are few, four of them (stage q32s) take one document after the other and
// list what counts of 128 or 256 codes in shared memory, 4,096 or 2,048 bytes; rows of scores are read four to a load where they
// are aligned; in the end a lane has the maximum of a token, and sums are those of integers of 32 bits. q32s joins its warps'
// maxima through 1,024 bytes. Both need live bits in the dynamic shared memory. Queries of any length (q128): lanes are query
// tokens, up to 128 at a time, and read a row together; live bits beyond the dynamic shared memory are read from global memory.
// Maxima are exact and sums integers. Requires sm_80.
//
// dynamic: plaid_approx_warp_q32 65536
// dynamic: plaid_approx_warp_q32s 65536
// dynamic: plaid_approx_warp_q128 65536
#include "plaid/plaid_approx_rows.cuh"

namespace {

using namespace plaid;

// Warp scores the places of one query for up to 32*N of its tokens at a time.
template <int N, Live L> struct Warp {
  static constexpr int kPieces = 4; // codes of a lane at a time
  static constexpr int kBatch = 8;  // most places of a warp at a time
  static constexpr int kRows = 2; // rows of scores in flight
  const plaid_approx_args& a;
  const Query& q;
  const Faults& faults;
  int lane;
  const float* scores; // of the pass's first query token in the first row
  const float* floor;  // of that token, null = none
  unsigned stride;     // bytes between rows
  int tokens;          // of this pass
  int strange;         // not 0: the lane met an unknown code
  int at[N];           // the lane's query tokens in a row; lanes without one repeat the last
  float best[N];

  __device__ __forceinline__ void begin(long long first, int count) {
    tokens = count, stride = (unsigned)a.centroid_score_stride * 4;
    scores = (const float*)a.centroid_score + first;
    floor = a.floor && count > 0 ? (const float*)a.floor + first * a.p + a.p - 1 : nullptr;
#pragma unroll
    for (int n = 0; n < N; n++) at[n] = min(n * kLanes + lane, count - 1);
  }

  __device__ __forceinline__ void reset() {
#pragma unroll
    for (int n = 0; n < N; n++) best[n] = floor ? floor[min(n * kLanes + lane, tokens - 1) * a.p] : negativeInfinity();
  }

  __device__ __forceinline__ void row(int code, float (&v)[N]) const {
    const float* s = (const float*)((const char*)scores + (unsigned long long)(unsigned)code * stride);
#pragma unroll
    for (int n = 0; n < N; n++) v[n] = s[at[n]];
  }

  __device__ __forceinline__ void take(const float (&v)[N]) {
#pragma unroll
    for (int n = 0; n < N; n++) best[n] = maxNaN(best[n], v[n]);
  }

  // isLive is for any number, known or not.
  __device__ __forceinline__ bool isLive(unsigned c, bool known) const {
    if constexpr (L == Live::kAll) return known;
    const unsigned i = known ? c / 32 : 0;
    const unsigned w = L == Live::kShared ? ((const unsigned*)liveBits())[i] : q.live[i];
    return known && (w >> (c % 32) & 1);
  }

  __device__ __forceinline__ void consume(const Piece<kPieces>& x) {
#pragma unroll
    for (int p = 0; p < kPieces; p++) {
      if (p * kLanes >= x.left) break;
      const unsigned c = x.code[p];
      const bool known = c < (unsigned)a.k;
      if (!known && p * kLanes + lane < x.left) strange = 1;
      unsigned mask = __ballot_sync(kAllLanes, isLive(c, known));
      if (mask && tokens > 0) lookUp(c, mask);
    }
  }

  // lookUp takes the rows of the codes of the lanes in mask.
  __device__ __forceinline__ void lookUp(int c, unsigned mask) {
    while (__popc(mask) >= kRows) {
      float v[kRows][N];
#pragma unroll
      for (int i = 0; i < kRows; i++) {
        row(__shfl_sync(kAllLanes, c, __ffs(mask) - 1), v[i]);
        mask &= mask - 1;
      }
#pragma unroll
      for (int i = 0; i < kRows; i++) take(v[i]);
    }
    for (; mask; mask &= mask - 1) {
      float v[N];
      row(__shfl_sync(kAllLanes, c, __ffs(mask) - 1), v);
      take(v);
    }
  }

  // finish ends the document of a place of the batch.
  __device__ __forceinline__ void finish(FixedSum& sum, int place) {
    const double steps = stepsOf(q.shift);
    FixedSum s;
#pragma unroll
    for (int n = 0; n < N; n++)
      if (n * kLanes + lane < tokens) s.add(best[n], steps);
    s.join();
    if (lane == place) sum.total += s.total, sum.flags |= s.flags;
  }

  // pass goes through the documents of a batch, two pieces ahead of what is looked up.
  __device__ __forceinline__ void pass(long long lo, int n, unsigned full, FixedSum& sum) {
    Walk<kPieces, 1> walk = {(const int*)a.code, lo, n, lane, full};
    walk.open();
    Piece<kPieces> now, next, later;
    walk.fetch(now), walk.fetch(next);
    reset();
    while (now.left > 0) {
      walk.fetch(later);
      consume(now);
      if (now.left <= kPieces * kLanes) {
        finish(sum, now.place);
        reset();
      }
      now = next, next = later;
    }
  }

  // run takes the places of the query that fall to this warp.
  __device__ __forceinline__ void run() {
    const long long warp = (long long)blockIdx.x * kWarps + threadIdx.x / kLanes, warps = (long long)gridDim.x * kWarps;
    const long long places = livePlaces(a, q.i);
    const int batch = (int)min(max(places / warps, 1ll), (long long)kBatch);
    const int all = (int)q.tokens.size();
    float* score = (float*)a.score + q.i * a.c;
    if (L == Live::kShared) awaitLive();
    fillPlaces(a, q.i, places);
#pragma unroll 1
    for (long long e0 = warp * batch; e0 < places; e0 += warps * batch) {
      const long long e = e0 + lane;
      const bool mine = lane < batch && e < places;
      Span t = {0, 0};
      if (mine) t = entryTokens(a, faults, q.i, e, true);
      const int n = (int)t.size();
      const unsigned full = __ballot_sync(kAllLanes, n > 0);
      FixedSum sum;
      strange = 0;
      int from = 0;
      do { // once for a query without tokens, whose documents' codes are checked all the same
        begin(q.tokens.lo + from, min(all - from, N * kLanes));
        pass(t.lo, n, full, sum);
        from += N * kLanes;
      } while (from < all);
      if (__any_sync(kAllLanes, strange)) reportCodes(a, faults, t.lo, n);
      if (!mine) continue;
      if (n > 0 && sum.beyond()) faults.beyond(q.i);
      score[e] = fixedScore(n > 0 ? sum.fixed() : kFixedNegInf, q.shift);
    }
  }
};

// scoreWith scores the places of a query by live bits that lie in one way: a query of any length (W is 0), or one of up to 32
// tokens, W warps to a document.
template <int W, Live L> __device__ __forceinline__ void scoreWith(const plaid_approx_args& a, const Query& q, const Faults& faults, Lists<W>* lists) {
  const int lane = threadIdx.x % kLanes;
  if constexpr (W == 0) {
    if (q.tokens.size() <= kLanes)
      Warp<1, L>{a, q, faults, lane}.run();
    else
      Warp<4, L>{a, q, faults, lane}.run();
  } else {
    if (isWide(a, q))
      Rows<W, L, true>{a, q, faults, *lists, lane}.run();
    else
      Rows<W, L, false>{a, q, faults, *lists, lane}.run();
  }
}

// approx scores all places; lists are the block's, or null.
template <int W> __device__ __forceinline__ void approx(const plaid_approx_args& a, Lists<W>* lists) {
  awaitEarlier();
  letNext();
  const Faults faults = {a.status, a.tag, 4, 2, 8};
  const bool stage = a.live && a.kw * 4 <= dynamicShared();
  for (unsigned i = blockIdx.y; i < a.nq; i += gridDim.y) {
    if (i != blockIdx.y) __syncthreads(); // the bits of the query before have been read
    const Query q = {i, segment((const long long*)a.query_off, i, a.tq), (const unsigned*)a.live + i * a.kw, ((const int*)a.shift)[i]};
    if (stage) {
      const unsigned to = sharedAddress(liveBits());
      for (int w = threadIdx.x; w < a.kw; w += kThreads) copyAsync4(to + w * 4, q.live + w, true);
      copyCommit();
    }
    if (!a.live)
      scoreWith<W, Live::kAll>(a, q, faults, lists);
    else if (W > 0 || stage)
      scoreWith<W, Live::kShared>(a, q, faults, lists);
    else
      scoreWith<0, Live::kGlobal>(a, q, faults, nullptr);
  }
  checkAxes(a, 1, 3); // last: whoever has nothing else to do does it meanwhile
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 4) plaid_approx_warp_q32(const __grid_constant__ plaid_approx_args a) {
  __shared__ Lists<1> lists;
  approx<1>(a, &lists);
}
extern "C" __global__ void __launch_bounds__(kThreads, 4) plaid_approx_warp_q32s(const __grid_constant__ plaid_approx_args a) {
  __shared__ Lists<4> lists;
  approx<4>(a, &lists);
}
extern "C" __global__ void __launch_bounds__(kThreads, 2) plaid_approx_warp_q128(const __grid_constant__ plaid_approx_args a) { approx<0>(a, nullptr); }
