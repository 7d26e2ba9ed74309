// topk for any k: every row is sorted whole, by a stable radix sort of (key, index) from the lowest byte up. Keys descend
// and the input stands in ascending index, so a stable sort by key alone gives the order.
//
// Axes and operands as topk.cu. Four passes of eight bits, each over tiles of 4096 pairs of a row:
//   topk_sort_count<p>    how often each digit occurs in each tile. grid min(b*tiles, any), block 256.
//   topk_sort_scan<p>     exclusive sums over (digit, tile) of a row: where each tile's pairs of a digit go. grid min(b, any), block 1024.
//   topk_sort_scatter<p>  moves the pairs. Pass 0 reads scores, pass 3 writes the first k values and indices. grid, block as count.
// Within a tile, a warp takes 32 neighbours at a time and finds those of equal digit by match: no atomics order anything.
// Scratch, for tiles = ceil(n/4096): u32 counts [b][256][tiles], then two buffers of u64 pairs [b][n].
// Shared memory: 8,192 bytes (count, scatter), 128 (scan). Requires sm_80.
#include "args/topk_args.h"
#include "common/rank.cuh"
#include "selection/live.cuh"

namespace {

// Key in the upper half, index in the lower.
using Entry = unsigned long long;

constexpr int kLanes = 32, kThreads = 256, kWarps = kThreads / kLanes;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kItems = 16; // of a thread
constexpr int kTile = kThreads * kItems;
constexpr int kDigits = 256;
constexpr int kScanThreads = 1024, kScanItems = 8;

struct Scratch {
  long long tiles;
  unsigned* counts;
  Entry* buffers;
  long long elements;

  __device__ __forceinline__ explicit Scratch(const topk_args& a) : tiles((a.n + kTile - 1) / kTile), elements(a.b * a.n) {
    counts = (unsigned*)a.scratch;
    buffers = (Entry*)(counts + a.b * kDigits * tiles);
  }
  __device__ __forceinline__ unsigned* rowCounts(long long row) const { return counts + row * kDigits * tiles; }
  __device__ __forceinline__ Entry* buffer(int which, const topk_args& a, long long row) const { return buffers + which * elements + row * a.n; }
};

// entry is element i of a row as pass P finds it.
template <int P> __device__ __forceinline__ Entry entry(const topk_args& a, const Scratch& s, long long row, long long i) {
  if (P == 0) return (Entry)~rankKey(selection::scoreRow(a, row)[i]) << 32 | (unsigned)i; // ascending in ~key
  return s.buffer((P + 1) % 2, a, row)[i];
}

template <int P> __device__ __forceinline__ unsigned digit(Entry e) { return (unsigned)(e >> (32 + 8 * P)) % kDigits; }

// peers are the lanes with this lane's digit; idle lanes match one another only.
__device__ __forceinline__ unsigned peers(unsigned digit, bool live) { return __match_any_sync(kAllLanes, live ? digit : (unsigned)kDigits); }

// first is where lane 0 of this warp stands in its tile: a warp's items are neighbours, so that ranks follow the order.
__device__ __forceinline__ long long warpFirst(long long tile) { return tile * kTile + threadIdx.x / kLanes * (kLanes * kItems); }

template <int P> __device__ void count(const topk_args& a) {
  __shared__ unsigned seen[kWarps][kDigits];
  const Scratch s(a);
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  for (long long t = blockIdx.x; t < a.b * s.tiles; t += gridDim.x) {
    long long row = t / s.tiles, tile = t % s.tiles, live = selection::liveScores(a, row), first = warpFirst(tile);
    for (int d = lane; d < kDigits; d += kLanes) seen[warp][d] = 0;
    __syncwarp();
    for (int j = 0; j < kItems; j++) {
      long long i = first + j * kLanes + lane;
      bool in = i < live;
      unsigned d = in ? digit<P>(entry<P>(a, s, row, i)) : 0, same = peers(d, in);
      if (in && lane == __ffs(same) - 1) seen[warp][d] += __popc(same);
      __syncwarp();
    }
    __syncthreads();
    unsigned sum = 0;
    for (int w = 0; w < kWarps; w++) sum += seen[w][threadIdx.x];
    s.rowCounts(row)[threadIdx.x * s.tiles + tile] = sum;
    __syncthreads(); // seen is cleared next
  }
}

__device__ void scan(const topk_args& a) {
  __shared__ unsigned warps[kScanThreads / kLanes];
  const Scratch s(a);
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  const long long n = kDigits * s.tiles;
  for (long long row = blockIdx.x; row < a.b; row += gridDim.x) {
    unsigned* c = s.rowCounts(row);
    unsigned carry = 0;
    for (long long base = 0; base < n; base += kScanThreads * kScanItems) {
      long long first = base + (long long)threadIdx.x * kScanItems;
      unsigned v[kScanItems], sum = 0;
#pragma unroll
      for (int i = 0; i < kScanItems; i++) {
        v[i] = first + i < n ? c[first + i] : 0;
        sum += v[i];
      }
      unsigned through = sum;
#pragma unroll
      for (int o = 1; o < kLanes; o *= 2) {
        unsigned u = __shfl_up_sync(kAllLanes, through, o);
        if (lane >= o) through += u;
      }
      if (lane == kLanes - 1) warps[warp] = through;
      __syncthreads();
      unsigned before = carry + through - sum;
      for (int w = 0; w < kScanThreads / kLanes; w++) {
        if (w < warp) before += warps[w];
        carry += warps[w];
      }
#pragma unroll
      for (int i = 0; i < kScanItems; i++) {
        if (first + i < n) c[first + i] = before;
        before += v[i];
      }
      __syncthreads(); // warps is written again
    }
  }
}

// place is where pass P puts an entry.
template <int P> __device__ __forceinline__ void place(const topk_args& a, const Scratch& s, long long row, long long at, Entry e) {
  if (P < 3)
    s.buffer(P % 2, a, row)[at] = e;
  else if (at < a.k)
    selection::write(a, row, at, (unsigned)e, selection::scoreRow(a, row));
}

template <int P> __device__ void scatter(const topk_args& a) {
  __shared__ unsigned seen[kWarps][kDigits];
  const Scratch s(a);
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  const unsigned below = (1u << lane) - 1;
  for (long long t = blockIdx.x; t < a.b * s.tiles; t += gridDim.x) {
    long long row = t / s.tiles, tile = t % s.tiles, live = selection::liveScores(a, row), first = warpFirst(tile);
    for (int d = lane; d < kDigits; d += kLanes) seen[warp][d] = 0;
    __syncwarp();
    Entry e[kItems];
    unsigned short rank[kItems]; // among the warp's entries of that digit
#pragma unroll
    for (int j = 0; j < kItems; j++) {
      long long i = first + j * kLanes + lane;
      bool in = i < live;
      e[j] = in ? entry<P>(a, s, row, i) : 0;
      unsigned d = digit<P>(e[j]), same = peers(d, in), before = in ? seen[warp][d] : 0;
      __syncwarp(); // all have read before one adds
      rank[j] = (unsigned short)(before + __popc(same & below));
      if (in && lane == __ffs(same) - 1) seen[warp][d] = before + __popc(same);
      __syncwarp();
    }
    __syncthreads();
    unsigned at = s.rowCounts(row)[threadIdx.x * s.tiles + tile]; // thread d turns counts of digit d into places
    for (int w = 0; w < kWarps; w++) {
      unsigned c = seen[w][threadIdx.x];
      seen[w][threadIdx.x] = at;
      at += c;
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kItems; j++) {
      long long i = first + j * kLanes + lane;
      if (i < live)
        place<P>(a, s, row, (long long)seen[warp][digit<P>(e[j])] + rank[j], e[j]);
      else if (P == 3 && i < a.k)
        selection::write(a, row, i, -1, nullptr);
    }
    __syncthreads(); // seen is cleared next
  }
}

}  // namespace

#define PASS(p)                                                                                                                  \
  extern "C" __global__ void __launch_bounds__(kThreads) topk_sort_count##p(const __grid_constant__ topk_args a) { count<p>(a); } \
  extern "C" __global__ void __launch_bounds__(kScanThreads) topk_sort_scan##p(const __grid_constant__ topk_args a) { scan(a); }  \
  extern "C" __global__ void __launch_bounds__(kThreads) topk_sort_scatter##p(const __grid_constant__ topk_args a) { scatter<p>(a); }

PASS(0)
PASS(1)
PASS(2)
PASS(3)
