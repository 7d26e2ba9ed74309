// The first k of n pairs in order, by one histogram: its bins divide the range from a bound that k scores reach up to the
// largest score evenly. Scores spread over it, so few share a bin, and a pair's place is where its bin starts plus its rank
// in it.
#pragma once
#include "selection/topk_block.cuh"

namespace selection {

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
  for (int i = threadIdx.x; i < kBins / 4; i += T) ((uint4*)sh.bins)[i] = make_uint4(0, 0, 0, 0);
  if (threadIdx.x == 0) sh.crowd = 0;
}

// bounds is the largest key and one that at least want of the pairs reach.
template <int T, class Source>
__device__ __forceinline__ Division bounds(const Source& src, unsigned n, unsigned want, Spread& sh) {
  constexpr int kWarps = T / kLanes;
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  unsigned low = ~0u, high = 0;
  src.template each<4>(n, [&](Pair p) {
    const unsigned key = (unsigned)(p >> 32);
    low = min(low, key), high = max(high, key);
  });
  if (!Source::kGaps && want <= T && threadIdx.x < n) low = high; // as many threads as are wanted have a score: the largest will do
  low = __reduce_min_sync(kAllLanes, low), high = __reduce_max_sync(kAllLanes, high);
  if (lane == 0) sh.low[warp] = low, sh.high[warp] = high;
  __syncthreads();
  low = __reduce_min_sync(kAllLanes, sh.low[lane % kWarps]), high = __reduce_max_sync(kAllLanes, sh.high[lane % kWarps]);
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
  unsigned start = to - sum + __reduce_add_sync(kAllLanes, lane < warp ? sh.sum[lane] : 0), crowd = 0;
#pragma unroll
  for (int e = 0; e < kOwn; e++) {
    const unsigned end = start + count[e];
    sh.bins[first + e] = start;
    if (start < want) crowd = max(crowd, count[e]);
    if (start < want && end >= want) sh.last = first + e, sh.end = end; // one thread
    start = end;
  }
  if (crowd > kFew) atomicMax(&sh.crowd, crowd);
  __syncthreads();
}

// spread gives put the first want of n pairs, at least as many, each with its place, or reports false where too many share a
// bin. Every thread calls it; want is at least 1.
template <int T, class Source, class Results>
__device__ bool spread(const Source& src, unsigned n, unsigned want, Spread& sh, const Results& out) {
  clear<T>(sh);
  Division d = bounds<T>(src, n, want, sh);
  for (;;) {
    src.template each<1>(n, [&](Pair p) {
      const unsigned key = (unsigned)(p >> 32);
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
  src.template each<1>(n, [&](Pair p) {
    const unsigned key = (unsigned)(p >> 32), bin = d.bin(key);
    if (key >= d.low && bin <= last) sh.placed[atomicAdd(&sh.bins[bin], 1u)] = p;
  });
  __syncthreads();
  for (unsigned i = threadIdx.x; i < end; i += T) {
    const Pair mine = sh.placed[i];
    const auto name = out.name(mine); // on its way
    const unsigned bin = d.bin((unsigned)(mine >> 32)), to = sh.bins[bin];
    unsigned place = bin ? sh.bins[bin - 1] : 0;
    for (unsigned j = place; j < to; j++) place += sh.placed[j] > mine; // j starts where the bin does
    if (place < want) out.put(place, mine, name);
  }
  return true;
}

}  // namespace selection
