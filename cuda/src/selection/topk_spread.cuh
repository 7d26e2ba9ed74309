// The first k of n pairs in order, by one histogram: its bins divide the range from a bound that k scores reach up to the
// largest score evenly. Scores spread over it, so few share a bin, and a pair's place is where its bin starts plus its rank
// in it.
#pragma once
#include "selection/topk_block.cuh"

namespace selection {

constexpr unsigned kLong = 8;   // scores of a thread from which leaving out more is worth a search
constexpr unsigned kFew = 32;   // pairs of a bin that are compared with one another gladly
constexpr unsigned kMost = 256; // and at worst

struct Spread {
  alignas(16) unsigned bins[kBins]; // counts, then where a bin starts, then where it ends
  Pair placed[kCapacity + kMost];
  unsigned low[kLanes], high[kLanes], sum[kLanes]; // of warps
  unsigned last, end;                              // the bin of the k-th, and where it ends
  unsigned crowd;                                  // the largest bin, if that is more than kFew
};

// Division maps keys up to high to bins, larger ones first; what is below low is left out. Every step is monotone.
struct Division {
  unsigned low, high;
  float factor;
  __device__ __forceinline__ Division(unsigned l, unsigned h) {
    low = l, high = h, factor = __fdividef((float)kBins, (float)(h - l) + 1.0f);
  }
  __device__ __forceinline__ unsigned bin(unsigned key) const { return min((unsigned)((float)(high - key) * factor), kBins - 1u); }
  // narrow leaves out what comes after a bin, or reports false where that is little.
  __device__ __forceinline__ bool narrow(unsigned last) {
    const unsigned range = high - low, below = (unsigned)((float)(last + 1) / factor * 1.00001f + 2.0f); // rounding errors are less
    if (range < kBins || below > range / 2) return false;
    *this = Division(high - below, high);
    return true;
  }
};

template <int T> __device__ __forceinline__ void clear(Spread& sh) {
#pragma unroll
  for (int e = 0; e < kBins / T; e++) sh.bins[threadIdx.x * (kBins / T) + e] = 0;
  if (threadIdx.x == 0) sh.crowd = 0;
}

// bounds is the largest key and one that at least want of the pairs reach.
template <int T, class Source> __device__ __forceinline__ Division bounds(const Source& src, unsigned want, Spread& sh) {
  constexpr int kWarps = T / kLanes;
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  unsigned high = 0;
  src.template each<4>([&](unsigned key, unsigned) { high = max(high, key); });
  // Where as many threads as are wanted have a score, the least of their largest will do, or that of groups of them. It is
  // held less 1: 0 comes last.
  unsigned low = high - 1;
  if (!Source::kGaps && src.n >= kLong * T)
    for (unsigned o = 1; o < kLanes && 2 * o * want <= T; o *= 2) low = max(low, __shfl_xor_sync(kAllLanes, low, o));
  if (Source::kGaps || want > T) {
    low = ~0u;
    src.template each<4>([&](unsigned key, unsigned) { low = min(low, key - 1); });
  }
  low = __reduce_min_sync(kAllLanes, low), high = __reduce_max_sync(kAllLanes, high);
  if (lane == 0) sh.low[warp] = low, sh.high[warp] = high;
  __syncthreads();
  low = __reduce_min_sync(kAllLanes, sh.low[lane % kWarps]) + 1, high = __reduce_max_sync(kAllLanes, sh.high[lane % kWarps]);
  return Division(low, high);
}

// locate turns counts into starts and finds the bin of the want-th pair.
template <int T> __device__ __forceinline__ void locate(unsigned want, Spread& sh) {
  constexpr int kOwn = kBins / T;
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes, first = threadIdx.x * kOwn;
  unsigned count[kOwn], sum = 0;
#pragma unroll
  for (int e = 0; e < kOwn; e++) count[e] = sh.bins[first + e], sum += count[e];
  const unsigned to = through(sum);
  if (lane == kLanes - 1) sh.sum[warp] = to;
  __syncthreads();
  unsigned start = to - sum + __reduce_add_sync(kAllLanes, lane < warp ? sh.sum[lane] : 0), crowd = 0, last = kBins, end = 0;
#pragma unroll
  for (int e = 0; e < kOwn; e++) {
    sh.bins[first + e] = start;
    if (start < want) crowd = max(crowd, count[e]), last = first + e, end = start + count[e];
    start += count[e];
  }
  if (last < kBins && end >= want) sh.last = last, sh.end = end; // one thread
  if (crowd > kFew) atomicMax(&sh.crowd, crowd);
  __syncthreads();
}

// spread gives put the first want of the pairs, at least as many, each with its place, or reports false where too many share
// a bin. Every thread calls it; want is at least 1.
template <int T, class Source, class Results>
__device__ __forceinline__ bool spread(const Source& src, unsigned want, Spread& sh, const Results& out) {
  clear<T>(sh);
  Division d = bounds<T>(src, want, sh);
  for (;;) {
    src.template each<2>([&](unsigned key, unsigned) {
      if (key >= d.low) atomicAdd(&sh.bins[d.bin(key)], 1u);
    });
    __syncthreads();
    locate<T>(want, sh);
    const unsigned crowd = sh.crowd; // the same for the block
    if (crowd == 0) break;
    if (!d.narrow(sh.last)) {
      if (crowd > kMost) return false;
      break;
    }
    __syncthreads(); // all have read
    clear<T>(sh);
    __syncthreads();
  }
  const unsigned last = sh.last, end = sh.end;
  src.template each<2>([&](unsigned key, unsigned index) {
    const unsigned bin = d.bin(key);
    if (key >= d.low && bin <= last) sh.placed[atomicAdd(&sh.bins[bin], 1u)] = pairOf(key, index);
  });
  __syncthreads();
  for (unsigned i = threadIdx.x; i < end; i += T) {
    const Pair mine = sh.placed[i];
    const auto name = out.name(mine); // on its way
    const unsigned bin = d.bin((unsigned)(mine >> 32)), to = sh.bins[bin];
    unsigned place = bin ? sh.bins[bin - 1] : 0;
#pragma unroll 1
    for (unsigned j = place; j < to; j++) place += sh.placed[j] > mine; // from the start of the bin
    if (place < want) out.put(place, mine, name);
  }
  return true;
}

}  // namespace selection
