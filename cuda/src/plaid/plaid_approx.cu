// plaid_approx: per candidate the fixed-point sum over query tokens of the largest centroid score among its document tokens,
// or among those in live cells, and no less than a floor.
//
// Axes k, tq, nq, td, nd, c, kw. CentroidScore f32 [k,tq], rows centroid_score_stride elements apart; QueryOff i64 [nq+1], DocOff
// i64 [nd+1]; Code i32 [td]; Candidate i32 [nq,c]; Count i64 [nq] or absent; Live i32 [nq,kw] or absent; Floor f32 [tq] or
// absent; Shift i32 [nq]; Score f32 [nq,c].
// Geometry: 256 threads, grid (any, min(nq, any)). A warp takes up to eight places at a time, one document after the other:
// codes are read 128 at a time, the next ones while these are looked up; lanes are query tokens, 32 (stage q32) or 128 (q128) at a time, and read
// the rows of centroid scores together. Live bits up to the dynamic shared memory are staged there, more are read from global
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
  long long i;        // number
  Span tokens;
  const unsigned* live;   // its bits, null = all cells
  const unsigned* staged; // the same in shared memory, or null
  int shift;

  __device__ __forceinline__ bool isLive(int c) const {
    if (!live) return true;
    const unsigned w = staged ? staged[c / 32] : live[c / 32];
    return w >> (c % 32) & 1;
  }
};

// Codes is what a lane holds of up to 128 consecutive tokens of a document; -1 is none.
struct Codes {
  int of[kPieces];

  __device__ __forceinline__ void load(const int* code, long long at, long long end) {
#pragma unroll
    for (int p = 0; p < kPieces; p++) {
      const long long u = at + p * kLanes + threadIdx.x % kLanes;
      of[p] = u < end ? code[u] : -1;
    }
  }
};

// Warp scores the places of one query for up to 32*N of its tokens at a time.
template <int N> struct Warp {
  static constexpr int kRows = N == 1 ? 4 : 2; // rows of scores in flight
  const plaid_approx_args& a;
  const Query& q;
  const Faults& faults;
  long long first; // query token of lane 0 in the row of a centroid's scores
  int tokens;      // of this pass
  float best[N];

  __device__ __forceinline__ void reset() {
    const int lane = threadIdx.x % kLanes;
    const float* floor = (const float*)a.floor;
#pragma unroll
    for (int n = 0; n < N; n++) best[n] = floor && n * kLanes + lane < tokens ? floor[first + n * kLanes + lane] : negativeInfinity();
  }

  __device__ __forceinline__ void row(int code, float (&v)[N]) const {
    const int lane = threadIdx.x % kLanes;
    const float* s = (const float*)a.centroid_score + code * a.centroid_score_stride + first;
#pragma unroll
    for (int n = 0; n < N; n++) v[n] = n * kLanes + lane < tokens ? s[n * kLanes + lane] : negativeInfinity();
  }

  __device__ __forceinline__ void take(const float (&v)[N]) {
#pragma unroll
    for (int n = 0; n < N; n++) best[n] = maxNaN(best[n], v[n]);
  }

  // consume takes the tokens of codes, which stand at token at of the document that ends at end.
  __device__ __forceinline__ void consume(const Codes& codes, long long at, long long end) {
    const int lane = threadIdx.x % kLanes;
#pragma unroll
    for (int p = 0; p < kPieces; p++) {
      if (at + p * kLanes >= end) break;
      const int c = codes.of[p];
      const long long u = at + p * kLanes + lane;
      bool in = c >= 0 && c < a.k;
      if (!in && u < end) faults.badCode(u);
      if (in) in = q.isLive(c);
      unsigned mask = __ballot_sync(kAllLanes, in);
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
  }

  // finish adds the maxima to the sum of the lane that has the document's place.
  __device__ __forceinline__ void finish(FixedSum& sum, int place) const {
    const int lane = threadIdx.x % kLanes;
    const double steps = stepsOf(q.shift);
    FixedSum s;
#pragma unroll
    for (int n = 0; n < N; n++)
      if (n * kLanes + lane < tokens) s.add(best[n], steps);
    s.join();
    if (lane == place) sum.total += s.total, sum.flags |= s.flags;
  }

  // pass goes through the documents of a batch: lane b has the tokens t of place b, and full says which have any.
  __device__ __forceinline__ void pass(const Span& t, unsigned full, FixedSum& sum) {
    const int* code = (const int*)a.code;
    int b = __ffs(full) - 1;
    long long at = __shfl_sync(kAllLanes, t.lo, b & 31), end = __shfl_sync(kAllLanes, t.hi, b & 31);
    Codes now, next;
    if (full) now.load(code, at, end);
    reset();
    while (full) {
      long long at2 = at + kPieces * kLanes, end2 = end;
      const bool last = at2 >= end;
      if (last) {
        full &= full - 1;
        const int b2 = (__ffs(full) - 1) & 31;
        at2 = __shfl_sync(kAllLanes, t.lo, b2), end2 = full ? __shfl_sync(kAllLanes, t.hi, b2) : at2;
      }
      next.load(code, at2, end2);
      consume(now, at, end);
      if (last) {
        finish(sum, b);
        reset();
        b = __ffs(full) - 1;
      }
      now = next, at = at2, end = end2;
    }
  }

  // run takes the places of the query that fall to this warp.
  __device__ __forceinline__ void run() {
    const int lane = threadIdx.x % kLanes;
    const long long warp = (long long)blockIdx.x * kWarps + threadIdx.x / kLanes, warps = (long long)gridDim.x * kWarps;
    const long long places = a.count ? min(max(((const long long*)a.count)[q.i], 0ll), a.c) : a.c;
    const int batch = (int)min(max(places / warps, 1ll), (long long)kBatch);
    const int all = (int)q.tokens.size();
    for (long long e = places + warp * kLanes + lane; e < a.c; e += warps * kLanes) ((float*)a.score)[q.i * a.c + e] = negativeInfinity();
    for (long long e0 = warp * batch; e0 < places; e0 += warps * batch) {
      const long long e = e0 + lane;
      const bool mine = lane < batch && e < places;
      Span t = {0, 0};
      if (mine) t = entryTokens(a, faults, q.i, e, true);
      const unsigned full = __ballot_sync(kAllLanes, t.size() > 0);
      FixedSum sum;
      int from = 0;
      do { // once for a query without tokens, whose documents' codes are checked all the same
        first = q.tokens.lo + from, tokens = min(all - from, N * kLanes);
        pass(t, full, sum);
        from += N * kLanes;
      } while (from < all);
      if (!mine) continue;
      if (sum.beyond()) faults.beyond(q.i);
      ((float*)a.score)[q.i * a.c + e] = fixedScore(t.size() > 0 ? sum.fixed() : kFixedNegInf, q.shift);
    }
  }
};

template <int N> __device__ void approx(const plaid_approx_args& a) {
  extern __shared__ __align__(16) unsigned char dynamic[];
  unsigned* staged = (unsigned*)dynamic;
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
    Warp<N>{a, q, faults}.run();
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 3) plaid_approx_warp_q32(const __grid_constant__ plaid_approx_args a) { approx<1>(a); }
extern "C" __global__ void __launch_bounds__(kThreads, 3) plaid_approx_warp_q128(const __grid_constant__ plaid_approx_args a) { approx<4>(a); }
