// plaid_candidates: per query the distinct allowed documents in the lists of its cells, ascending, then -1; how many; and the
// bitmap of the cells.
//
// Axes tq, p, nq, k, l, w, kw, c. Cell i32 [tq,p], QueryOff i64 [nq+1], ListOff i64 [k+1], ListDoc i32 [l], Allowed i32 [w] or
// absent, Live i32 [nq,kw] or absent, Candidate i32 [nq,c], Count i64 [nq]. Bit j%32 of word j/32 stands for number j.
// Stages, each a grid (any, min(nq, any)) of 256 threads that strides over its work:
//   clear   zeroes the bitmaps and checks the offsets
//   mark    a block takes a cell: who sets the cell's live bit sets the bits of its list's documents
//   count   a block counts a tile of 256 words of documents
//   write   a block sums the counts before its tile and writes the tile's documents through shared memory, and its share of
//           the -1 beyond the last
// Only bits and integers: no order of threads shows. Scratch, for words = ceil(documents/32), tiles = ceil(words/256): u32
// documents [nq][words], u32 counts [nq][tiles], and without Live u32 cells [nq][ceil(k/32)]. Shared memory: 32,804 bytes in
// write. Requires sm_80.
#include "args/plaid_candidates_args.h"
#include "plaid/plaid_listing.cuh"

namespace {

using namespace plaid;

constexpr int kThreads = 256, kWarps = kThreads / kLanes;
constexpr int kTile = kThreads; // words

struct Maps {
  long long words, tiles, cells;
  unsigned *documents, *counts, *live;

  __device__ __forceinline__ explicit Maps(const plaid_candidates_args& a)
      : words((a.documents + 31) / 32), tiles(max((words + kTile - 1) / kTile, 1ll)), cells((a.k + 31) / 32) {
    documents = (unsigned*)a.scratch;
    counts = documents + a.nq * words;
    live = a.live ? (unsigned*)a.live : counts + a.nq * tiles;
  }
};

__device__ void clear(const plaid_candidates_args& a) {
  const Maps m(a);
  const long long block = (long long)blockIdx.y * gridDim.x + blockIdx.x, step = (long long)gridDim.x * gridDim.y * kThreads;
  const long long first = block * kThreads + threadIdx.x;
  for (long long i = first; i < a.nq * m.words; i += step) m.documents[i] = 0;
  for (long long i = first; i < a.nq * m.cells; i += step) m.live[i] = 0;
  checkOffsets((const long long*)a.query_off, a.nq, a.tq, 1, a.status, a.tag, first, step);
  checkOffsets((const long long*)a.list_off, a.k, a.l, 2, a.status, a.tag, first, step);
}

// markList sets the bits of a list's documents.
__device__ __forceinline__ void markList(const plaid_candidates_args& a, unsigned* documents, Span list) {
  const int* doc = (const int*)a.list_doc;
#pragma unroll 4
  for (long long e = list.lo + threadIdx.x; e < list.hi; e += kThreads) {
    const int j = doc[e];
    if (j < 0 || j >= a.documents)
      raiseFault(a.status, a.tag, 2, 3, e);
    else
      atomicOr(documents + j / 32, 1u << (j % 32));
  }
}

__device__ void mark(const plaid_candidates_args& a) {
  __shared__ bool first;
  const Maps m(a);
  const int* cell = (const int*)a.cell;
  for (long long q = blockIdx.y; q < a.nq; q += gridDim.y) {
    const Span t = segment((const long long*)a.query_off, q, a.tq);
    for (long long at = t.lo * a.p + blockIdx.x; at < t.hi * a.p; at += gridDim.x) { // the same for the block
      const int c = cell[at];
      if (c < 0 || c >= a.k) {
        if (c != -1 && threadIdx.x == 0) raiseFault(a.status, a.tag, 1, 0, at);
        continue;
      }
      if (threadIdx.x == 0) first = (atomicOr(m.live + q * m.cells + c / 32, 1u << (c % 32)) >> (c % 32) & 1) == 0;
      __syncthreads();
      if (first) markList(a, m.documents + q * m.words, segment((const long long*)a.list_off, c, a.l));
      __syncthreads(); // first is written again
    }
  }
}

// word is a word of documents that are in a list and allowed.
__device__ __forceinline__ unsigned word(const plaid_candidates_args& a, const Maps& m, long long q, long long i) {
  if (i >= m.words) return 0;
  const unsigned w = m.documents[q * m.words + i];
  return a.allowed ? w & ((const unsigned*)a.allowed)[i] : w;
}

// blockSum is the sum over the threads, in all of them. Two barriers.
__device__ __forceinline__ long long blockSum(long long v, long long* slots) {
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(kAllLanes, v, o);
  if (threadIdx.x % kLanes == 0) slots[threadIdx.x / kLanes] = v;
  __syncthreads();
  v = 0;
  for (int i = 0; i < kWarps; i++) v += slots[i];
  __syncthreads(); // the slots are free again
  return v;
}

__device__ void count(const plaid_candidates_args& a) {
  __shared__ long long slots[kWarps];
  const Maps m(a);
  for (long long q = blockIdx.y; q < a.nq; q += gridDim.y)
    for (long long tile = blockIdx.x; tile < m.tiles; tile += gridDim.x) {
      const long long n = blockSum(__popc(word(a, m, q, tile * kTile + threadIdx.x)), slots);
      if (threadIdx.x == 0) m.counts[q * m.tiles + tile] = (unsigned)n;
    }
}

// writeTile unpacks a tile's documents to row, which begins at the tile's first.
__device__ __forceinline__ void writeTile(unsigned w, long long tile, int* row, int* taken, int* list) {
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  int through = __popc(w);
#pragma unroll
  for (int o = 1; o < kLanes; o *= 2) {
    const int u = __shfl_up_sync(kAllLanes, through, o);
    if (lane >= o) through += u;
  }
  if (lane == kLanes - 1) taken[warp] = through;
  __syncthreads();
  int at = through - __popc(w), all = 0;
  for (int i = 0; i < kWarps; i++) {
    if (i < warp) at += taken[i];
    all += taken[i];
  }
  const int first = (int)(tile * kTile + threadIdx.x) * 32;
  for (; w; w &= w - 1) list[at++] = first + __ffs(w) - 1;
  __syncthreads();
  for (int i = threadIdx.x; i < all; i += kThreads) row[i] = list[i];
  __syncthreads(); // list and taken are written again
}

__device__ void write(const plaid_candidates_args& a) {
  __shared__ int list[kTile * 32];
  __shared__ int taken[kWarps];
  __shared__ long long slots[kWarps];
  const Maps m(a);
  for (long long q = blockIdx.y; q < a.nq; q += gridDim.y) {
    int* row = (int*)a.candidate + q * a.c;
    for (long long tile = blockIdx.x; tile < m.tiles; tile += gridDim.x) {
      long long before = 0, all = 0;
      for (long long i = threadIdx.x; i < m.tiles; i += kThreads) {
        const long long n = m.counts[q * m.tiles + i];
        all += n;
        if (i < tile) before += n;
      }
      before = blockSum(before, slots), all = blockSum(all, slots);
      writeTile(word(a, m, q, tile * kTile + threadIdx.x), tile, row + before, taken, list);
      for (long long i = all + tile * kThreads + threadIdx.x; i < a.c; i += m.tiles * kThreads) row[i] = -1;
      if (tile == 0 && threadIdx.x == 0) ((long long*)a.count)[q] = all;
    }
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads) plaid_candidates_bitmap_clear(const __grid_constant__ plaid_candidates_args a) { clear(a); }
extern "C" __global__ void __launch_bounds__(kThreads) plaid_candidates_bitmap_mark(const __grid_constant__ plaid_candidates_args a) { mark(a); }
extern "C" __global__ void __launch_bounds__(kThreads) plaid_candidates_bitmap_count(const __grid_constant__ plaid_candidates_args a) { count(a); }
extern "C" __global__ void __launch_bounds__(kThreads) plaid_candidates_bitmap_write(const __grid_constant__ plaid_candidates_args a) { write(a); }
