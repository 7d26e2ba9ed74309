// The first k of the pairs in order, however they crowd: an interval of pairs is narrowed by histograms over the leading bits in
// which its elements differ, until few share the bin of the k-th; those are counted against one another, and what was found
// is sorted, mostly within warps. Scores of similar size share their exponent, so bins over a fixed digit would send most of
// them to a few counters.
#pragma once
#include "selection/topk_block.cuh"

namespace selection {

constexpr int kEdge = 256; // most pairs in the bin of the k-th
constexpr int kOwn = 4;    // neighbouring pairs that a thread sorts
constexpr int kOwnWarp = kOwn * kLanes;
constexpr int kDigit = 11;
static_assert(1 << kDigit == kBins, "a bin for each digit");

struct Narrow {
  alignas(16) Pair sorted[kCapacity];
  Pair edge[kEdge];
  unsigned bins[kBins];
  unsigned low[kLanes], high[kLanes], count[kLanes]; // of warps
  unsigned bin, above, within; // cut
  unsigned taken, edges;       // collect
};

// Range is what remains undecided: pairs in [low, high] hold the want-th largest, above of them lie beyond high.
struct Range {
  Pair low, high;
  unsigned above, want, count;
};

// survey finds the extremes and the number of pairs, gaps aside.
template <int T, class Source> __device__ Range survey(const Source& src, unsigned k, Narrow& sh) {
  constexpr int kWarps = T / kLanes;
  unsigned low = ~0u, high = 0, count = 0;
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < src.n; i += T) {
    const Pair p = src(i);
    const unsigned key = (unsigned)(p >> 32);
    if (p) low = min(low, key), high = max(high, key), count++;
  }
  low = __reduce_min_sync(kAllLanes, low), high = __reduce_max_sync(kAllLanes, high), count = __reduce_add_sync(kAllLanes, count);
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  if (lane == 0) sh.low[warp] = low, sh.high[warp] = high, sh.count[warp] = count;
  if (threadIdx.x == 0) sh.taken = sh.edges = 0;
  __syncthreads();
  low = __reduce_min_sync(kAllLanes, sh.low[lane % kWarps]), high = __reduce_max_sync(kAllLanes, sh.high[lane % kWarps]);
  count = __reduce_add_sync(kAllLanes, lane < kWarps ? sh.count[lane] : 0);
  return {(Pair)low << 32, (Pair)high << 32 | 0xffffffffu, 0, min(count, k), count};
}

// cut narrows r to the bin that holds the want-th largest and returns how many pairs lie in it.
template <int T, class Source> __device__ unsigned cut(const Source& src, Range& r, Narrow& sh) {
  const int shift = max(0, 64 - __clzll(r.low ^ r.high) - kDigit), lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  for (int i = threadIdx.x; i < kBins; i += T) sh.bins[i] = 0;
  __syncthreads();
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < src.n; i += T) {
    const Pair p = src(i);
    if (p >= r.low && p <= r.high) atomicAdd(&sh.bins[(p >> shift) % kBins], 1u); // the bits above agree
  }
  __syncthreads();
  // Thread t takes the bins from the top down, kEach at a time.
  constexpr int kEach = kBins / T;
  const int top = kBins - 1 - kEach * threadIdx.x;
  unsigned sum = 0;
#pragma unroll
  for (int e = 0; e < kEach; e++) sum += sh.bins[top - e];
  const unsigned to = through(sum);
  if (lane == kLanes - 1) sh.count[warp] = to;
  __syncthreads();
  unsigned before = r.above + to - sum + __reduce_add_sync(kAllLanes, lane < warp ? sh.count[lane] : 0);
#pragma unroll
  for (int e = 0; e < kEach; e++) {
    const unsigned in = sh.bins[top - e];
    if (before < r.want && r.want <= before + in) sh.bin = top - e, sh.above = before, sh.within = in; // one thread
    before += in;
  }
  __syncthreads();
  const Pair digit = (Pair)(kBins - 1) << shift, rest = ((Pair)1 << shift) - 1;
  r.low = (r.high & ~(digit | rest)) | (Pair)sh.bin << shift;
  r.high = r.low | rest;
  r.above = sh.above;
  return sh.within;
}

// collect gathers the pairs beyond high in the sorting buffer and those of the last bin beside it, in any order.
template <int T, class Source> __device__ void collect(const Source& src, const Range& r, Narrow& sh) {
  constexpr int kAhead = 4;
  const unsigned lane = threadIdx.x % kLanes;
  for (unsigned base = threadIdx.x - lane; base < src.n; base += kAhead * T) { // whole warps take part in the ballot
    Pair p[kAhead];
#pragma unroll
    for (int j = 0; j < kAhead; j++) {
      const unsigned i = base + j * T + lane;
      p[j] = i < src.n ? src(i) : 0;
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
__device__ __forceinline__ void trim(const Range& r, Narrow& sh) {
  const unsigned edges = sh.edges;
  if (threadIdx.x < edges) {
    const Pair mine = sh.edge[threadIdx.x];
    unsigned before = r.above;
    for (unsigned i = 0; i < edges; i++) before += sh.edge[i] > mine;
    if (before < r.want) sh.sorted[before] = mine;
  }
  __syncthreads();
}

// select leaves the first k of the pairs in the sorting buffer, in any order, and returns how many there are.
template <int T, class Source> __device__ unsigned select(const Source& src, unsigned k, Narrow& sh) {
  Range r = survey<T>(src, k, sh);
  if (r.want == 0) return 0;
  if (r.want < r.count) {
    // Pairs differ, so a bin of one value holds one of them: the loop ends with shift 0 at the latest.
    while (cut<T>(src, r, sh) > kEdge) {
    }
  } else {
    r.low = r.high = 0; // all of them
  }
  collect<T>(src, r, sh);
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
template <int T> __device__ __forceinline__ void apart(Narrow& sh, int size, int run) {
  for (int stride = run / 2; stride >= kOwnWarp; stride /= 2) {
    for (int t = threadIdx.x; t < size / 2; t += T) {
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

// sort orders the first size pairs descending, bitonically; size is a power of two from kOwnWarp to kOwn*T. A thread has four
// neighbours, so that most steps need neither shared memory nor a barrier.
template <int T> __device__ void sort(Narrow& sh, int size) {
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
    apart<T>(sh, size, run);
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

// narrowed leaves the first k of the pairs in order at the front of the sorting buffer and returns how many there are.
template <int T, class Source> __device__ unsigned narrowed(const Source& src, unsigned k, Narrow& sh) {
  const unsigned count = select<T>(src, k, sh);
  int size = kOwnWarp;
  while (size < (int)count) size *= 2;
  for (int i = count + threadIdx.x; i < size; i += T) sh.sorted[i] = 0;
  __syncthreads();
  sort<T>(sh, size);
  return count;
}

}  // namespace selection
