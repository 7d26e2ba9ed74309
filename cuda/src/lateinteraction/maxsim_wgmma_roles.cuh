// What the two forms of MaxSim on Hopper's warpgroup products share: memory, the feeder of the copy engine, and
// the hand-over of maxima. maxsim_wgmma.cuh describes the kernel.
//
// Dynamic shared memory, from a multiple of 1024 bytes: the query buffers, then as many slots of 16 KiB as fit (at most
// kSlots), the token ring. Up to 17 KiB of static memory.
#pragma once
#include "common/hopper.cuh"
#include "common/status.cuh"
#include "lateinteraction/maxsim_columns.cuh"
#include "lateinteraction/maxsim_sum.cuh"

namespace maxsim {

constexpr int kTile = 128;       // tokens of a tile
constexpr int kSpan = 128;       // bytes of K in a slot: the swizzle's span
constexpr int kBox = 64 * kSpan; // bytes of a copied box: 64 rows or tokens
constexpr int kSlot = 2 * kBox;
constexpr int kSlots = 13;       // 208 KiB of the 227 a block may have
constexpr int kQueueLog = 2, kQueue = 1 << kQueueLog; // segments ahead of the slowest reader
constexpr int kAhead = 64 << 10; // bytes of documents that a block brings to the second-level cache while it looks for its work

// A Form says which operand the rows of a product are, and for how many query rows:
//
//	kRows      query rows of a tile
//	kGroups    consumer warpgroups
//	kTurns     2: warpgroups take tiles in turn; 1: all take a part of each
//	kBlocks    of 64 tokens that a warpgroup multiplies of a tile, where tokens are the rows
//	kParts     maxima handed over for each query row, to be joined
//	kRingLog   log2 of the documents whose maxima are in flight
//	kScaled    tokens have factors
template <int WG, bool Scaled> struct QueryRows {
  static constexpr int kRows = WG * 64, kGroups = WG, kTurns = 1, kParts = 1, kRingLog = 2;
  static constexpr bool kScaled = Scaled;
};

template <int N, bool Scaled> struct TokenRows {
  static constexpr int kRows = N, kGroups = 2, kTurns = N > (Scaled ? 32 : 64) ? 1 : 2, kBlocks = kTurns, kParts = 8, kRingLog = N > 64 ? 1 : 2;
  static constexpr bool kScaled = Scaled;
};

// OneGroup is for launches of three blocks a multiprocessor: no warpgroup steps over tiles of another.
template <int N, bool Scaled> struct OneGroup {
  static constexpr int kRows = N, kGroups = 1, kTurns = 1, kBlocks = 2, kParts = 4, kRingLog = 1;
  static constexpr bool kScaled = Scaled;
};

// tileStart is where the first tile of a segment starts: with factors at a multiple of 4 tokens, since the copy
// engine takes no start inside 16 bytes. Tokens before the segment are never folded.
template <bool Scaled> __device__ __forceinline__ int tileStart(int t0) { return Scaled ? t0 & ~3 : t0; }

// Segment is a stretch of work: documents [j0, j1) on tokens [t0, t1) against rows [row0, row0+rows).
struct Segment {
  int j0, j1, t0, t1;
  int row0, rows, q0, q1;
  int fresh, id, head, tail; // fresh: the query buffer changes
};

template <class F> struct Shared {
  static constexpr int kRing = 1 << F::kRingLog;
  unsigned long long full[kSlots], empty[kSlots], queryFull[2], queryEmpty[2];
  unsigned long long queued[kQueue], taken[kQueue], spent[kRing];
  Segment queue[kQueue];
  float maxima[kRing][F::kParts][F::kRows + F::kRows / 32]; // rows padded
  alignas(128) float scale[F::kScaled ? kSlots : 1][kTile];
  int longest[F::kGroups * 4 + 4]; // longest query, by warp
};

// Maxima of a document are written by all consumers and read by one warp. A named barrier orders the two, at which
// consumers do not wait; barrier 0 is __syncthreads'.
template <class F> constexpr int kHandThreads = F::kGroups * 128 + kLanes;
template <class F> __device__ __forceinline__ void handed(int slot) {
  __syncwarp();
  asm volatile("barrier.cta.arrive.aligned %0, %1;" ::"r"(1 + slot), "n"(kHandThreads<F>) : "memory");
}
template <class F> __device__ __forceinline__ void awaitHanded(int slot) {
  __syncwarp();
  asm volatile("barrier.cta.sync.aligned %0, %1;" ::"r"(1 + slot), "n"(kHandThreads<F>) : "memory");
}

// took says that this lane has read the segment of a place of the queue: each does for what it read.
template <class F> __device__ __forceinline__ void took(Shared<F>& s, int slot) { barrierArrive(sharedAddress(&s.taken[slot])); }

// uniformWarp is the warp's number, known to the compiler to be the same in all lanes.
__device__ __forceinline__ int uniformWarp() { return __shfl_sync(kAllLanes, (int)threadIdx.x / kLanes, 0); }

// Cycle counts uses of a ring of any size: slot and the parity of the use.
struct Cycle {
  int slot = 0;
  unsigned parity = 0;
  __device__ __forceinline__ void step(int size, int uses = 1) {
    if ((slot += uses) >= size) slot -= size, parity ^= 1;
  }
};

// Count does so for a ring of 2^Log slots in one register.
template <int Log> struct Count {
  unsigned uses = 0;
  __device__ __forceinline__ int slot() const { return uses & ((1 << Log) - 1); }
  __device__ __forceinline__ unsigned parity() const { return uses >> Log & 1; }
  __device__ __forceinline__ void step() { uses++; }
};

template <class F> struct Layout {
  static constexpr int kBoxRows = F::kRows < 64 ? F::kRows : 64; // rows of a copied box of the query
  int spans;   // K spans: copies of 128 bytes per row
  int steps;   // products of the last span: what is left of K in units of 32 bytes
  int buffers; // of query rows: 1 or 2
  int held;    // bytes that they take
  int slots;   // of the token ring
  bool owned;  // warpgroups take tiles in turn and the ring holds whole turns: each slot is always the same one's
  unsigned base;

  __device__ __forceinline__ explicit Layout(long long rowBytes) {
    spans = (int)((rowBytes + kSpan - 1) / kSpan);
    steps = (int)((rowBytes - 1) % kSpan) / 32 + 1;
    buffers = F::kParts == 1 && F::kRows * spans <= 512 ? 2 : 1; // the token consumers know of one
    held = buffers * F::kRows * spans * kSpan;
    slots = ((int)dynamicShared() - 1024 - held) / kSlot;
    owned = F::kTurns == 2 && slots % (2 * spans) == 0;
    extern __shared__ unsigned char dynamic[];
    base = (sharedAddress(dynamic) + 1023) & ~1023u;
  }
  // query is where a buffer's rows of a span begin: boxes, one after the other.
  __device__ __forceinline__ unsigned query(int buffer, int span) const { return base + (buffer * spans + span) * (F::kRows * kSpan); }
  __device__ __forceinline__ unsigned token(int slot) const { return base + held + slot * kSlot; }
};

// plainFactors says that multiplying by a segment's query factors keeps order: they are positive and finite. Then
// they may follow the maximum and give the same bits; others must be applied first.
__device__ __forceinline__ bool plainFactors(const float* scale, int rows) {
  bool plain = true;
  for (int r = threadIdx.x % kLanes; r < rows; r += kLanes) plain = plain && scale[r] > 0 && scale[r] <= 3.402823466e38f;
  return __all_sync(kAllLanes, plain);
}

// Operands is what the roles share beside the layout; all of it lies in the constant bank.
template <class Args> struct Operands {
  const Args& a;
  const TensorMap* queryMap;
  const TensorMap* docMap;
  const TensorMap* scaleMap;
  __device__ __forceinline__ Ragged query() const { return {(const long long*)a.query_off, (int)a.nq, (int)a.tq}; }
  __device__ __forceinline__ Ragged doc() const { return {(const long long*)a.doc_off, (int)a.nd, (int)a.td}; }
};

__device__ __forceinline__ void prefetchBytes(const void* p, long long bytes) {
  if (bytes > 0) asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(p), "r"((unsigned)bytes) : "memory");
}

// readAhead brings what the block will read first to the second-level cache before the offsets are known: they
// are expected to cover the axes, and queries to fill their tiles.
template <class F, class Args> __device__ __forceinline__ void readAhead(const Args& a, long long rowBytes) {
  const long long groups = max(1, ((int)a.tq + F::kRows - 1) / F::kRows), parts = groups * blockIdx.x;
  const int group = (int)parts / (int)gridDim.x, share = (int)((float)a.td * groups / gridDim.x) + 1;
  const float into = (float)((int)parts - group * (int)gridDim.x) / gridDim.x; // of the documents
  const long long from = (long long)(into * a.td) * rowBytes, left = min(a.td * rowBytes - from, share * rowBytes);
  const int lane = threadIdx.x % kLanes, piece = kAhead / 4;
  if (lane < 4) prefetchBytes((const char*)a.doc + from + lane * piece, min(left - lane * piece, (long long)piece));
  const long long row = (long long)group * F::kRows;
  if (lane == 4) prefetchBytes((const char*)a.query + row * rowBytes, min(a.tq - row, (long long)F::kRows) * rowBytes);
}

// readOffsetsAhead does so for the offsets that the search from a guess looks at first, and the ends.
__device__ __forceinline__ void readOffsetsAhead(const Ragged& query, const Ragged& doc, int guess) {
  const int lane = threadIdx.x % kLanes;
  const long long* p = lane < 3 ? doc.off + min(max(guess + 16 * (lane - 1), 0), doc.n) : lane == 3 ? doc.off + doc.n : doc.off;
  if (lane >= 5) p = lane == 5 ? query.off : query.off + query.n;
  if (lane < 7) asm volatile("prefetch.global.L2 [%0];" ::"l"(p) : "memory");
}

template <class F, bool Split, class Args> struct Feeder {
  const Operands<Args>& p;
  Shared<F>& s;
  Layout<F> l;
  Count<kQueueLog> queue;
  Cycle query, token;
  int lane = threadIdx.x % kLanes, element; // elements of a span
  int held = -1;                            // first row of the query buffer in use

  __device__ __forceinline__ void run(int longest) {
    Work work = {p.query(), p.doc()};
    work.cut(longest, F::kRows);
    Pieces<Split> pieces(work, F::kRows);
    Piece c;
    while (pieces.next(c)) {
      const int rows = c.row1 - c.row0;
      if (rows <= F::kRows) {
        segment(c, c.j0, c.j1, c.t0, rows > 0 ? c.t1 : c.t0, c.row0, rows);
        continue;
      }
      for (int j = c.j0, t0 = c.t0; j < c.j1; j++) {
        int t1 = max(t0, p.doc().at(j + 1));
        for (int r = c.row0; r < c.row1; r += F::kRows) segment(c, j, j + 1, t0, t1, r, min(F::kRows, c.row1 - r));
        t0 = t1;
      }
    }
    publish({-1});
  }

  __device__ __forceinline__ void publish(const Segment& g) {
    barrierWait(sharedAddress(&s.taken[queue.slot()]), queue.parity() ^ 1);
    if (lane == 0) {
      s.queue[queue.slot()] = g;
      barrierArrive(sharedAddress(&s.queued[queue.slot()]));
    }
    queue.step();
  }

  __device__ __forceinline__ void segment(const Piece& c, int j0, int j1, int t0, int t1, int row0, int rows) {
    if (j0 >= j1) return;
    const bool fresh = t0 < t1 && row0 != held;
    publish({j0, j1, t0, t1, row0, rows, c.q0, c.q1, fresh, c.id, c.head, c.tail});
    if (fresh) copyQuery(row0, rows);
    for (int t = tileStart<F::kScaled>(t0); t < t1; t += kTile)
      for (int k = 0; k < l.spans; k++) copyTokens(t, t1, k);
  }

  __device__ __forceinline__ void copyQuery(int row0, int rows) {
    constexpr int kBoxRows = Layout<F>::kBoxRows;
    const int boxes = (rows + kBoxRows - 1) / kBoxRows;
    unsigned full = sharedAddress(&s.queryFull[query.slot]);
    barrierWait(sharedAddress(&s.queryEmpty[query.slot]), query.parity ^ 1);
    if (lane == 0) {
      barrierExpect(full, boxes * l.spans * kBoxRows * kSpan);
      for (int k = 0; k < l.spans; k++)
        for (int b = 0; b < boxes; b++)
          copyBox2(l.query(query.slot, k) + b * kBoxRows * kSpan, *p.queryMap, k * element, row0 + b * kBoxRows, full);
    }
    query.step(l.buffers);
    held = row0;
  }

  // A tile of up to 64 tokens is one box; what the other half of the slot holds does not matter, since columns
  // do not mix and nobody folds those.
  __device__ __forceinline__ void copyTokens(int t, int t1, int k) {
    unsigned full = sharedAddress(&s.full[token.slot]), to = l.token(token.slot);
    const bool both = t1 - t > 64, factors = F::kScaled && k == l.spans - 1;
    barrierWait(sharedAddress(&s.empty[token.slot]), token.parity ^ 1);
    if (lane == 0) {
      barrierExpect(full, (both ? kSlot : kBox) + (factors ? kTile * 4 : 0));
      copyBox2(to, *p.docMap, k * element, t, full);
      if (both) copyBox2(to + kBox, *p.docMap, k * element, t + 64, full);
      if (factors) copyBox1(sharedAddress(s.scale[token.slot]), *p.scaleMap, t, full);
    }
    token.step(l.slots);
  }
};

}  // namespace maxsim
