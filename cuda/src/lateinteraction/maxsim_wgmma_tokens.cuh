// The consumers of MaxSim whose products have tokens of documents as rows and up to 128 query tokens as columns. For
// few query rows: none of a product's 64 rows is wasted, maxima of tiles combine element by element, and lanes
// meet once a document only. Two warpgroups take tiles of 128 tokens in turn, or, where accumulators do not
// suffice for that, one half of every tile each; or one takes them all, where three blocks share a multiprocessor.
#pragma once
#include "lateinteraction/maxsim_wgmma_roles.cuh"

namespace maxsim {

template <class E, class F, class Args> struct TokenConsumer {
  static constexpr int N = F::kRows;
  static constexpr bool Scaled = F::kScaled;
  static constexpr int kBlocks = F::kBlocks; // of 64 tokens, that a warpgroup multiplies of a tile

  const Operands<Args>& p;
  Shared<F>& s;
  Layout<F> l;
  Count<kQueueLog> queue;
  Count<F::kRingLog> ring;
  Cycle token;
  int loads = 0; // of the query buffer
  int warp = uniformWarp(), lane = threadIdx.x % kLanes;
  // The thread's tokens are those at row and 8 below, of each block.
  int row = (kBlocks == 1 ? warp : warp % 4) * 16 + lane / 4;
  int turn = warp / 4;            // 0: the next tile is this warpgroup's
  float m[N / 4];                 // maxima of columns 8g + 2(lane%4) and the next: 2g and 2g+1
  bool plain = true;              // query factors follow the maximum: the summer applies them

  __device__ __forceinline__ void run() {
    float acc[kBlocks][N / 2];
#pragma unroll
    for (int i = 0; i < kBlocks * N / 2; i++) acc[i / (N / 2)][i % (N / 2)] = 0.0f;
    for (;;) {
      barrierWait(sharedAddress(&s.queued[queue.slot()]), queue.parity());
      const Segment g = s.queue[queue.slot()];
      took(s, queue.slot());
      queue.step();
      if (g.j0 < 0) return;
      if (g.fresh) {
        if (loads > 0) release(s.queryEmpty[0]);
        barrierWait(sharedAddress(&s.queryFull[0]), loads & 1);
        loads++;
      }
      if constexpr (Scaled) plain = plainFactors((const float*)p.a.query_scale + g.row0, g.rows);
      segment(acc, g);
    }
  }

  // release is one arrival for the warp, after all its lanes have done.
  __device__ __forceinline__ void release(unsigned long long& barrier) {
    __syncwarp();
    if (lane == 0) barrierArrive(sharedAddress(&barrier));
  }

  __device__ __forceinline__ void segment(float (&acc)[kBlocks][N / 2], const Segment& g) {
    const unsigned long long columns = matrixDescriptor(l.query(0, 0));
    int j = g.j0, t = tileStart<Scaled>(g.t0);
    int first = j, ends = endsFrom(g, j), later = endsFrom(g, j + kLanes); // ends of documents [first, first+32), one a lane, and of the next
    int end = __shfl_sync(kAllLanes, ends, 0);
    clear();
    do { // at least once: empty documents are handed over without a tile
      const int stop = min(t + kTile, g.t1);
      Tokens k;
      bool mine = t < stop;
      if (F::kTurns == 2 && mine) mine = turn == 0, turn ^= 1;
      if (mine)
        multiply(acc, columns, g, k, t, stop);
      else if (t < stop)
        pass();
      for (int from = Scaled ? max(t, g.t0) : t;;) { // the documents of the tile
        if (mine) take(acc, k, t, from, min(end, stop));
        if (end > stop) break;
        from = max(from, end);
        handOver();
        if (++j == g.j1) break;
        if (j - first == kLanes) first = j, ends = later, later = endsFrom(g, j + kLanes);
        end = __shfl_sync(kAllLanes, ends, j - first);
      }
      t += kTile;
    } while (t < g.t1);
  }

  // Tokens is what applies to the thread's tokens of a tile.
  struct Tokens {
    bool live[2 * kBlocks];
  };

  // pass steps over a tile of the other warpgroup. Where its slots may become this one's, it waits and releases, so that
  // neither warpgroup is ever a phase off.
  __device__ __forceinline__ void pass() {
    if (l.owned) {
      token.step(l.slots, l.spans);
      return;
    }
#pragma unroll 1
    for (int k = 0; k < l.spans; k++) {
      barrierWait(sharedAddress(&s.full[token.slot]), token.parity);
      release(s.empty[token.slot]);
      token.step(l.slots);
    }
  }

  static __device__ __forceinline__ bool inside(int t, int from, int to) { return t >= from && t < to; }

  // Lane i has the end of document j+i, inside the segment.
  __device__ __forceinline__ int endsFrom(const Segment& g, int j) const {
    int i = j + lane + 1;
    return i >= g.j1 ? g.t1 : min(p.doc().at(i), g.t1);
  }

  // multiply runs over the spans of K. A slot is released when its products are done, which is known when those
  // of the next one have been issued.
  __device__ __forceinline__ void multiply(float (&acc)[kBlocks][N / 2], unsigned long long columns, const Segment& g, Tokens& tokens, int t, int stop) {
    const unsigned char* mask = (const unsigned char*)p.a.doc_mask;
    if (mask) {
#pragma unroll
      for (int i = 0; i < 2 * kBlocks; i++) {
        const int u = t + i / 2 * 64 + i % 2 * 8 + row;
        tokens.live[i] = u < stop && mask[u] != 0;
      }
    }
    int last = 0;
#pragma unroll
    for (int b = 0; b < kBlocks; b++) productsHold(acc[b]);
#pragma unroll 1
    for (int k = 0; k < l.spans; k++) {
      barrierWait(sharedAddress(&s.full[token.slot]), token.parity);
      const unsigned long long rows = matrixDescriptor(l.token(token.slot) + (kBlocks == 1 ? warp / 4 * kBox : 0));
      const int steps = kBlocks == 1 || k < l.spans - 1 ? 4 : l.steps; // products with the zeros behind a row cost as much as others
      if (steps == 4)
        span<4>(acc, rows, columns, k);
      else if (steps == 3)
        span<3>(acc, rows, columns, k);
      else
        span<2>(acc, rows, columns, k);
      columns += N * kSpan >> 4;
      if (k > 0) {
        productsWait<1>();
        release(s.empty[last]);
      }
      last = token.slot;
      token.step(l.slots);
    }
    float scale[2 * kBlocks];
    if constexpr (Scaled) {
#pragma unroll
      for (int i = 0; i < 2 * kBlocks; i++) scale[i] = s.scale[last][i / 2 * 64 + i % 2 * 8 + row];
    }
    productsWait<0>();
#pragma unroll
    for (int b = 0; b < kBlocks; b++) productsHold(acc[b]);
    release(s.empty[last]);
    if constexpr (Scaled) {
#pragma unroll
      for (int b = 0; b < kBlocks; b++)
#pragma unroll
        for (int i = 0; i < N / 2; i++) acc[b][i] *= scale[2 * b + i / 2 % 2];
      if (!plain) weigh(acc, g);
    }
  }

  // span is the products of one span of K, the first Steps * 32 bytes of it.
  template <int Steps>
  __device__ __forceinline__ void span(float (&acc)[kBlocks][N / 2], unsigned long long rows, unsigned long long columns, int k) {
    productsBegin();
#pragma unroll
    for (int b = 0; b < kBlocks; b++)
#pragma unroll
      for (int i = 0; i < Steps; i++) {
        const int add = i > 0 || k > 0;
        if constexpr (N == 128)
          E::product128(acc[b], rows + i * 2, columns + i * 2, add);
        else
          E::template product<N>(acc[b], (unsigned)rows + (b * (kBox >> 4) + i * 2), (unsigned)columns + i * 2, add);
      }
    productsCommit();
  }

  // weigh multiplies by the query factors where they may not follow the maximum. It is rare: the loads stay one after
  // the other, so that they take no registers from the common path.
  __device__ __forceinline__ void weigh(float (&acc)[kBlocks][N / 2], const Segment& g) {
#pragma unroll
    for (int i = 0; i < N / 4; i++) {
      const int c = i / 2 * 8 + lane % 4 * 2 + i % 2;
      float f = 1.0f;
      if (c < g.rows) asm volatile("ld.global.f32 %0, [%1];" : "=f"(f) : "l"((const float*)p.a.query_scale + g.row0 + c) : "memory");
#pragma unroll
      for (int b = 0; b < kBlocks; b++) acc[b][i / 2 * 4 + i % 2] *= f, acc[b][i / 2 * 4 + i % 2 + 2] *= f;
    }
  }

  // take folds the tokens [from, to) of the tile at token t into the maxima. Where a document begins or ends inside a
  // block, it does so inside the 16 tokens of one warp; the others have all of theirs or none.
  __device__ __forceinline__ void take(const float (&acc)[kBlocks][N / 2], const Tokens& k, int t, int from, int to) {
    const bool mask = p.a.doc_mask;
    if (kBlocks == 1) t += warp / 4 * 64;
    if (from <= t && t + kBlocks * 64 <= to && !mask) {
#pragma unroll
      for (int b = 0; b < kBlocks; b++) foldAll(acc[b]);
      return;
    }
    constexpr int kWidth = kBlocks == 1 ? 64 : 16; // of what a warp looks at
    if (kWidth == 16) t += warp % 4 * 16;
    const int r = t + (kWidth == 16 ? 0 : warp % 4 * 16) + lane / 4;
#pragma unroll
    for (int b = 0; b < kBlocks; b++) {
      const int t0 = t + b * 64, t1 = t0 + kWidth;
      if (from <= t0 && t1 <= to && !mask) {
        foldAll(acc[b]);
      } else if (max(from, t0) < min(to, t1)) {
        const bool live0 = mask ? k.live[2 * b] : true, live1 = mask ? k.live[2 * b + 1] : true;
        fold(acc[b], live0 && inside(r + b * 64, from, to), live1 && inside(r + b * 64 + 8, from, to));
      }
    }
  }

  __device__ __forceinline__ void foldAll(const float (&acc)[N / 2]) {
#pragma unroll
    for (int i = 0; i < N / 4; i++) {
      const float *v = acc + i / 2 * 4 + i % 2; // of both tokens
      m[i] = maxNaN(m[i], maxNaN(v[0], v[2]));
    }
  }

  // fold takes those of the thread's two tokens that are live.
  __device__ __forceinline__ void fold(const float (&acc)[N / 2], bool live0, bool live1) {
#pragma unroll
    for (int i = 0; i < N / 4; i++) {
      const float *v = acc + i / 2 * 4 + i % 2;
      m[i] = maxNaN(m[i], maxNaN(live0 ? v[0] : negativeInfinity(), live1 ? v[2] : negativeInfinity()));
    }
  }

  // halve takes the maxima of lanes whose numbers differ in one bit; each keeps one half of 2H columns.
  template <int H> __device__ __forceinline__ void halve(int bit) {
    const bool up = lane & bit;
#pragma unroll
    for (int i = 0; i < H; i++) {
      const float give = up ? m[i] : m[i + H], keep = up ? m[i + H] : m[i];
      m[i] = maxNaN(keep, __shfl_xor_sync(kAllLanes, give, bit));
    }
  }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < N / 4; i++) m[i] = negativeInfinity();
  }

  // column is the query row whose maximum the lane has then, in m[i].
  __device__ __forceinline__ int column(int i) const {
    int k = (lane >> 4 & 1) * (N / 8) + (lane >> 3 & 1) * (N / 16) + (lane >> 2 & 1) * (N / 32) + i;
    return 8 * (k >> 1) + 2 * (lane & 3) + (k & 1);
  }

  // handOver passes the maxima of a finished document to the summer and starts the next document.
  __device__ __forceinline__ void handOver() {
    halve<N / 8>(16), halve<N / 16>(8), halve<N / 32>(4);
    barrierWait(sharedAddress(&s.spent[ring.slot()]), ring.parity() ^ 1);
#pragma unroll
    for (int i = 0; i < N / 32; i++) s.maxima[ring.slot()][warp][padded(column(i))] = m[i];
    handed<F>(ring.slot());
    ring.step();
    clear();
  }
};

}  // namespace maxsim
