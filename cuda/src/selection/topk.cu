// topk: the k largest scores of each row in order: score descending, index ascending, NaN last; -0 equals +0.
//
// Axes b, n, k. Score f32 [b, n], rows score_stride elements apart; Live i64 [b] or absent: how many of a row's scores
// count, clamped to [0, n]; Label i32 [b, n] or absent: what Index holds instead of positions; Value f32 [b, k] and Index i32 [b, k], filled with -inf and -1 beyond the live scores.
// n < 2^31; offsets are 64-bit. No arithmetic: every variant gives the same bits.
//
// Entries:
//   topk_naive            a thread per score counts the scores before it: n^2 comparisons a row. grid any, block 256.
//   topk_select_segment   k <= 4096. Rows that may be long only: a block of 1024 per (row, segment) leaves the segment's
//                         first k pairs in scratch, in any order. Segments without live scores, and all of a row whose live
//                         scores one block takes, are left out. grid min(b*segments, any).
//   topk_select_merge     a block of 1024 per row takes the first k of the row, or of its segments' pairs. grid min(b, any).
// A block narrows an interval of pairs by histograms of 2048 bins over the leading bits in which its elements differ,
// until few share the bin of the k-th; those are counted against one another, and what was found is sorted, mostly within
// warps. Scores of similar size share their exponent, so bins over a fixed digit would send most of them to a few counters.
// Only live scores are read.
// Scratch: b*segments*k pairs of 8 bytes when there is more than one segment. Shared memory: 43,412 bytes. Requires sm_80.
#include "args/topk_args.h"
#include "common/rank.cuh"
#include "selection/live.cuh"

namespace {

using Pair = unsigned long long; // of common/rank.cuh; 0 = none

constexpr int kThreads = 1024, kLanes = 32, kWarps = kThreads / kLanes;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kCapacity = 4096; // pairs that a block sorts; the largest k
constexpr int kEdge = 256;      // most pairs in the bin of the k-th
constexpr int kOwn = 4;         // neighbouring pairs that a thread sorts
constexpr int kOwnWarp = kOwn * kLanes;
constexpr int kDigit = 11, kBins = 1 << kDigit;

__device__ void naive(const topk_args& a) {
  const long long step = (long long)gridDim.x * blockDim.x, end = a.b * a.n;
  for (long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x; t < end; t += step) {
    long long row = t / a.n, i = t % a.n, live = selection::liveScores(a, row);
    const float* s = selection::scoreRow(a, row);
    if (i >= live) {
      if (i < a.k) selection::write(a, row, i, -1, s); // the live scores end before i: place i stays empty
      continue;
    }
    Pair mine = rankPair(s[i], (unsigned)i);
    long long rank = 0;
    for (long long j = 0; j < live && rank < a.k; j++) rank += rankPair(s[j], (unsigned)j) > mine;
    if (rank < a.k) selection::write(a, row, rank, i, s);
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

// Scores yields the pairs of a range of a row.
struct Scores {
  const float* s;
  unsigned first;
  __device__ __forceinline__ Pair operator()(long long i) const { return rankPair(s[i], first + (unsigned)i); }
};

// Pairs yields what the segments left, with gaps.
struct Pairs {
  const Pair* p;
  __device__ __forceinline__ Pair operator()(long long i) const { return p[i]; }
};

struct Shared {
  alignas(16) Pair sorted[kCapacity];
  Pair edge[kEdge];
  unsigned bins[kBins];
  unsigned low[kWarps], high[kWarps], count[kWarps];
  unsigned bin, above, within; // cut
  unsigned taken, edges;       // collect
};
static_assert(kWarps == kLanes, "a lane for each warp");

// Range is what remains undecided: pairs in [low, high] hold the want-th largest, above of them lie beyond high.
struct Range {
  Pair low, high;
  unsigned above, want, count;
};

// survey finds the extremes and the number of pairs, gaps aside.
template <class Source> __device__ Range survey(const Source& src, long long n, unsigned k, Shared& sh) {
  unsigned low = ~0u, high = 0, count = 0;
#pragma unroll 4
  for (long long i = threadIdx.x; i < n; i += kThreads) {
    const Pair p = src(i);
    const unsigned key = (unsigned)(p >> 32);
    if (p) low = min(low, key), high = max(high, key), count++;
  }
  low = __reduce_min_sync(kAllLanes, low), high = __reduce_max_sync(kAllLanes, high), count = __reduce_add_sync(kAllLanes, count);
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  if (lane == 0) sh.low[warp] = low, sh.high[warp] = high, sh.count[warp] = count;
  if (threadIdx.x == 0) sh.taken = sh.edges = 0;
  __syncthreads();
  low = __reduce_min_sync(kAllLanes, sh.low[lane]), high = __reduce_max_sync(kAllLanes, sh.high[lane]);
  count = __reduce_add_sync(kAllLanes, sh.count[lane]);
  return {(Pair)low << 32, (Pair)high << 32 | 0xffffffffu, 0, min(count, k), count};
}

// through is the inclusive sum over the lanes up to this one.
__device__ __forceinline__ unsigned through(unsigned v) {
  const int lane = threadIdx.x % kLanes;
#pragma unroll
  for (int o = 1; o < kLanes; o *= 2) {
    const unsigned u = __shfl_up_sync(kAllLanes, v, o);
    if (lane >= o) v += u;
  }
  return v;
}

// cut narrows r to the bin that holds the want-th largest and returns how many pairs lie in it.
template <class Source> __device__ unsigned cut(const Source& src, long long n, Range& r, Shared& sh) {
  const int shift = max(0, 64 - __clzll(r.low ^ r.high) - kDigit), lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  for (int i = threadIdx.x; i < kBins; i += kThreads) sh.bins[i] = 0;
  __syncthreads();
#pragma unroll 4
  for (long long i = threadIdx.x; i < n; i += kThreads) {
    const Pair p = src(i);
    if (p >= r.low && p <= r.high) atomicAdd(&sh.bins[(p >> shift) % kBins], 1u); // the bits above agree
  }
  __syncthreads();
  // Thread t takes the bins from the top down, two at a time.
  const int top = kBins - 1 - 2 * threadIdx.x;
  const unsigned first = sh.bins[top], second = sh.bins[top - 1], sum = through(first + second);
  if (lane == kLanes - 1) sh.count[warp] = sum;
  __syncthreads();
  const unsigned of = sh.count[lane], before = __shfl_sync(kAllLanes, through(of) - of, warp);
  const unsigned end = r.above + before + sum, middle = end - second, begin = middle - first;
  if (begin < r.want && r.want <= end) { // one thread
    const bool upper = r.want <= middle;
    sh.bin = upper ? top : top - 1;
    sh.above = upper ? begin : middle;
    sh.within = upper ? first : second;
  }
  __syncthreads();
  const Pair digit = (Pair)(kBins - 1) << shift, rest = ((Pair)1 << shift) - 1;
  r.low = (r.high & ~(digit | rest)) | (Pair)sh.bin << shift;
  r.high = r.low | rest;
  r.above = sh.above;
  return sh.within;
}

// collect gathers the pairs beyond high in the sorting buffer and those of the last bin beside it, in any order.
template <class Source> __device__ void collect(const Source& src, long long n, const Range& r, Shared& sh) {
  constexpr int kAhead = 4;
  const unsigned lane = threadIdx.x % kLanes;
  for (long long base = threadIdx.x - lane; base < n; base += kAhead * kThreads) { // whole warps take part in the ballot
    Pair p[kAhead];
#pragma unroll
    for (int j = 0; j < kAhead; j++) {
      const long long i = base + j * kThreads + lane;
      p[j] = i < n ? src(i) : 0;
    }
#pragma unroll
    for (int j = 0; j < kAhead; j++) {
      const bool take = p[j] > r.high;
      const unsigned mask = __ballot_sync(kAllLanes, take);
      if (mask) { // the same for the warp
        unsigned at = 0;
        if (lane == 0) at = atomicAdd(&sh.taken, (unsigned)__popc(mask));
        at = __shfl_sync(kAllLanes, at, 0) + __popc(mask & ((1u << lane) - 1));
        if (take) sh.sorted[at] = p[j];
      }
      if (!take && p[j] >= r.low && p[j] > 0) sh.edge[atomicAdd(&sh.edges, 1u)] = p[j];
    }
  }
  __syncthreads();
}

// trim moves the largest of the last bin behind those that are larger.
__device__ __forceinline__ void trim(const Range& r, Shared& sh) {
  const unsigned edges = sh.edges;
  if (threadIdx.x < edges) {
    const Pair mine = sh.edge[threadIdx.x];
    unsigned before = r.above;
    for (unsigned i = 0; i < edges; i++) before += sh.edge[i] > mine;
    if (before < r.want) sh.sorted[before] = mine;
  }
  __syncthreads();
}

// select leaves the first k of n pairs in the sorting buffer, in any order, and returns how many there are.
template <class Source> __device__ unsigned select(const Source& src, long long n, unsigned k, Shared& sh) {
  __syncthreads(); // the buffer of the row before has been read
  Range r = survey(src, n, k, sh);
  if (r.want == 0) return 0;
  if (r.want < r.count) {
    // Pairs differ, so a bin of one value holds one of them: the loop ends with shift 0 at the latest.
    while (cut(src, n, r, sh) > kEdge) {
    }
  } else {
    r.low = r.high = 0; // all of them
  }
  collect(src, n, r, sh);
  trim(r, sh);
  return r.want;
}

// exchange puts two pairs in order.
__device__ __forceinline__ void exchange(Pair& x, Pair& y, bool descending) {
  const Pair a = x, b = y;
  const bool swap = (a < b) == descending;
  x = swap ? b : a, y = swap ? a : b;
}

// apart merges what lies further apart than the pairs of a warp, in shared memory: strides run/2 down to kOwnWarp.
__device__ __forceinline__ void apart(Shared& sh, int size, int run) {
  for (int stride = run / 2; stride >= kOwnWarp; stride /= 2) {
    for (int t = threadIdx.x; t < size / 2; t += kThreads) {
      const int i = 2 * t - (t & (stride - 1)), j = i + stride; // t's bits with a 0 put in at stride
      const Pair x = sh.sorted[i], y = sh.sorted[j];
      if ((x < y) == ((i & run) == 0)) sh.sorted[i] = y, sh.sorted[j] = x;
    }
    __syncthreads();
  }
}

// together merges the pairs of a warp: strides kOwnWarp/2, or run/2 if that is less, down to 1.
__device__ __forceinline__ void together(Pair (&v)[kOwn], int run) {
  const int lane = threadIdx.x % kLanes;
  const bool descending = (threadIdx.x * kOwn & run) == 0;
  for (int o = min(run / 2, kOwnWarp / 2) / kOwn; o > 0; o /= 2) {
    const bool larger = descending == ((lane & o) == 0); // this lane keeps the larger ones
#pragma unroll
    for (int e = 0; e < kOwn; e++) {
      const Pair u = __shfl_xor_sync(kAllLanes, v[e], o);
      v[e] = (v[e] > u) == larger ? v[e] : u;
    }
  }
  exchange(v[0], v[2], descending), exchange(v[1], v[3], descending);
  exchange(v[0], v[1], descending), exchange(v[2], v[3], descending);
}

// sort orders the first size pairs descending, bitonically; size is a power of two from kOwnWarp on. A thread has four
// neighbours, so that most steps need neither shared memory nor a barrier.
__device__ void sort(Shared& sh, int size) {
  const bool mine = threadIdx.x * kOwn < size; // the same for a warp
  Pair* own = sh.sorted + threadIdx.x * kOwn;
  Pair v[kOwn];
  if (mine) {
#pragma unroll
    for (int e = 0; e < kOwn; e++) v[e] = own[e];
    exchange(v[0], v[1], true), exchange(v[2], v[3], false);
    for (int run = kOwn; run <= kOwnWarp; run *= 2) together(v, run);
  }
  for (int run = 2 * kOwnWarp; run <= size; run *= 2) {
    if (mine)
#pragma unroll
      for (int e = 0; e < kOwn; e++) own[e] = v[e];
    __syncthreads();
    apart(sh, size, run);
    if (mine) {
#pragma unroll
      for (int e = 0; e < kOwn; e++) v[e] = own[e];
      together(v, run);
    }
    // Own pairs are written by their thread alone until the next barrier.
  }
  if (mine)
#pragma unroll
    for (int e = 0; e < kOwn; e++) own[e] = v[e];
  __syncthreads();
}

// rank leaves the first k of n pairs in order at the front of the sorting buffer and returns how many there are, gaps among
// them.
template <class Source> __device__ unsigned rank(const Source& src, long long n, unsigned k, Shared& sh) {
  unsigned count;
  if (n <= kOwnWarp || (n <= kCapacity && n <= 2 * (long long)k)) { // most are wanted
    __syncthreads(); // the buffer of the row before has been read
    for (int i = threadIdx.x; i < n; i += kThreads) sh.sorted[i] = src(i);
    count = (unsigned)n;
  } else {
    count = select(src, n, k, sh);
  }
  int size = kOwnWarp;
  while (size < (int)count) size *= 2;
  for (int i = count + threadIdx.x; i < size; i += kThreads) sh.sorted[i] = 0;
  __syncthreads();
  sort(sh, size);
  return min(count, k);
}

__device__ void segment(const topk_args& a) {
  __shared__ Shared sh;
  const long long length = segmentLength(a), segments = (a.n + length - 1) / length;
  for (long long t = blockIdx.x; t < a.b * segments; t += gridDim.x) {
    const long long row = t / segments, first = t % segments * length, live = selection::liveScores(a, row);
    if (live <= kDirect || first >= live) continue; // merge knows
    const unsigned found = select(Scores{selection::scoreRow(a, row) + first, (unsigned)first}, min(length, live - first), (unsigned)a.k, sh);
    Pair* out = (Pair*)a.scratch + t * a.k;
    for (int i = threadIdx.x; i < a.k; i += kThreads) out[i] = i < found ? sh.sorted[i] : 0;
  }
}

__device__ void merge(const topk_args& a) {
  __shared__ Shared sh;
  const long long length = segmentLength(a), segments = length ? (a.n + length - 1) / length : 0;
  for (long long row = blockIdx.x; row < a.b; row += gridDim.x) {
    const float* s = selection::scoreRow(a, row);
    const long long live = selection::liveScores(a, row);
    unsigned found;
    if (segments > 1 && live > kDirect)
      found = rank(Pairs{(const Pair*)a.scratch + row * segments * a.k}, (live + length - 1) / length * a.k, (unsigned)a.k, sh);
    else
      found = rank(Scores{s, 0}, live, (unsigned)a.k, sh);
    for (int i = threadIdx.x; i < a.k; i += kThreads) {
      const Pair p = i < found ? sh.sorted[i] : 0;
      selection::write(a, row, i, p ? (long long)rankIndex(p) : -1, s);
    }
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256) topk_naive(const __grid_constant__ topk_args a) { naive(a); }
extern "C" __global__ void __launch_bounds__(kThreads) topk_select_segment(const __grid_constant__ topk_args a) { segment(a); }
extern "C" __global__ void __launch_bounds__(kThreads) topk_select_merge(const __grid_constant__ topk_args a) { merge(a); }
