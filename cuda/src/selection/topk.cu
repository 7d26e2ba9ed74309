// topk: the k largest scores of each row in order: score descending, index ascending, NaN last; -0 equals +0.
//
// Axes b, n, k. Score f32 [b, n], rows score_stride elements apart; Live i64 [b] or absent: how many of a row's scores
// count, clamped to [0, n]; Value f32 [b, k] and Index i32 [b, k], filled with -inf and -1 beyond the live scores.
// n < 2^31; offsets are 64-bit. No arithmetic: every variant gives the same bits.
//
// Entries:
//   topk_naive            a thread per score counts the scores before it: n^2 comparisons a row. grid any, block 256.
//   topk_select_segment   k <= 4096. Rows longer than one segment only: a block of 1024 per (row, segment) leaves the
//                         segment's first k pairs in scratch. grid min(b*segments, any).
//   topk_select_merge     a block of 1024 per row takes the first k of the row, or of its segments' pairs. grid min(b, any).
// A block narrows an interval of pairs by histograms of 2048 bins over the leading bits in which its elements differ,
// until the elements above it fit the sorting buffer, and sorts those. Scores of similar size share their exponent, so
// bins over a fixed digit would send most of them to a few counters.
// Scratch: b*segments*k pairs of 8 bytes when there is more than one segment. Shared memory: 41,620 bytes. Requires sm_80.
#include "args/topk_args.h"
#include "common/rank.cuh"
#include "selection/live.cuh"

namespace {

using Pair = unsigned long long; // of common/rank.cuh; 0 = none

constexpr int kThreads = 1024, kLanes = 32, kWarps = kThreads / kLanes;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kCapacity = 4096; // pairs that a block sorts; the largest k
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

// Segments cut long rows so that a few rows fill the device. The host computes the same (cuda/topk.go).
__device__ __forceinline__ long long segmentLength(const topk_args& a) {
  if (a.n <= 16384) return a.n;
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
  Pair sorted[kCapacity];
  unsigned bins[kBins];
  Pair low[kWarps], high[kWarps];
  unsigned count[kWarps];
  unsigned bin, above, within; // cut
  unsigned taken;              // collect: another word, since threads still read cut's
};

// scan is the inclusive sum of v over the threads up to this one.
__device__ __forceinline__ unsigned scan(unsigned v, unsigned* warps) {
  int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
#pragma unroll
  for (int o = 1; o < kLanes; o *= 2) {
    unsigned u = __shfl_up_sync(kAllLanes, v, o);
    if (lane >= o) v += u;
  }
  if (lane == kLanes - 1) warps[warp] = v;
  __syncthreads();
  unsigned before = 0;
  for (int w = 0; w < warp; w++) before += warps[w];
  __syncthreads(); // warps may be written again
  return before + v;
}

// Range is what remains undecided: pairs in [low, high] hold the want-th largest, above of them lie beyond high.
struct Range {
  Pair low, high;
  unsigned above, want;
};

// survey finds the extremes and the number of pairs, gaps aside.
template <class Source> __device__ Range survey(const Source& src, long long n, unsigned k, Shared& sh) {
  Pair low = ~0ull, high = 0;
  unsigned count = 0;
#pragma unroll 4
  for (long long i = threadIdx.x; i < n; i += kThreads) {
    Pair p = src(i);
    if (p) low = min(low, p), high = max(high, p), count++;
  }
  for (int o = kLanes / 2; o > 0; o /= 2) {
    low = min(low, __shfl_xor_sync(kAllLanes, low, o));
    high = max(high, __shfl_xor_sync(kAllLanes, high, o));
    count += __shfl_xor_sync(kAllLanes, count, o);
  }
  int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  if (lane == 0) sh.low[warp] = low, sh.high[warp] = high, sh.count[warp] = count;
  __syncthreads();
  Range r = {~0ull, 0, 0, 0};
  for (int w = 0; w < kWarps; w++) r.low = min(r.low, sh.low[w]), r.high = max(r.high, sh.high[w]), r.want += sh.count[w];
  r.want = min(r.want, k);
  return r;
}

// cut narrows r to the bin that holds the want-th largest and returns how many pairs lie in or above that bin.
template <class Source> __device__ unsigned cut(const Source& src, long long n, Range& r, Shared& sh) {
  int shift = max(0, 64 - __clzll(r.low ^ r.high) - kDigit);
  for (int i = threadIdx.x; i < kBins; i += kThreads) sh.bins[i] = 0;
  __syncthreads();
#pragma unroll 4
  for (long long i = threadIdx.x; i < n; i += kThreads) {
    Pair p = src(i);
    if (p >= r.low && p <= r.high) atomicAdd(&sh.bins[(p >> shift) % kBins], 1u); // the bits above agree
  }
  __syncthreads();
  // Thread t takes the bins from the top down, two at a time.
  int top = kBins - 1 - 2 * threadIdx.x;
  unsigned first = sh.bins[top], second = sh.bins[top - 1];
  unsigned through = r.above + scan(first + second, sh.count), until = through - first - second;
  if (until < r.want && r.want <= through) { // one thread
    bool upper = r.want <= until + first;
    sh.bin = upper ? top : top - 1;
    sh.above = upper ? until : until + first;
    sh.within = upper ? until + first : through;
  }
  __syncthreads();
  Pair digit = (Pair)(kBins - 1) << shift, rest = ((Pair)1 << shift) - 1;
  r.low = (r.high & ~(digit | rest)) | (Pair)sh.bin << shift;
  r.high = r.low | rest;
  r.above = sh.above;
  return sh.within;
}

// collect gathers the pairs from low up into the sorting buffer, in any order: the sort decides.
template <class Source> __device__ void collect(const Source& src, long long n, Pair low, Shared& sh) {
  if (threadIdx.x == 0) sh.taken = 0;
  __syncthreads();
  for (long long base = 0; base < n; base += kThreads) { // whole warps take part in the ballot
    long long i = base + threadIdx.x;
    Pair p = i < n ? src(i) : 0;
    bool take = p >= low; // low > 0
    unsigned mask = __ballot_sync(kAllLanes, take), lane = threadIdx.x % kLanes, at = 0;
    if (mask == 0) continue; // the same for the warp
    if (lane == 0) at = atomicAdd(&sh.taken, __popc(mask));
    at = __shfl_sync(kAllLanes, at, 0) + __popc(mask & ((1u << lane) - 1));
    if (take) sh.sorted[at] = p;
  }
  __syncthreads();
}

// sort orders the first size pairs descending; size is a power of two.
__device__ void sort(Shared& sh, int size) {
  for (int run = 2; run <= size; run *= 2)
    for (int stride = run / 2; stride > 0; stride /= 2) {
      for (int t = threadIdx.x; t < size / 2; t += kThreads) {
        int i = 2 * t - (t & (stride - 1)), j = i + stride; // t's bits with a 0 put in at stride
        Pair x = sh.sorted[i], y = sh.sorted[j];
        bool descending = (i & run) == 0;
        if (descending ? x < y : x > y) sh.sorted[i] = y, sh.sorted[j] = x;
      }
      __syncthreads();
    }
}

// select leaves the first k of n pairs at the front of the sorting buffer and returns how many there are.
template <class Source> __device__ unsigned select(const Source& src, long long n, unsigned k, Shared& sh) {
  unsigned count = 0, found = 0;
  __syncthreads(); // the buffer of the row before has been read
  if (n <= kCapacity) {
    for (int i = threadIdx.x; i < n; i += kThreads) sh.sorted[i] = src(i);
    count = found = (unsigned)n;
  } else {
    Range r = survey(src, n, k, sh);
    if (r.want > 0) {
      // Pairs differ, so a bin of one value holds one of them: the loop ends with shift 0 at the latest.
      do count = cut(src, n, r, sh);
      while (count > kCapacity);
      collect(src, n, r.low, sh);
    }
    found = count;
  }
  int size = 1;
  while (size < (int)count) size *= 2;
  for (int i = count + threadIdx.x; i < size; i += kThreads) sh.sorted[i] = 0;
  __syncthreads();
  sort(sh, size);
  return min(found, k);
}

__device__ void segment(const topk_args& a) {
  __shared__ Shared sh;
  const long long length = segmentLength(a), segments = (a.n + length - 1) / length;
  for (long long t = blockIdx.x; t < a.b * segments; t += gridDim.x) {
    long long row = t / segments, first = t % segments * length;
    long long n = min(length, selection::liveScores(a, row) - first);
    unsigned found = select(Scores{selection::scoreRow(a, row) + first, (unsigned)first}, max(n, 0ll), (unsigned)a.k, sh);
    Pair* out = (Pair*)a.scratch + t * a.k;
    for (int i = threadIdx.x; i < a.k; i += kThreads) out[i] = i < found ? sh.sorted[i] : 0;
  }
}

__device__ void merge(const topk_args& a) {
  __shared__ Shared sh;
  const long long length = segmentLength(a), segments = length ? (a.n + length - 1) / length : 0;
  for (long long row = blockIdx.x; row < a.b; row += gridDim.x) {
    const float* s = selection::scoreRow(a, row);
    unsigned found;
    if (segments > 1)
      found = select(Pairs{(const Pair*)a.scratch + row * segments * a.k}, segments * a.k, (unsigned)a.k, sh);
    else
      found = select(Scores{s, 0}, selection::liveScores(a, row), (unsigned)a.k, sh);
    for (int i = threadIdx.x; i < a.k; i += kThreads) {
      Pair p = i < found ? sh.sorted[i] : 0;
      selection::write(a, row, i, p ? (long long)rankIndex(p) : -1, s);
    }
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256) topk_naive(const __grid_constant__ topk_args a) { naive(a); }
extern "C" __global__ void __launch_bounds__(kThreads) topk_select_segment(const __grid_constant__ topk_args a) { segment(a); }
extern "C" __global__ void __launch_bounds__(kThreads) topk_select_merge(const __grid_constant__ topk_args a) { merge(a); }
