// plaid_candidates: per query the distinct allowed documents in the lists of its cells, ascending, then -1; how many; and the
// bitmap of the cells.
//
// Axes tq, p, nq, k, l, w, kw, c. Cell i32 [tq,p], QueryOff i64 [nq+1], ListOff i64 [k+1], ListDoc i32 [l], Allowed i32 [w] or
// absent, Live i32 [nq,kw] or absent, Candidate i32 [nq,c], Count i64 [nq]. Bit j%32 of word j/32 stands for number j.
// Stages, each a grid (any, min(nq, any)) that strides over its work:
//   mark    512 threads. A query's cells fall to a power of two of parts by their words of the bitmap, so that a part sees all
//           copies of its cells, marks the lists of each once in a bitmap of its own in shared memory, and knows the words of
//           Live that are its. Documents beyond what fits there are another span of the same part.
//   count   256 threads, more than 1024 words of documents only: joins the parts' bitmaps and counts tiles of 256 words
//   write   256 threads: a block sums what stands before its tile and writes the tile's documents through shared memory, and
//           its share of the -1 beyond the last. Few words it joins and counts itself.
// Only bits and integers: no order of threads shows. Nothing need be clear before. Scratch, for words = ceil(documents/32)
// rounded up to 4, tiles = ceil(words/256): u32 documents [nq][parts][words], u32 counts [nq][tiles]. Shared memory: 2,052
// bytes beside the dynamic in mark, 32,864 bytes in write. Requires sm_80.
//
// dynamic: plaid_candidates_bitmap_mark 81920
#include "common/early.cuh"
#include "plaid/plaid_candidates.cuh"

namespace {

using namespace plaid;

constexpr int kThreads = 256, kWarps = kThreads / kLanes;
constexpr int kTile = kThreads; // words
constexpr int kMarkThreads = 512, kMarkWarps = kMarkThreads / kLanes;

// cuda/plaid_candidates.go says the same.
constexpr int kSpan = 16384;      // words of documents in shared memory
constexpr int kLiveWords = 4096;  // words of live cells there
constexpr int kFewWords = 1024;   // up to here every block of write joins and counts all words itself
constexpr int kParts = 16, kAllParts = 256; // most parts of a query, and of all queries if they are fewer

struct Maps {
  long long words, pitch, tiles, cells;
  int parts;
  unsigned *documents, *counts;

  __device__ __forceinline__ explicit Maps(const plaid_candidates_args& a)
      : words((a.documents + 31) / 32), pitch((words + 3) & ~3ll), tiles(max((words + kTile - 1) / kTile, 1ll)), cells((a.k + 31) / 32), parts(kParts) {
    while (parts > 1 && parts * a.nq > kAllParts) parts /= 2;
    documents = (unsigned*)a.scratch;
    counts = documents + a.nq * parts * pitch;
  }
  __device__ __forceinline__ bool few() const { return words <= kFewWords; }
  __device__ __forceinline__ unsigned* of(long long q, int part) const { return documents + (q * parts + part) * pitch; }
};

// Marks is what a block of mark has in shared memory beside its bitmaps.
struct Marks {
  int cells[kMarkThreads]; // that are new
  unsigned count;
};

// markCells sets the live bits of the part's cells in the words [from, from+n) of those it has, and marks the lists of each.
// The threads have passed a barrier since the bitmaps were cleared.
__device__ void markCells(const plaid_candidates_args& a, const Maps& m, Span t, int part, long long from, long long n, unsigned* live, unsigned* bits,
                          long long first, long long words, Marks& sh) {
  const int* cell = (const int*)a.cell;
  for (long long base = t.lo * a.p; base < t.hi * a.p; base += kMarkThreads) { // the same for the block
    if (threadIdx.x == 0) sh.count = 0;
    __syncthreads();
    const long long at = base + threadIdx.x;
    const int c = at < t.hi * a.p ? cell[at] : -1;
    if (c < -1 || c >= a.k) {
      raiseFault(a.status, a.tag, 1, 0, at);
    } else if (c >= 0 && (c / 32 & (m.parts - 1)) == part) {
      const long long w = c / 32 / m.parts - from;
      if (w >= 0 && w < n && !(atomicOr(live + w, 1u << (c % 32)) >> (c % 32) & 1)) sh.cells[atomicAdd(&sh.count, 1u)] = c;
    }
    __syncthreads();
    for (unsigned i = threadIdx.x / kLanes; i < sh.count; i += kMarkWarps)
      markList(a, bits, first, words, segment((const long long*)a.list_off, sh.cells[i], a.l));
    __syncthreads(); // the count is written again
  }
}

__device__ void mark(const plaid_candidates_args& a) {
  extern __shared__ __align__(16) unsigned char dynamic[];
  __shared__ Marks sh;
  const Maps m(a);
  unsigned *bits = (unsigned*)dynamic, *live = bits + min(m.pitch, (long long)kSpan);
  const long long spans = max((m.words + kSpan - 1) / kSpan, 1ll), block = (long long)blockIdx.y * gridDim.x + blockIdx.x;
  for (long long q = blockIdx.y; q < a.nq; q += gridDim.y) {
    const Span t = segment((const long long*)a.query_off, q, a.tq);
    for (long long work = blockIdx.x; work < spans * m.parts; work += gridDim.x) {
      const int part = (int)(work & (m.parts - 1));
      const long long first = work / m.parts * kSpan, words = min(m.pitch - first, (long long)kSpan);
      const long long own = (m.cells - part + m.parts - 1) / m.parts; // words of live cells: part, part+parts, ...
      for (long long i = threadIdx.x; i < words; i += kMarkThreads) bits[i] = 0;
      for (long long from = 0; from < own; from += kLiveWords) {
        const long long n = min(own - from, (long long)kLiveWords);
        for (long long i = threadIdx.x; i < n; i += kMarkThreads) live[i] = 0;
        __syncthreads();
        markCells(a, m, t, part, from, n, live, bits, first, words, sh);
        if (a.live && first == 0)
          for (long long i = threadIdx.x; i < n; i += kMarkThreads) ((unsigned*)a.live)[q * m.cells + (from + i) * m.parts + part] = live[i];
        __syncthreads(); // the live bits are cleared again
      }
      __syncthreads(); // a part without cells comes here without a barrier
      uint4* to = (uint4*)(m.of(q, part) + first);
      for (long long i = threadIdx.x; i < words / 4; i += kMarkThreads) to[i] = ((const uint4*)bits)[i];
      __syncthreads(); // the bits are cleared again
    }
  }
  const long long step = (long long)gridDim.x * gridDim.y * kMarkThreads, thread = block * kMarkThreads + threadIdx.x;
  checkOffsets((const long long*)a.query_off, a.nq, a.tq, 1, a.status, a.tag, thread, step);
  checkOffsets((const long long*)a.list_off, a.k, a.l, 2, a.status, a.tag, thread, step);
}

// word is a word of documents that are in a list of one of the first parts.
__device__ __forceinline__ unsigned word(const Maps& m, long long q, long long i, int parts) {
  if (i >= m.words) return 0;
  const unsigned* p = m.of(q, 0) + i;
  unsigned w = 0;
#pragma unroll 4
  for (int part = 0; part < parts; part++) w |= p[part * m.pitch];
  return w;
}

// allowed keeps of a word the documents that are.
__device__ __forceinline__ unsigned allowed(const plaid_candidates_args& a, const Maps& m, unsigned w, long long i) {
  return a.allowed && i < m.words ? w & ((const unsigned*)a.allowed)[i] : w;
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

// count leaves the joined words where those of the first part stood.
__device__ void count(const plaid_candidates_args& a) {
  __shared__ long long slots[kWarps];
  const Maps m(a);
  for (long long q = blockIdx.y; q < a.nq; q += gridDim.y)
    for (long long tile = blockIdx.x; tile < m.tiles; tile += gridDim.x) {
      const long long i = tile * kTile + threadIdx.x;
      const unsigned w = allowed(a, m, word(m, q, i, m.parts), i);
      if (i < m.words) m.of(q, 0)[i] = w;
      const long long n = blockSum(__popc(w), slots);
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

// sums counts the documents of the query, and those before a tile.
__device__ __forceinline__ void sums(const plaid_candidates_args& a, const Maps& m, long long q, long long tile, long long& before, long long& all) {
  before = all = 0;
  if (!m.few()) {
    for (long long i = threadIdx.x; i < m.tiles; i += kThreads) {
      const long long n = m.counts[q * m.tiles + i];
      all += n;
      if (i < tile) before += n;
    }
    return;
  }
  for (long long i = threadIdx.x; i < m.pitch / 4; i += kThreads) {
    const uint4* p = (const uint4*)m.of(q, 0) + i;
    uint4 w = {0, 0, 0, 0};
#pragma unroll 8
    for (int part = 0; part < m.parts; part++) {
      const uint4 v = p[part * (m.pitch / 4)];
      w.x |= v.x, w.y |= v.y, w.z |= v.z, w.w |= v.w;
    }
    const int n = __popc(allowed(a, m, w.x, i * 4)) + __popc(allowed(a, m, w.y, i * 4 + 1)) + __popc(allowed(a, m, w.z, i * 4 + 2)) + __popc(allowed(a, m, w.w, i * 4 + 3));
    all += n;
    if (i * 4 < tile * kTile) before += n;
  }
}

__device__ void write(const plaid_candidates_args& a) {
  __shared__ int list[kTile * 32];
  __shared__ int taken[kWarps];
  __shared__ long long slots[kWarps];
  const Maps m(a);
  for (long long q = blockIdx.y; q < a.nq; q += gridDim.y) {
    int* row = (int*)a.candidate + q * a.c;
    for (long long tile = blockIdx.x; tile < m.tiles; tile += gridDim.x) {
      const long long i = tile * kTile + threadIdx.x;
      const unsigned w = m.few() ? allowed(a, m, word(m, q, i, m.parts), i) : word(m, q, i, 1);
      long long before, all;
      sums(a, m, q, tile, before, all);
      before = blockSum(before, slots), all = blockSum(all, slots);
      writeTile(w, tile, row + before, taken, list);
      fill(row, all, a.c, tile * kThreads + threadIdx.x, m.tiles * kThreads);
      if (tile == 0 && threadIdx.x == 0) ((long long*)a.count)[q] = all;
    }
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kMarkThreads, 2) plaid_candidates_bitmap_mark(const __grid_constant__ plaid_candidates_args a) {
  awaitEarlier();
  letNext();
  mark(a);
}
extern "C" __global__ void __launch_bounds__(kThreads) plaid_candidates_bitmap_count(const __grid_constant__ plaid_candidates_args a) {
  awaitEarlier();
  letNext();
  count(a);
}
extern "C" __global__ void __launch_bounds__(kThreads) plaid_candidates_bitmap_write(const __grid_constant__ plaid_candidates_args a) {
  awaitEarlier();
  letNext();
  write(a);
}
