// plaid_approx: per candidate the fixed-point sum over query tokens of the largest centroid score among its document tokens,
// or among those in live cells, and no less than a floor.
//
// Axes k, tq, nq, td, nd, c, kw. CentroidScore f32 [k,tq], rows centroid_score_stride elements apart; QueryOff i64 [nq+1], DocOff
// i64 [nd+1]; Code i32 [td]; Candidate i32 [nq,c]; Count i64 [nq] or absent; Live i32 [nq,kw] or absent; Floor f32 [tq] or
// absent; Shift i32 [nq]; Score f32 [nq,c].
// Geometry: 256 threads, grid (any, min(nq, any)). A warp takes up to eight places at a time, one document after the other:
// codes are read 128 at a time, the next ones while these are looked up; lanes are query tokens, 32 (stage q32) or 128 (q128)
// at a time, and read the rows of centroid scores together. Maxima of short queries wait in shared memory, 9,216 bytes, and are
// added four lanes to a document. Live bits up to the dynamic shared memory are staged there, more are read from global
// memory. Maxima are exact and sums integers. Requires sm_80.
//
// dynamic: plaid_approx_warp_q32 65536
// dynamic: plaid_approx_warp_q128 65536
#include "args/plaid_approx_args.h"
#include "common/async.cuh"
#include "common/order.cuh"
#include "plaid/plaid_fixed.cuh"
#include "plaid/plaid_listing.cuh"

namespace {

using namespace plaid;

constexpr int kThreads = 256, kWarps = kThreads / kLanes;
constexpr int kPieces = 4; // codes of a lane at a time
constexpr int kBatch = 8;  // most places of a warp at a time

struct Query {
  long long i; // number
  Span tokens;
  const unsigned* live;   // its bits, null = all cells
  const unsigned* staged; // the same in shared memory, or null
  int shift;
};

// Codes is what a lane holds of up to 128 consecutive tokens of a document.
struct Codes {
  int of[kPieces];

  // load takes the lane's codes from at on; left tokens of the document stand there.
  __device__ __forceinline__ void load(const int* at, int left) {
#pragma unroll
    for (int p = 0; p < kPieces; p++) of[p] = (int)threadIdx.x % kLanes + p * kLanes < left ? at[p * kLanes] : -1;
  }
};

// Maxima of the documents of a batch, by query token; rows are apart so that four lanes to a document meet no bank twice.
struct Maxima {
  float of[kBatch][kLanes + 4];
};

// Warp scores the places of one query for up to 32*N of its tokens at a time.
template <int N> struct Warp {
  static constexpr int kRows = N == 1 ? 4 : 2; // rows of scores in flight
  const plaid_approx_args& a;
  const Query& q;
  const Faults& faults;
  Maxima& maxima;     // of the warp
  int lane;
  const float* scores; // of the lane's first query token in the first row; lanes without a token repeat the last
  const float* floor;  // of that token, null = none
  int tokens;          // of this pass
  bool strange;        // the lane met an unknown code
  float best[N];

  __device__ __forceinline__ void begin(long long first, int count) {
    tokens = count;
    scores = (const float*)a.centroid_score + first;
    floor = a.floor && count > 0 ? (const float*)a.floor + first : nullptr;
  }

  // at is the query token of the lane's value n.
  __device__ __forceinline__ int at(int n) const { return min(n * kLanes + lane, tokens - 1); }

  __device__ __forceinline__ void reset() {
#pragma unroll
    for (int n = 0; n < N; n++) best[n] = floor ? floor[at(n)] : negativeInfinity();
  }

  __device__ __forceinline__ void row(int code, float (&v)[N]) const {
    const float* s = scores + (unsigned long long)(unsigned)code * (unsigned)a.centroid_score_stride;
#pragma unroll
    for (int n = 0; n < N; n++) v[n] = s[at(n)];
  }

  __device__ __forceinline__ void take(const float (&v)[N]) {
#pragma unroll
    for (int n = 0; n < N; n++) best[n] = maxNaN(best[n], v[n]);
  }

  __device__ __forceinline__ bool isLive(unsigned c) const {
    if (!q.live) return true;
    const unsigned w = q.staged ? q.staged[c / 32] : q.live[c / 32];
    return w >> (c % 32) & 1;
  }

  // consume takes the codes of left tokens.
  __device__ __forceinline__ void consume(const Codes& codes, int left) {
#pragma unroll
    for (int p = 0; p < kPieces; p++) {
      if (p * kLanes >= left) break;
      const unsigned c = codes.of[p];
      const bool known = c < (unsigned)a.k;
      strange |= !known && p * kLanes + lane < left;
      unsigned mask = __ballot_sync(kAllLanes, known && isLive(c));
      if (tokens <= 0) mask = 0;
      while (__popc(mask) >= kRows) {
        float v[kRows][N];
#pragma unroll
        for (int i = 0; i < kRows; i++) {
          row(__shfl_sync(kAllLanes, (int)c, __ffs(mask) - 1), v[i]);
          mask &= mask - 1;
        }
#pragma unroll
        for (int i = 0; i < kRows; i++) take(v[i]);
      }
      for (; mask; mask &= mask - 1) {
        float v[N];
        row(__shfl_sync(kAllLanes, (int)c, __ffs(mask) - 1), v);
        take(v);
      }
    }
  }

  // finish ends the document of a place of the batch: up to 32 maxima wait for the others, more are added at once.
  __device__ __forceinline__ void finish(FixedSum& sum, int place) {
    if constexpr (N == 1) {
      maxima.of[place][lane] = best[0];
    } else {
      const double steps = stepsOf(q.shift);
      FixedSum s;
#pragma unroll
      for (int n = 0; n < N; n++)
        if (n * kLanes + lane < tokens) s.add(best[n], steps);
      s.join();
      if (lane == place) sum.total += s.total, sum.flags |= s.flags;
    }
  }

  // collect adds the maxima that wait to the sums of the lanes that have their places. Four lanes share a document.
  __device__ __forceinline__ void collect(FixedSum& sum) {
    __syncwarp();
    const double steps = stepsOf(q.shift);
    FixedSum s;
#pragma unroll
    for (int t = 0; t < kLanes; t += 4)
      if (t + lane % 4 < tokens) s.add(maxima.of[lane / 4][t + lane % 4], steps);
#pragma unroll
    for (int o = 1; o < 4; o *= 2) {
      s.total += __shfl_xor_sync(kAllLanes, s.total, o);
      s.flags |= __shfl_xor_sync(kAllLanes, s.flags, o);
    }
    sum.total += __shfl_sync(kAllLanes, s.total, lane * 4 % kLanes), sum.flags |= __shfl_sync(kAllLanes, s.flags, lane * 4 % kLanes);
    __syncwarp(); // the maxima are written again
  }

  // pass goes through the documents of a batch: lane b has the n tokens of place b from lo on, and full says which have any.
  __device__ __forceinline__ void pass(long long lo, int n, unsigned full, FixedSum& sum) {
    const int* code = (const int*)a.code + lane;
    int b = (__ffs(full) - 1) & 31, left = __shfl_sync(kAllLanes, n, b);
    const int* at = code + __shfl_sync(kAllLanes, lo, b);
    Codes now, next;
    if (full) now.load(at, left);
    reset();
    while (full) {
      const int size = left;
      const bool last = left <= kPieces * kLanes;
      left -= kPieces * kLanes, at += kPieces * kLanes;
      const int place = b;
      if (last) {
        full &= full - 1;
        b = (__ffs(full) - 1) & 31, left = __shfl_sync(kAllLanes, n, b);
        at = code + __shfl_sync(kAllLanes, lo, b);
        if (!full) left = 0;
      }
      next.load(at, left);
      consume(now, size);
      if (last) {
        finish(sum, place);
        reset();
      }
      now = next;
    }
    if constexpr (N == 1) collect(sum);
  }

  // report names the unknown codes of the lane's place.
  __device__ __forceinline__ void report(long long lo, int n) const {
#pragma unroll 1
    for (int u = 0; u < n; u++)
      if ((unsigned)((const int*)a.code)[lo + u] >= (unsigned)a.k) faults.badCode(lo + u);
  }

  // run takes the places of the query that fall to this warp.
  __device__ __forceinline__ void run() {
    const long long warp = (long long)blockIdx.x * kWarps + threadIdx.x / kLanes, warps = (long long)gridDim.x * kWarps;
    const long long places = a.count ? min(max(((const long long*)a.count)[q.i], 0ll), a.c) : a.c;
    const int batch = (int)min(max(places / warps, 1ll), (long long)kBatch);
    const int all = (int)q.tokens.size();
    float* score = (float*)a.score + q.i * a.c;
    for (long long e = places + warp * kLanes + lane; e < a.c; e += warps * kLanes) score[e] = negativeInfinity();
    for (long long e0 = warp * batch; e0 < places; e0 += warps * batch) {
      const long long e = e0 + lane;
      const bool mine = lane < batch && e < places;
      Span t = {0, 0};
      if (mine) t = entryTokens(a, faults, q.i, e, true);
      const int n = (int)t.size();
      const unsigned full = __ballot_sync(kAllLanes, n > 0);
      FixedSum sum;
      strange = false;
      int from = 0;
      do { // once for a query without tokens, whose documents' codes are checked all the same
        begin(q.tokens.lo + from, min(all - from, N * kLanes));
        pass(t.lo, n, full, sum);
        from += N * kLanes;
      } while (from < all);
      if (__any_sync(kAllLanes, strange)) report(t.lo, n);
      if (!mine) continue;
      if (n > 0 && sum.beyond()) faults.beyond(q.i);
      score[e] = fixedScore(n > 0 ? sum.fixed() : kFixedNegInf, q.shift);
    }
  }
};

template <int N> __device__ void approx(const plaid_approx_args& a) {
  extern __shared__ __align__(16) unsigned char dynamic[];
  unsigned* staged = (unsigned*)dynamic;
  __shared__ Maxima maxima[N == 1 ? kWarps : 1];
  const Faults faults = {a.status, a.tag, 4, 2, 8};
  const bool stage = a.live && a.kw * 4 <= dynamicShared();
  checkAxes(a, 1, 3);
  for (long long i = blockIdx.y; i < a.nq; i += gridDim.y) {
    const Query q = {i, segment((const long long*)a.query_off, i, a.tq), a.live ? (const unsigned*)a.live + i * a.kw : nullptr, stage ? staged : nullptr, ((const int*)a.shift)[i]};
    if (stage) {
      __syncthreads(); // the bits of the query before have been read
      for (long long w = threadIdx.x; w < a.kw; w += kThreads) staged[w] = q.live[w];
      __syncthreads();
    }
    Warp<N>{a, q, faults, maxima[N == 1 ? threadIdx.x / kLanes : 0], (int)threadIdx.x % kLanes}.run();
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 3) plaid_approx_warp_q32(const __grid_constant__ plaid_approx_args a) { approx<1>(a); }
extern "C" __global__ void __launch_bounds__(kThreads, 2) plaid_approx_warp_q128(const __grid_constant__ plaid_approx_args a) { approx<4>(a); }
