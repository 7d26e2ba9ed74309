// The loop that the block-wide MaxSim bodies share: all warps of a block walk its work together and meet at block
// barriers. A body D, derived from Blocks, says how a tile is loaded and multiplied:
//
//	begin(row0, rows)              before the tiles of a segment
//	copyNext(slot, t, span, t1)    start the copies of the next span of the next tile, and commit a group
//	multiply(slot, t, span, t1)    the products of a tile; calls copyNext once a span
//	fold(c0, c1, t, t1, begin, slot)  take columns [c0, c1) of the tile at token t, whose last slot is slot
//	reset()                        no maxima
//	leave(b)                       write the warp's maxima to buffer b
#pragma once
#include "common/async.cuh"
#include "common/status.cuh"
#include "lateinteraction/maxsim_columns.cuh"
#include "lateinteraction/maxsim_sum.cuh"

namespace maxsim {

// BlockState is what the warps of a block share. Parts is the number of warps that share rows.
template <int Rows, int Parts, int Warps, bool Winner> struct BlockState {
  float value[Winner ? 1 : 2][Winner ? 1 : Parts][Rows + Rows / 32]; // maxima of a document, two buffers in turn
  Best best[Winner ? 2 : 1][Winner ? Parts : 1][Winner ? Rows : 1];  // and their tokens
  int longest[Warps];
  Work work;
  Piece piece;
  long long at; // where the next piece begins, -1 before the first
  bool more;
  int j0, j1, row0, rows; // of the segment
};

// better moves to a larger value, or to the first NaN, or from nothing; columns come in ascending order.
__device__ __forceinline__ void better(float v, int u, float& m, int& at) {
  if (at < 0 || (!(v <= m) && m == m)) m = v, at = u;
}

template <class D, int Rows, int Columns, int Parts, int Warps, int Stages, bool Winner, class Args> struct Blocks {
  static constexpr int kRows = Rows, kCols = Columns, kParts = Parts, kThreads = Warps * kLanes, kStages = Stages;
  using State = BlockState<Rows, Parts, Warps, Winner>;

  const Args& a;
  State& s;
  Ragged query, doc;
  Summer sum;
  int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  int rowBytes, spans; // of K: copies of a row
  int flushes = 0;     // documents handed over

  __device__ __forceinline__ Blocks(const Args& args, State& state, int bytes, int span)
      : a(args),
        s(state),
        query{(const long long*)args.query_off, (int)args.nq, (int)args.tq},
        doc{(const long long*)args.doc_off, (int)args.nd, (int)args.td},
        sum{query, doc, (const unsigned char*)args.query_mask, (const unsigned char*)args.doc_mask, (float*)args.score, args.empty_zero != 0},
        rowBytes((int)args.d * bytes),
        spans((rowBytes + span - 1) / span) {}

  __device__ __forceinline__ D& body() { return *static_cast<D*>(this); }

  // start finds the block's share of the work and checks the offsets, whose operand numbers it is given.
  __device__ __forceinline__ void start(int queryOff, int docOff) {
    doc.prefetch(doc.guess(blockIdx.x, gridDim.x)); // right where all queries are one group
    int longest = __reduce_max_sync(kAllLanes, longestQuery(query, threadIdx.x, kThreads));
    if (lane == 0) s.longest[warp] = longest;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int i = 1; i < Warps; i++) longest = max(longest, s.longest[i]);
      s.work = {query, doc}, s.at = -1;
      s.work.cut(longest, kRows);
    }
    __syncthreads();
    const int thread = blockIdx.x * kThreads + threadIdx.x, threads = gridDim.x * kThreads;
    checkOffsets(query.off, a.nq, a.tq, queryOff, a.status, a.tag, thread, threads);
    checkOffsets(doc.off, a.nd, a.td, docOff, a.status, a.tag, thread, threads);
  }

  // copyRows starts the copies of Span bytes, from byte0, of N rows, of which the first rows exist; other bytes are
  // zeros. 16-byte chunk c of row r goes to place c^(r%8).
  template <int N, int Span> __device__ __forceinline__ void copyRows(unsigned to, const unsigned char* from, int rows, int byte0) const {
    constexpr int kChunks = Span / 16;
    // A thread copies one chunk of every kStep-th row; kStep is a multiple of 8, so its place in the row stays.
    constexpr int kStep = kThreads / kChunks;
    const int r = threadIdx.x / kChunks, chunk = threadIdx.x % kChunks, byte = byte0 + chunk * 16;
    const bool inside = byte < rowBytes;
    const unsigned char* at = from + (long long)r * rowBytes + byte;
    to += r * Span + ((chunk ^ (r & 7)) << 4);
#pragma unroll
    for (int i = 0; i < N / kStep; i++, at += (long long)kStep * rowBytes) {
      const bool live = inside && r + i * kStep < rows;
      copyAsync16(to + i * kStep * Span, live ? at : from, live);
    }
  }

  // run walks the block's pieces and cuts them into segments: one, or, where a query does not fit the tile, one for
  // each document and chunk of rows. Their bounds stay in shared memory, since registers are short; warp 0 writes
  // them between two barriers.
  __device__ __forceinline__ void run() {
    if (Winner) clearSpare(s.work);
    for (;;) {
      if (warp == 0) nextPiece();
      __syncthreads();
      if (!s.more) return;
      const bool whole = s.piece.row1 - s.piece.row0 <= kRows;
      const int j1 = whole ? min(s.piece.j0 + 1, s.piece.j1) : s.piece.j1;
      for (int j = s.piece.j0, t0 = s.piece.t0; j < j1; j++) {
        const int t1 = whole ? s.piece.t1 : max(t0, doc.at(j + 1));
        int r = s.piece.row0;
        do {
          if (threadIdx.x == 0) s.j0 = j, s.j1 = whole ? s.piece.j1 : j + 1, s.row0 = r, s.rows = min(kRows, s.piece.row1 - r);
          __syncthreads();
          segment(t0, s.rows > 0 ? t1 : t0);
          r += kRows;
        } while (r < s.piece.row1);
        t0 = t1;
      }
      __syncthreads(); // the piece has been read
    }
  }

  __device__ __forceinline__ void nextPiece() {
    Pieces<false> pieces(s.work, kRows);
    if (s.at >= 0) pieces.at = s.at;
    Piece p;
    bool more = pieces.next(p);
    __syncwarp(); // all lanes have read at
    if (lane == 0) {
      if (more) s.piece = p;
      s.more = more, s.at = pieces.at;
    }
  }

  // Rows that belong to no query have no winner.
  __device__ __forceinline__ void clearSpare(const Work& work) const {
    int* winner = (int*)a.winner;
    long long nd = doc.n, head = work.row0 * nd, tail = work.row1 * nd, all = query.axis * nd;
    for (long long i = (long long)blockIdx.x * kThreads + threadIdx.x; i < head + all - tail; i += (long long)gridDim.x * kThreads)
      winner[i < head ? i : i - head + tail] = -1;
  }

  __device__ __forceinline__ void segment(int t0, int t1) {
    if (t0 < t1) body().begin(s.row0, s.rows);
    int issued = t0, span = 0, slot = 0; // the next copy, the slot of the next span
#pragma unroll
    for (int i = 0; i < kStages - 1; i++) body().copyNext(i, issued, span, t1);
    int j = s.j0, first = j - kLanes, ends = 0, begin = t0, t = t0;
    body().reset();
    do { // at least once: empty documents are handed over without a tile
      if (t < t1) body().multiply(slot, issued, span, t, t1);
      take(j, first, ends, begin, t, t1, slot == 0 ? kStages - 1 : slot - 1);
      t += kCols;
    } while (t < t1);
    copyWait<0>();
    __syncthreads(); // the ring is free for the next segment
  }

  // take folds a tile's columns document by document and hands over those that end in it. slot is the tile's last.
  __device__ __forceinline__ void take(int& j, int& first, int& ends, int& begin, int t, int t1, int slot) {
    const int stop = min(t + kCols, t1);
    for (int from = t; j < s.j1;) {
      if (j - first == kLanes) {
        first = j;
        int i = j + lane + 1;
        ends = i >= s.j1 ? t1 : min(doc.at(i), t1); // lane i has the end of document first+i
      }
      const int end = __shfl_sync(kAllLanes, ends, j - first), to = min(end, stop);
      if (from < to) body().fold(from - t, to - t, t, t1, begin, slot);
      if (end > stop) break;
      from = max(from, to);
      handOver(j);
      begin = from;
      j++;
    }
  }

  // handOver leaves the maxima of a finished document in shared memory; one warp in turn adds them up while the
  // others go on. Two buffers in turn: the one written here was read before the barrier of the last call.
  __device__ __forceinline__ void handOver(int j) {
    const int b = flushes & 1;
    body().leave(b);
    __syncthreads();
    if constexpr (Winner) {
      for (int r = threadIdx.x; r < s.rows; r += kThreads) {
        bool live = !sum.queryMask || sum.queryMask[s.row0 + r];
        ((int*)a.winner)[(long long)(s.row0 + r) * doc.n + j] = live ? bestOf(b, r).index() : -1;
      }
      if (warp == flushes % Warps) sum.add(s.piece.q0, s.piece.q1, s.row0, s.rows, j, [&](int r) { return bestOf(b, r).value(); });
    } else if (warp == flushes % Warps) {
      sum.add(s.piece.q0, s.piece.q1, s.row0, s.rows, j, [&](int r) {
        float m = s.value[b][0][padded(r)];
#pragma unroll
        for (int i = 1; i < kParts; i++) m = maxNaN(m, s.value[b][i][padded(r)]);
        return m;
      });
    }
    flushes++;
    body().reset();
  }

  __device__ __forceinline__ Best bestOf(int b, int r) const {
    Best x = s.best[b][0][r];
#pragma unroll
    for (int i = 1; i < kParts; i++) x.take(s.best[b][Winner ? i : 0][r]);
    return x;
  }
};

}  // namespace maxsim
