// plaid_candidates, variant cluster: one kernel, in which eight blocks share a query and read each other's bitmaps.
//
// Operands as in plaid_candidates.cu; up to 131,072 documents and 1,048,576 cells. A block takes the cells whose word of the
// bitmap has its rank, marks the documents of each list once in a bitmap of all documents, and writes its words of Live. It
// then joins an eighth of the words from the bitmaps of all eight, a sixteenth of those a warp, tells the others how many
// documents they hold, and writes them, a byte of a word to a lane, and its share of the -1 beyond the last.
// Geometry: 512 threads, grid (8, any above nq), clusters of 8 in x, which the kernel states; those beyond nq check offsets.
// Dynamic shared memory: a word for 32 documents and one for 256 cells, rounded up, at most 32,768 bytes, beside 12,400. No
// scratch. Requires sm_90a.
//
// targets: sm_90a
// dynamic: plaid_candidates_cluster 32768
#include "common/cluster.cuh"
#include "common/early.cuh"
#include "plaid/plaid_candidates.cuh"

namespace {

using namespace plaid;

constexpr int kThreads = 512, kWarps = kThreads / kLanes;
constexpr int kRanks = 8;

// Shared is what a block has beside its bitmaps.
struct Shared {
  Span list[kThreads]; // of cells that are new
  unsigned count;
  alignas(16) unsigned totals[kRanks]; // documents of the words of each rank, written by them; apart from what is read beside it
  alignas(16) unsigned warps[kWarps];  // documents of the words of each warp
  unsigned char document[kWarps][kLanes * 8];
};

// Block is a block's part of a query.
struct Block {
  const plaid_candidates_args& a;
  Shared& sh;
  unsigned *bits, *live; // documents, and the part's cells
  int words, cells;      // of both
  int first, mine;       // the words of documents that the warp joins and writes
  int rank, lane, warp;

  __device__ __forceinline__ void clear() {
    for (int i = threadIdx.x; i < words; i += kThreads) bits[i] = 0;
    for (int i = threadIdx.x; i < cells; i += kThreads) live[i] = 0;
    if (threadIdx.x == 0) sh.count = 0;
  }

  // mark sets the bits of the part's cells and of the documents in their lists. A barrier is behind clear.
  __device__ __forceinline__ void mark(long long lo, long long hi) {
    const int* cell = (const int*)a.cell;
    for (long long base = lo; base < hi; base += kThreads) { // the same for the block
      if (base > lo) {
        __syncthreads(); // the lists have been read
        if (threadIdx.x == 0) sh.count = 0;
        __syncthreads();
      }
      const long long at = base + threadIdx.x;
      const int c = at < hi ? cell[at] : -1;
      if (c < -1 || c >= a.k) {
        if (rank == 0) raiseFault(a.status, a.tag, 1, 0, at);
      } else if (c >= 0 && c / 32 % kRanks == rank) {
        const Span list = segment((const long long*)a.list_off, c, a.l); // read before it is known that the cell is new
        if (!(atomicOr(live + c / 32 / kRanks, 1u << (c % 32)) >> (c % 32) & 1)) sh.list[atomicAdd(&sh.count, 1u)] = list;
      }
      __syncthreads();
      const int n = sh.count;
      for (int i = warp; i < n; i += kWarps) markList(a, bits, 0, words, sh.list[i]);
    }
  }

  // join is the lane's word of the warp's, joined from all blocks; it tells all ranks how many documents the block's words hold.
  // The marks of all blocks are visible before, and the totals after a barrier of the cluster. allow is what of the word may be
  // returned.
  __device__ __forceinline__ unsigned join(unsigned allow) {
    unsigned w = 0;
    if (lane < mine)
#pragma unroll
      for (int r = 0; r < kRanks; r++) w |= loadCluster(inBlock(bits + first + lane, r));
    w &= allow;
    const unsigned n = __reduce_add_sync(kAllLanes, (unsigned)__popc(w));
    if (lane == 0) sh.warps[warp] = n;
    __syncthreads();
    if (threadIdx.x < kRanks) {
      unsigned all = 0;
#pragma unroll
      for (int i = 0; i < kWarps; i++) all += sh.warps[i];
      storeCluster(inBlock(&sh.totals[rank], threadIdx.x), all);
    }
    return w;
  }

  // write unpacks the warp's words to row+at, eight of them at a time.
  __device__ __forceinline__ void write(unsigned joined, int* row, unsigned at) {
    for (int i = 0; i < mine; i += 8) {
      const unsigned w = __shfl_sync(kAllLanes, joined, i + lane / 4);
      unsigned b = i + lane / 4 < mine ? w >> lane % 4 * 8 & 0xff : 0;
      int through = __popc(b);
#pragma unroll
      for (int o = 1; o < kLanes; o *= 2) {
        const int u = __shfl_up_sync(kAllLanes, through, o);
        if (lane >= o) through += u;
      }
      int to = through - __popc(b);
      for (; b; b &= b - 1) sh.document[warp][to++] = lane * 8 + __ffs(b) - 1;
      const int n = __shfl_sync(kAllLanes, through, kLanes - 1), base = (first + i) * 32;
      __syncwarp();
      for (int j = lane; j < n; j += kLanes) row[at + j] = base + sh.document[warp][j];
      __syncwarp(); // the documents are written again
      at += n;
    }
  }

  // run takes query q. What is independent of the other blocks stands between the halves of the barriers.
  __device__ __forceinline__ void run(long long q) {
    const Span tokens = segment((const long long*)a.query_off, q, a.tq);
    __syncthreads(); // all is clear
    mark(tokens.lo * a.p, tokens.hi * a.p);
    clusterArrive();
    const unsigned allow = a.allowed && lane < mine ? ((const unsigned*)a.allowed)[first + lane] : ~0u;
    if (a.live) {
      unsigned* to = (unsigned*)a.live + q * ((a.k + 31) / 32) + rank;
      for (int i = threadIdx.x; i < cells; i += kThreads) to[i * kRanks] = live[i];
    }
    clusterWait();
    const unsigned joined = join(allow);
    clusterArrive();
    clusterWait();
    unsigned at = 0, all = 0;
#pragma unroll
    for (int r = 0; r < kRanks; r++) {
      all += sh.totals[r];
      if (r < rank) at += sh.totals[r];
    }
    for (int i = 0; i < warp; i++) at += sh.warps[i];
    int* row = (int*)a.candidate + q * a.c;
    write(joined, row, at);
    fill(row, all, a.c, rank * kThreads + threadIdx.x, kRanks * kThreads);
    if (rank == 0 && threadIdx.x == 0) ((long long*)a.count)[q] = all;
  }
};

}  // namespace

extern "C" __global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(kThreads, 2) plaid_candidates_cluster(const __grid_constant__ plaid_candidates_args a) {
  extern __shared__ __align__(16) unsigned char dynamic[];
  __shared__ Shared sh;
  const int words = (int)((a.documents + 31) / 32), cells = (int)((a.k + 31) / 32), rank = blockIdx.x, warp = threadIdx.x / kLanes;
  const int share = (words + kRanks * kWarps - 1) / (kRanks * kWarps), first = (rank * kWarps + warp) * share; // of a warp
  unsigned* bits = (unsigned*)dynamic;
  Block b = {a, sh, bits, bits + words, words, (cells - rank + kRanks - 1) / kRanks, first, max(min(share, words - first), 0),
             rank, (int)threadIdx.x % kLanes, warp};
  b.clear();
  awaitEarlier();
  letNext();
  if (blockIdx.y < a.nq) {
    b.run(blockIdx.y);
  } else { // the whole cluster
    const long long thread = ((blockIdx.y - a.nq) * kRanks + rank) * kThreads + threadIdx.x, threads = (gridDim.y - a.nq) * kRanks * kThreads;
    checkOffsets((const long long*)a.query_off, a.nq, a.tq, 1, a.status, a.tag, thread, threads);
    checkOffsets((const long long*)a.list_off, a.k, a.l, 2, a.status, a.tag, thread, threads);
  }
}
