// MaxSim on Hopper's warpgroup products. A block has WG consumer warpgroups of 64 query rows each, one warp that
// feeds the copy engine, and one warp that adds maxima to scores:
//
//	feeder    walks the block's work, publishes segments, copies query rows and document tokens
//	consumer  multiplies its 64 rows with tiles of 128 tokens, keeps maxima in registers, hands over a document's
//	summer    adds a document's row maxima per query and writes scores
//
// They meet only at transaction barriers: a ring of 16 KiB token slots (128 tokens x 128 bytes of K), one or two
// query buffers, a queue of segments and a ring of document maxima. A consumer's fold of one tile runs while the
// other warpgroups multiply.
//
// Shared memory: as many slots of 16 KiB, 1024-byte aligned, as the launch gives (at most kSlots), first the query
// buffers, then the token ring; up to 12 KiB of static memory.
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
constexpr int kRingLog = 2, kRing = 1 << kRingLog;    // documents whose maxima are in flight
constexpr int kQueueLog = 2, kQueue = 1 << kQueueLog; // segments ahead of the slowest reader

// tileStart is where the first tile of a segment starts: with factors at a multiple of 4 tokens, since the copy
// engine takes no start inside 16 bytes. Tokens before the segment are never folded.
template <bool Scaled> __device__ __forceinline__ int tileStart(int t0) { return Scaled ? t0 & ~3 : t0; }

// Segment is a stretch of work: documents [j0, j1) on tokens [t0, t1) against rows [row0, row0+rows).
struct Segment {
  int j0, j1, t0, t1;
  int row0, rows, q0, q1;
  int fresh, id, head, tail; // fresh: the query buffer changes
};

template <int WG, bool Scaled> struct Shared {
  unsigned long long full[kSlots], empty[kSlots], queryFull[2], queryEmpty[2];
  unsigned long long queued[kQueue], taken[kQueue], ready[kRing], spent[kRing];
  Segment queue[kQueue];
  float maxima[kRing][WG * 66]; // rows padded
  alignas(128) float scale[Scaled ? kSlots : 1][kTile];
  int longest[WG * 4 + 4]; // longest query, by warp
};

// uniformWarp is the warp's number, known to the compiler to be the same in all lanes.
__device__ __forceinline__ int uniformWarp() { return __shfl_sync(kAllLanes, (int)threadIdx.x / kLanes, 0); }

// Cycle counts uses of a ring of any size: slot and the parity of the use.
struct Cycle {
  int slot = 0;
  unsigned parity = 0;
  __device__ __forceinline__ void step(int size) {
    if (++slot == size) slot = 0, parity ^= 1;
  }
};

// Count does so for a ring of 2^Log slots in one register.
template <int Log> struct Count {
  unsigned uses = 0;
  __device__ __forceinline__ int slot() const { return uses & ((1 << Log) - 1); }
  __device__ __forceinline__ unsigned parity() const { return uses >> Log & 1; }
  __device__ __forceinline__ void step() { uses++; }
};

template <int WG> struct Layout {
  int spans;   // K spans: copies of 128 bytes per row
  int buffers; // of query rows: 1 or 2
  int held;    // slots that they take
  int slots;   // of the token ring
  unsigned base;

  __device__ __forceinline__ explicit Layout(long long rowBytes) {
    spans = (int)((rowBytes + kSpan - 1) / kSpan);
    buffers = WG > 1 && WG * spans <= 8 ? 2 : 1;
    held = (buffers * WG * spans + 1) / 2;
    slots = (int)(dynamicShared() - 1024) / kSlot - held;
    extern __shared__ unsigned char dynamic[];
    base = (sharedAddress(dynamic) + 1023) & ~1023u;
  }
  __device__ __forceinline__ unsigned query(int buffer, int wg, int span) const { return base + ((buffer * WG + wg) * spans + span) * kBox; }
  __device__ __forceinline__ unsigned token(int slot) const { return base + (held + slot) * kSlot; }
};

// Operands is what the roles share beside the layout; all of it lies in the constant bank.
template <class Args> struct Operands {
  const Args& a;
  const TensorMap* queryMap;
  const TensorMap* docMap;
  const TensorMap* scaleMap;
  __device__ __forceinline__ Ragged query() const { return {(const long long*)a.query_off, (int)a.nq, (int)a.tq}; }
  __device__ __forceinline__ Ragged doc() const { return {(const long long*)a.doc_off, (int)a.nd, (int)a.td}; }
};

template <int WG, bool Scaled, bool Split, class Args> struct Feeder {
  const Operands<Args>& p;
  Shared<WG, Scaled>& s;
  Layout<WG> l;
  Count<kQueueLog> queue;
  Cycle query, token;
  int lane = threadIdx.x % kLanes, element; // elements of a span
  int held = -1;                            // first row of the query buffer in use

  __device__ __forceinline__ void run(int longest) {
    Work work = {p.query(), p.doc()};
    work.cut(longest, WG * 64);
    Pieces<Split> pieces(work, WG * 64);
    Piece c;
    while (pieces.next(c)) {
      const int rows = c.row1 - c.row0;
      if (rows <= WG * 64) {
        segment(c, c.j0, c.j1, c.t0, rows > 0 ? c.t1 : c.t0, c.row0, rows);
        continue;
      }
      for (int j = c.j0, t0 = c.t0; j < c.j1; j++) {
        int t1 = max(t0, p.doc().at(j + 1));
        for (int r = c.row0; r < c.row1; r += WG * 64) segment(c, j, j + 1, t0, t1, r, min(WG * 64, c.row1 - r));
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
    for (int t = tileStart<Scaled>(t0); t < t1; t += kTile)
      for (int k = 0; k < l.spans; k++) copyTokens(t, t1, k);
  }

  __device__ __forceinline__ void copyQuery(int row0, int rows) {
    const int groups = (rows + 63) / 64;
    unsigned full = sharedAddress(&s.queryFull[query.slot]);
    barrierWait(sharedAddress(&s.queryEmpty[query.slot]), query.parity ^ 1);
    if (lane == 0) {
      barrierExpect(full, groups * l.spans * kBox);
      for (int w = 0; w < groups; w++)
        for (int k = 0; k < l.spans; k++) copyBox2(l.query(query.slot, w, k), *p.queryMap, k * element, row0 + w * 64, full);
    }
    query.step(l.buffers);
    held = row0;
  }

  // A tile of up to 64 tokens is one box; what the other half of the slot holds does not matter, since columns
  // do not mix and nobody folds those.
  __device__ __forceinline__ void copyTokens(int t, int t1, int k) {
    unsigned full = sharedAddress(&s.full[token.slot]), to = l.token(token.slot);
    const bool both = t1 - t > 64, factors = Scaled && k == l.spans - 1;
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

template <class E, int WG, bool Scaled, class Args> struct Consumer {
  const Operands<Args>& p;
  Shared<WG, Scaled>& s;
  Layout<WG> l;
  Count<kQueueLog> queue;
  Count<kRingLog> ring;
  Cycle token;
  int loads = 0; // of the query buffers
  int warp = uniformWarp(), lane = threadIdx.x % kLanes;
  float m0, m1;            // maxima of rows 16*(warp%4) + lane/4 and 8 below
  float up = 1, low = 1;   // factors of the rows
  bool plain = true, live; // plain: they follow the maximum; live: the warpgroup has rows

  __device__ __forceinline__ void run() {
    float acc[64];
#pragma unroll
    for (int i = 0; i < 64; i++) acc[i] = 0.0f;
    for (;;) {
      barrierWait(sharedAddress(&s.queued[queue.slot()]), queue.parity());
      const Segment g = s.queue[queue.slot()];
      release(s.taken[queue.slot()]);
      queue.step();
      if (g.j0 < 0) return;
      if (g.fresh) {
        if (loads > 0) release(s.queryEmpty[(loads - 1) & (l.buffers - 1)]);
        barrierWait(sharedAddress(&s.queryFull[loads & (l.buffers - 1)]), loads >> (l.buffers - 1) & 1);
        loads++;
      }
      live = warp / 4 * 64 < g.rows;
      if constexpr (Scaled) factors(g);
      segment(acc, g);
    }
  }

  // release is one arrival for the warp, after all its lanes have done.
  __device__ __forceinline__ void release(unsigned long long& barrier) {
    __syncwarp();
    if (lane == 0) barrierArrive(sharedAddress(&barrier));
  }

  // Multiplying by a positive finite factor keeps order, so it may follow the maximum and give the same bits;
  // other factors must be applied first.
  __device__ __forceinline__ void factors(const Segment& g) {
    const float* scale = (const float*)p.a.query_scale;
    int r = warp * 16 + lane / 4;
    up = r < g.rows ? scale[g.row0 + r] : 1.0f, low = r + 8 < g.rows ? scale[g.row0 + r + 8] : 1.0f;
    const float most = 3.402823466e38f;
    plain = __all_sync(kAllLanes, up > 0 && up <= most && low > 0 && low <= most);
  }

  __device__ __forceinline__ void segment(float (&acc)[64], const Segment& g) {
    const unsigned char* mask = (const unsigned char*)p.a.doc_mask;
    const unsigned long long rows = matrixDescriptor(l.query((loads - 1) & (l.buffers - 1), warp / 4, 0));
    int j = g.j0, t = tileStart<Scaled>(g.t0);
    int first = j - kLanes, ends = 0; // ends of documents [first, first+32), one a lane
    m0 = m1 = negativeInfinity();
    do { // at least once: empty documents are handed over without a tile
      const int stop = min(t + kTile, g.t1);
      if (t < stop && live) multiply(acc, rows);
      if (t < stop && !live) skip();
      for (int from = Scaled ? max(t, g.t0) : t;;) { // the documents of the tile
        if (j - first == kLanes) first = j, ends = endsFrom(g, j);
        const int end = __shfl_sync(kAllLanes, ends, j - first), to = min(end, stop);
        if (from < to && live) fold(acc, mask, t, from - t, to - t);
        if (end > stop) break;
        from = max(from, to);
        handOver();
        if (++j == g.j1) break;
      }
      if (Scaled && t < stop) release(s.empty[last]);
      t += kTile;
    } while (t < g.t1);
  }

  int last = 0; // token slot of the tile's last span, which holds its factors

  // Lane i has the end of document j+i, inside the segment.
  __device__ __forceinline__ int endsFrom(const Segment& g, int j) const {
    int i = j + lane + 1;
    return i >= g.j1 ? g.t1 : min(p.doc().at(i), g.t1);
  }

  // multiply runs over the spans of K. A slot is released when its products are done, which is known when those
  // of the next one have been issued.
  __device__ __forceinline__ void multiply(float (&acc)[64], unsigned long long rows) {
    productsHold(acc);
    span(acc, rows, 0);
#pragma unroll 1
    for (int k = 1; k < l.spans; k++) {
      const int before = last;
      span(acc, rows + k * (kBox >> 4), 1);
      productsWait<1>();
      release(s.empty[before]);
    }
    productsWait<0>();
    productsHold(acc);
    if (!Scaled) release(s.empty[last]);
  }

  __device__ __forceinline__ void span(float (&acc)[64], unsigned long long rows, int add) {
    barrierWait(sharedAddress(&s.full[token.slot]), token.parity);
    const unsigned long long tokens = matrixDescriptor(l.token(token.slot));
    productsBegin();
    E::product(acc, rows, tokens, add);
#pragma unroll
    for (int i = 1; i < 4; i++) E::product(acc, rows + 2 * i, tokens + 2 * i, 1);
    productsCommit();
    last = token.slot;
    token.step(l.slots);
  }

  // skip keeps a warpgroup without rows in step with the token ring: it waits, so that it never arrives twice in
  // one phase.
  __device__ __forceinline__ void skip() {
    for (int k = 0; k < l.spans; k++) {
      barrierWait(sharedAddress(&s.full[token.slot]), token.parity);
      last = token.slot;
      if (!Scaled || k < l.spans - 1) release(s.empty[last]);
      token.step(l.slots);
    }
  }

  // fold takes columns [c0, c1) of the tile at token t into the maxima.
  __device__ __forceinline__ void fold(const float (&acc)[64], const unsigned char* mask, int t, int c0, int c1) {
    const float* scale = s.scale[Scaled ? last : 0];
    if (c0 == 0 && c1 == kTile && !mask && plain) {
      foldAll<Scaled>(acc, scale, m0, m1);
      return;
    }
    unsigned words[4];
#pragma unroll
    for (int w = 0; w < 4; w++) words[w] = columnWord(c0, c1, w) & (mask ? maskWord(mask, t, t + c1, w) : 0xffffffffu);
    foldFragment<Scaled>(acc, words, scale, plain ? 1.0f : up, plain ? 1.0f : low, m0, m1);
  }

  // handOver passes the maxima of a finished document to the summer and starts the next document.
  __device__ __forceinline__ void handOver() {
    if (live) {
      rowMaxima(m0, m1);
      if (Scaled && plain) m0 *= up, m1 *= low;
    }
    barrierWait(sharedAddress(&s.spent[ring.slot()]), ring.parity() ^ 1);
    if (live && lane % 4 == 0) {
      int r = warp * 16 + lane / 4;
      s.maxima[ring.slot()][padded(r)] = m0, s.maxima[ring.slot()][padded(r + 8)] = m1;
    }
    if (lane % 4 == 0) barrierArrive(sharedAddress(&s.ready[ring.slot()])); // each for what it wrote: a checker sees no cumulativity
    ring.step();
    m0 = m1 = negativeInfinity();
  }
};

template <class Args> __device__ __forceinline__ Summer summer(const Operands<Args>& p) {
  return {p.query(), p.doc(), (const unsigned char*)p.a.query_mask, (const unsigned char*)p.a.doc_mask, (float*)p.a.score,
          p.a.empty_zero != 0};
}

template <int WG, bool Scaled, bool Split, class Args> __device__ __forceinline__ void addUp(const Operands<Args>& p, Shared<WG, Scaled>& s) {
  const Summer sum = summer(p);
  const int lane = threadIdx.x % kLanes;
  Count<kQueueLog> queue;
  Count<kRingLog> ring;
  for (;;) {
    barrierWait(sharedAddress(&s.queued[queue.slot()]), queue.parity());
    const Segment g = s.queue[queue.slot()];
    __syncwarp();
    if (lane == 0) barrierArrive(sharedAddress(&s.taken[queue.slot()]));
    queue.step();
    if (g.j0 < 0) return;
    for (int j = g.j0; j < g.j1; j++) {
      barrierWait(sharedAddress(&s.ready[ring.slot()]), ring.parity());
      const float* maxima = s.maxima[ring.slot()];
      const bool head = Split && g.head && j == g.j0, tail = Split && g.tail && j == g.j1 - 1;
      if (head || tail) {
        float* part = (float*)p.a.scratch + (2ll * g.id + (head ? 0 : 1)) * (WG * 64);
        for (int r = lane; r < g.rows; r += kLanes) part[r] = maxima[padded(r)];
      } else {
        sum.add(g.q0, g.q1, g.row0, g.rows, j, [&](int r) { return maxima[padded(r)]; });
      }
      barrierArrive(sharedAddress(&s.spent[ring.slot()])); // every lane that read
      ring.step();
    }
  }
}

// kThreads is the block's size. Four consumer warpgroups leave 96 registers a thread and need a few more: the
// feeder's warpgroup, then whole, gives up some of its own: 640 x 96 = 512 x 104 + 128 x 64 = 512 x 112 + 128 x 32.
template <int WG> constexpr int kThreads = WG * 128 + (WG == 4 ? 128 : 64);

// stream is the kernel. kQueryOff and kDocOff are the operand numbers of the offsets.
template <class E, int WG, bool Scaled, bool Split, int kQueryOff, int kDocOff, class Args>
__device__ __forceinline__ void stream(const Args& a, const TensorMap* queryMap, const TensorMap* docMap, const TensorMap* scaleMap) {
  __shared__ Shared<WG, Scaled> s;
  const Operands<Args> p = {a, queryMap, docMap, scaleMap};
  const Layout<WG> l(a.d * (long long)E::kBytes);
  const int warp = uniformWarp(), lane = threadIdx.x % kLanes;
  if (warp == WG * 4) p.doc().prefetch();
  if (warp == 0) {
    if (lane < kSlots) barrierInit(sharedAddress(&s.full[lane]), 1), barrierInit(sharedAddress(&s.empty[lane]), WG * 4);
    if (lane < 2) barrierInit(sharedAddress(&s.queryFull[lane]), 1), barrierInit(sharedAddress(&s.queryEmpty[lane]), WG * 4);
    if (lane < kQueue) barrierInit(sharedAddress(&s.queued[lane]), 1), barrierInit(sharedAddress(&s.taken[lane]), WG * 4 + 1);
    if (lane < kRing) barrierInit(sharedAddress(&s.ready[lane]), WG * 4 * kLanes / 4), barrierInit(sharedAddress(&s.spent[lane]), kLanes);
    barriersVisible();
  }
  if (threadIdx.x == WG * 128) {
    prefetchMap(*queryMap), prefetchMap(*docMap);
    if (Scaled) prefetchMap(*scaleMap);
  }
  int longest = __reduce_max_sync(kAllLanes, longestQuery(p.query(), threadIdx.x, blockDim.x));
  if (lane == 0) s.longest[warp] = longest;
  __syncthreads();

  if (warp < WG * 4) {
    if (WG == 4) registersUp<Scaled ? 112 : 104>();
    Consumer<E, WG, Scaled, Args>{p, s, l}.run();
    return;
  }
  if (WG == 4) registersDown<Scaled ? 32 : 64>();
  if (warp == WG * 4) {
    Feeder<WG, Scaled, Split, Args> f{p, s, l};
    f.element = kSpan / E::kBytes;
    f.run(__reduce_max_sync(kAllLanes, lane < (int)blockDim.x / kLanes ? s.longest[lane] : 0));
  } else if (warp == WG * 4 + 1) {
    const int first = blockIdx.x * kLanes + lane, all = gridDim.x * kLanes;
    checkOffsets(p.query().off, a.nq, a.tq, kQueryOff, a.status, a.tag, first, all);
    checkOffsets(p.doc().off, a.nd, a.td, kDocOff, a.status, a.tag, first, all);
    addUp<WG, Scaled, Split>(p, s);
  }
}

constexpr int kJoinThreads = 128;

// join completes the documents that a split launch cut: block b takes those whose first part is block b's. It has
// the split launch's grid and cuts the work as that did.
template <int Rows, class Args> __device__ __forceinline__ void join(const Args& a) {
  __shared__ float maxima[Rows + Rows / 32];
  __shared__ int longest[kJoinThreads / kLanes];
  const Operands<Args> p = {a};
  const int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  int most = __reduce_max_sync(kAllLanes, longestQuery(p.query(), threadIdx.x, kJoinThreads));
  if (lane == 0) longest[warp] = most;
  __syncthreads();
  Work work = {p.query(), p.doc()};
  work.cut(__reduce_max_sync(kAllLanes, lane < kJoinThreads / kLanes ? longest[lane] : 0), Rows);
  Pieces<true> pieces(work, Rows);
  const Summer sum = summer(p);
  const float* parts = (const float*)a.scratch;
  Piece c;
  while (pieces.next(c)) { // the same in all threads, so that the barriers are met by all
    if (!c.tail || (c.head && c.j1 - c.j0 == 1)) continue;
    const int j = c.j1 - 1, rows = c.row1 - c.row0, more = pieces.piecesTo(work.doc.at(c.j1), c.id - blockIdx.x);
    for (int r = threadIdx.x; r < rows; r += kJoinThreads) {
      float m = parts[(2ll * c.id + 1) * Rows + r];
      for (int k = 1; k <= more; k++) m = maxNaN(m, parts[2ll * (c.id + k) * Rows + r]);
      maxima[padded(r)] = m;
    }
    __syncthreads();
    if (warp == 0) sum.add(c.q0, c.q1, c.row0, rows, j, [&](int r) { return maxima[padded(r)]; });
    __syncthreads();
  }
}

}  // namespace maxsim
