// topk: the k largest scores of each row in order: score descending, index ascending, NaN last; -0 equals +0.
//
// Axes b, n, k. Score f32 [b, n], rows score_stride elements apart; Live i64 [b] or absent: how many of a row's scores
// count, clamped to [0, n]; Label i32 [b, n] or absent: what Index holds instead of positions; Value f32 [b, k] and Index
// i32 [b, k], filled with -inf and -1 beyond the live scores. n < 2^31; offsets are 64-bit. No arithmetic: every variant
// gives the same bits.
//
// Entries:
//   topk_naive            a thread per score counts the scores before it: n^2 comparisons a row. grid any, block 256.
//   topk_select_segment   k <= 4096. Rows that may be long only: a block of 1024 per (row, segment) leaves the segment's
//                         first k pairs in scratch. Segments without live scores, and all of a row whose live scores one
//                         block takes, are left out. grid min(b*segments, any).
//   topk_select_merge     a block of 1024 per row takes the first k of the row, or of its segments' pairs. grid min(b, any).
//   topk_select_short     the same with a block of 512, k <= 1024 and rows of one segment.
// A block counts the pairs that may be wanted in bins over the range of their scores, which gives the order of all but the
// few that share a bin (topk_spread.cuh). Where many do, it narrows the range bit by bit and sorts (topk_narrow.cuh).
// Only live scores count.
// Scratch: b*segments*k pairs of 8 bytes when there is more than one segment. Shared memory: 43,424 bytes. Requires sm_80.
#include "args/topk_args.h"
#include "common/early.cuh"
#include "common/rank.cuh"
#include "selection/live.cuh"
#include "selection/topk_narrow.cuh"
#include "selection/topk_spread.cuh"

namespace {

using namespace selection;

constexpr int kThreads = 1024, kShort = 512;

__device__ void naive(const topk_args& a) {
  const long long step = (long long)gridDim.x * blockDim.x, end = a.b * a.n;
  for (long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x; t < end; t += step) {
    long long row = t / a.n, i = t % a.n, live = liveScores(a, row);
    const float* s = scoreRow(a, row);
    if (i >= live) {
      if (i < a.k) write(a, row, i, -1, s); // the live scores end before i: place i stays empty
      continue;
    }
    Pair mine = rankPair(s[i], (unsigned)i);
    long long rank = 0;
    for (long long j = 0; j < live && rank < a.k; j++) rank += rankPair(s[j], (unsigned)j) > mine;
    if (rank < a.k) write(a, row, rank, i, s);
  }
}

// Rows of up to kWhole scores take one block; longer ones are cut into segments, so that a few rows fill the device. The host
// computes the same (cuda/topk.go).
constexpr long long kWhole = 32768;
constexpr long long kDirect = 16384; // as many live scores one block takes from a longer row

__device__ __forceinline__ long long segmentLength(const topk_args& a) {
  if (a.n <= kWhole) return a.n;
  return max(max(8192ll, 4 * a.k), (a.n + 255) / 256);
}

union Shared {
  Spread spread;
  Narrow narrow;
};

// Row is where the results of a row go.
struct Row {
  const float* s;
  const int* label; // of the row, null = none
  float* value;
  int* index;
  __device__ __forceinline__ Row(const topk_args& a, long long row)
      : s(scoreRow(a, row)), label(a.label ? (const int*)a.label + row * a.n : nullptr), value((float*)a.value + row * a.k), index((int*)a.index + row * a.k) {}
  // name is what Index holds for a pair.
  __device__ __forceinline__ int name(Pair p) const { return label ? label[rankIndex(p)] : (int)rankIndex(p); }
  __device__ __forceinline__ void put(unsigned place, Pair p, int name) const {
    const unsigned key = (unsigned)(p >> 32);
    value[place] = key == 1 || key == 0x80000000u ? s[rankIndex(p)] : rankScore(key); // NaN and zeros stay what they were
    index[place] = name;
  }
};

// Part is where those of a segment go.
struct Part {
  Pair* out;
  __device__ __forceinline__ int name(Pair) const { return 0; }
  __device__ __forceinline__ void put(unsigned place, Pair p, int) const { out[place] = p; }
};

// first gives out the first want of the pairs, at least as many; want is at least 1.
template <int T, class Source, class Results>
__device__ __forceinline__ void first(const Source& src, unsigned want, Shared& sh, const Results& out) {
  if (spread<T>(src, want, sh.spread, out)) return;
  __syncthreads(); // all know
  const unsigned count = narrowed<T>(src, want, sh.narrow);
  for (unsigned i = threadIdx.x; i < count; i += T) out.put(i, sh.narrow.sorted[i], out.name(sh.narrow.sorted[i]));
}

__device__ void segment(const topk_args& a) {
  __shared__ Shared sh;
  awaitEarlier();
  letNext();
  const long long length = segmentLength(a), segments = (a.n + length - 1) / length;
  for (long long t = blockIdx.x; t < a.b * segments; t += gridDim.x) {
    const long long row = t / segments, from = t % segments * length, live = liveScores(a, row);
    if (live <= kDirect || from >= live) continue; // merge knows
    const unsigned n = (unsigned)min(length, live - from), want = min(n, (unsigned)a.k);
    Pair* out = (Pair*)a.scratch + t * a.k;
    Scores<kThreads> scores(scoreRow(a, row), from, n);
    scores.limit(n);
    first<kThreads>(scores, want, sh, Part{out});
    for (unsigned i = want + threadIdx.x; i < a.k; i += kThreads) out[i] = 0;
    __syncthreads(); // sh is free
  }
}

template <int T, int kHeld> __device__ __forceinline__ void merge(const topk_args& a, Shared& sh) {
  const unsigned n = (unsigned)a.n, k = (unsigned)a.k;
  for (long long row = blockIdx.x;;) {
    const Row out(a, row);
    Scores<T, kHeld> scores(out.s, 0, n);
    const unsigned live = (unsigned)liveScores(a, row), want = min(live, k);
    if (T == kThreads && n > kWhole && live > kDirect) {
      const long long length = segmentLength(a), segments = (a.n + length - 1) / length;
      const Pairs<T> pairs{(const Pair*)a.scratch + row * segments * k, (unsigned)((live + length - 1) / length * k)};
      first<T>(pairs, want, sh, out);
    } else if (want > 0) {
      scores.limit(live);
      first<T>(scores, want, sh, out);
    }
    for (unsigned i = want + threadIdx.x; i < k; i += T) out.value[i] = __int_as_float(0xff800000), out.index[i] = -1;
    if ((row += gridDim.x) >= a.b) return;
    __syncthreads(); // sh is free
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256) topk_naive(const __grid_constant__ topk_args a) { naive(a); }
extern "C" __global__ void __launch_bounds__(kThreads) topk_select_segment(const __grid_constant__ topk_args a) { segment(a); }
extern "C" __global__ void __launch_bounds__(kThreads) topk_select_merge(const __grid_constant__ topk_args a) {
  __shared__ Shared sh;
  awaitEarlier();
  letNext();
  merge<kThreads, 4>(a, sh);
}
extern "C" __global__ void __launch_bounds__(kShort, 2) topk_select_short(const __grid_constant__ topk_args a) {
  __shared__ Shared sh;
  awaitEarlier();
  letNext();
  if (a.n <= 2 * kShort) // no more to a thread
    merge<kShort, 2>(a, sh);
  else
    merge<kShort, 4>(a, sh);
}
