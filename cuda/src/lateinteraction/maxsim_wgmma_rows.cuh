// The consumers of MaxSim whose products have query tokens as rows: 64 of them a warpgroup, 128 tokens of documents
// as columns. For many query rows.
#pragma once
#include "lateinteraction/maxsim_wgmma_roles.cuh"

namespace maxsim {

template <class E, class F, class Args> struct RowConsumer {
  static constexpr bool Scaled = F::kScaled;
  const Operands<Args>& p;
  Shared<F>& s;
  Layout<F> l;
  Count<kQueueLog> queue;
  Count<F::kRingLog> ring;
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
      took(s, queue.slot());
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
    const unsigned long long rows = matrixDescriptor(l.query((loads - 1) & (l.buffers - 1), 0) + warp / 4 * kBox);
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
      span(acc, rows + k * (F::kRows * kSpan >> 4), 1);
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
    E::product128(acc, rows, tokens, add);
#pragma unroll
    for (int i = 1; i < 4; i++) E::product128(acc, rows + 2 * i, tokens + 2 * i, 1);
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
      s.maxima[ring.slot()][0][padded(r)] = m0, s.maxima[ring.slot()][0][padded(r + 8)] = m1;
    }
    handed<F>(ring.slot());
    ring.step();
    m0 = m1 = negativeInfinity();
  }
};

}  // namespace maxsim
