// MaxSim on warp-level matrix products (mma.sync, sm_80 and later). A block of four warps multiplies kRows query
// rows with tiles of kCols tokens, streamed through a ring of asynchronous copies:
//
//	MW = 1: 32 rows; each warp takes 16 of a tile's 64 tokens
//	MW = 4: 128 rows, 32 a warp; each warp takes all 32 tokens of a tile
//
// KS > 0: a row of tokens is at most 32*KS bytes and its query fragments stay in registers. KS = 0: any length;
// spans of 128 bytes of both sides pass through the ring. Winner: the index of the maximum is kept beside it.
//
// Similarities may carry a factor per row and per column: scales of e4m3 tokens, or inverse norms.
//
// Shared memory rows are 128 or 256 bytes, 16-byte chunk c of row r at place c^(r%8): copies of a row and the
// eight rows of a fragment meet different banks.
#pragma once
#include "common/async.cuh"
#include "common/element.cuh"
#include "common/status.cuh"
#include "lateinteraction/maxsim_columns.cuh"
#include "lateinteraction/maxsim_sum.cuh"

namespace maxsim {

constexpr int kMmaWarps = 4, kMmaThreads = kMmaWarps * kLanes;

// Element of the matrix products: what maxsim_*_mma.cu defines.
//	kBytes, kScaled, widen, mma

// mmaShared is the dynamic shared memory of a form in bytes.
template <bool Scaled, int KS, int MW> constexpr int kMmaStages = MW == 1 ? 3 : 4;
template <bool Scaled, int KS, int MW> // a multiple of 256, the largest row
constexpr int kMmaStage = (KS > 0 ? 0 : MW * 32 * 128) + (MW == 1 ? 64 : 32) * (KS > 0 ? KS * 32 : 128) + (Scaled ? 256 : 0);

template <class E, int KS, int MW, bool Winner, class Args> struct Mma {
  static constexpr bool kResident = KS > 0;
  static constexpr int kSteps = kResident ? KS : 4; // products of 32 bytes in a span
  static constexpr int kSpan = kSteps * 32, kChunks = kSpan / 16;
  static constexpr int kRows = MW * 32, kCols = MW == 1 ? 64 : 32;
  static constexpr int kParts = kMmaWarps / MW, kTiles = kCols / kParts / 8; // warps that share rows; 8-column groups of a warp
  static constexpr int kStages = kMmaStages<E::kScaled, KS, MW>, kStage = kMmaStage<E::kScaled, KS, MW>;

  // Part is what a warp leaves for a document and row: the maximum, and its token if asked for.
  struct Parts {
    float value[Winner ? 1 : 2][Winner ? 1 : kParts][kRows + kRows / 32];
    Best best[Winner ? 2 : 1][Winner ? kParts : 1][Winner ? kRows : 1];
    float factor[kMmaWarps][kCols]; // inverse norms of a warp's columns
    int longest[kMmaWarps];
    Work work;
    Piece piece;
    long long at; // where the next piece begins, -1 before the first
    bool more;
    int j0, j1, row0, rows; // of the segment
  };

  const Args& a;
  Parts& s;
  unsigned ring; // shared address of the stages
  Ragged query, doc;
  Summer sum;
  int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  int rowBytes, spans;
  bool factors; // similarities carry factors

  unsigned q[kResident ? 2 : 1][kResident ? KS : 1][4]; // query fragments of two 16-row blocks
  float acc[2][kTiles][4];
  float up[2], low[2];         // factors of rows lane/4 and lane/4+8 of each block
  float m0[2], m1[2];          // maxima of those rows
  int u0[2], u1[2];            // and their tokens, with Winner
  int flushes = 0;             // documents handed over

  __device__ __forceinline__ int firstRow() const { return MW == 1 ? 0 : warp * 32; }
  __device__ __forceinline__ int firstColumn() const { return MW == 1 ? warp * 16 : 0; }

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
    for (long long i = (long long)blockIdx.x * kMmaThreads + threadIdx.x; i < head + all - tail; i += (long long)gridDim.x * kMmaThreads)
      winner[i < head ? i : i - head + tail] = -1;
  }

  __device__ __forceinline__ void segment(int t0, int t1) {
    if (kResident && t0 < t1) loadQuery(s.row0, s.rows);
    if (factors && t0 < t1) rowFactors(s.row0, s.rows);
    const unsigned char* mask = (const unsigned char*)a.doc_mask;
    int issued = t0, span = 0, slot = 0; // the next copy
#pragma unroll
    for (int i = 0; i < kStages - 1; i++) copyNext(i, issued, span, t1);
    int j = s.j0, first = j - kLanes, ends = 0, begin = t0, t = t0;
    reset();
    do { // at least once: empty documents are handed over without a tile
      unsigned valid = mask ? maskWord(mask, t + firstColumn(), t1, 0) : 0xffffffffu;
      if (t < t1) multiply(slot, issued, span, t1);
      take(j, first, ends, begin, t, min(t + kCols, t1), t1, valid, columnFactors(slot == 0 ? kStages - 1 : slot - 1));
      t += kCols;
    } while (t < t1);
    copyWait<0>();
    __syncthreads(); // the ring is free for the next segment
  }

  // take folds a tile's columns document by document and hands over those that end in it.
  __device__ __forceinline__ void take(int& j, int& first, int& ends, int& begin, int t, int stop, int t1, unsigned valid, const float* scale) {
    for (int from = t; j < s.j1;) {
      if (j - first == kLanes) {
        first = j;
        int i = j + lane + 1;
        ends = i >= s.j1 ? t1 : min(doc.at(i), t1); // lane i has the end of document first+i
      }
      const int end = __shfl_sync(kAllLanes, ends, j - first), to = min(end, stop);
      if (from < to) fold(valid & columnWord(from - t - firstColumn(), to - t - firstColumn(), 0), t + firstColumn() - begin, scale);
      if (end > stop) break;
      from = max(from, to);
      handOver(j);
      begin = from;
      j++;
    }
  }

  __device__ __forceinline__ void reset() {
#pragma unroll
    for (int m = 0; m < 2; m++) m0[m] = m1[m] = negativeInfinity(), u0[m] = u1[m] = -1;
  }

  // loadQuery reads the warp's 32 rows as fragments; rows and bytes beyond are zeros.
  __device__ __forceinline__ void loadQuery(int row0, int rows) {
    const unsigned char* base = (const unsigned char*)a.query;
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
      for (int k = 0; k < kSteps; k++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
          int r = firstRow() + m * 16 + lane / 4 + (i & 1) * 8, byte = k * 32 + (i >> 1) * 16 + lane % 4 * 4;
          q[m][k][i] = r < rows && byte < rowBytes ? *(const unsigned*)(base + (long long)(row0 + r) * rowBytes + byte) : 0;
        }
  }

  // copyNext starts the copies of the next span of the next tile into a slot. It commits a group even when nothing
  // is left, so that groups count stages.
  __device__ __forceinline__ void copyNext(int slot, int& t, int& span, int t1) {
    if (t < t1) {
      unsigned to = ring + slot * kStage;
      if (!kResident) {
        copyRows<kRows>(to, (const unsigned char*)a.query + (long long)s.row0 * rowBytes, s.rows, span * kSpan);
        to += kRows * kSpan;
      }
      copyRows<kCols>(to, (const unsigned char*)a.doc + (long long)t * rowBytes, t1 - t, span * kSpan);
      if constexpr (E::kScaled) {
        int c = threadIdx.x;
        if (c < kCols) copyAsync4(to + kCols * kSpan + c * 4, (const float*)a.doc_scale + (t + c < t1 ? t + c : t), t + c < t1);
      }
      if (++span == spans) span = 0, t += kCols;
    }
    copyCommit();
  }

  template <int N> __device__ __forceinline__ void copyRows(unsigned to, const unsigned char* from, int rows, int byte0) const {
    // A thread copies one chunk of every kStep-th row; kStep is a multiple of 8, so its place in the row stays.
    constexpr int kStep = kMmaThreads / kChunks;
    const int r = threadIdx.x / kChunks, chunk = threadIdx.x % kChunks, byte = byte0 + chunk * 16;
    const bool inside = byte < rowBytes;
    const unsigned char* at = from + (long long)r * rowBytes + byte;
    to += r * kSpan + ((chunk ^ (r & 7)) << 4);
#pragma unroll
    for (int i = 0; i < N / kStep; i++, at += (long long)kStep * rowBytes) {
      const bool live = inside && r + i * kStep < rows;
      copyAsync16(to + i * kStep * kSpan, live ? at : from, live);
    }
  }

  // multiply fills acc with the products of a tile; slot moves on by the tile's spans.
  __device__ __forceinline__ void multiply(int& slot, int& issued, int& span, int t1) {
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
      for (int n = 0; n < kTiles; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) acc[m][n][i] = 0.0f;
    float part = 0.0f; // of the squares of column lane's token
#pragma unroll 1
    for (int k = 0; k < (kResident ? 1 : spans); k++) {
      copyWait<kStages - 2>();
      __syncthreads(); // the slot is full for all, and the one before it is free
      copyNext(slot == 0 ? kStages - 1 : slot - 1, issued, span, t1);
      const unsigned rowsAt = ring + slot * kStage, tokensAt = rowsAt + (kResident ? 0 : kRows * kSpan);
#pragma unroll
      for (int i = 0; i < kSteps; i++) step(i, rowsAt, tokensAt);
      if constexpr (!E::kScaled)
        if (factors) part += squares(tokensAt);
      if (++slot == kStages) slot = 0;
    }
    if constexpr (!E::kScaled)
      if (factors) {
        __syncwarp(); // the tile before has been folded
        if (lane < kTiles * 8) s.factor[warp][lane] = rsqrtf(fmaxf(part, 1e-12f));
        __syncwarp();
      }
  }

  __device__ __forceinline__ void step(int k, unsigned rowsAt, unsigned tokensAt) {
    const int upper = lane >> 3 & 1, turn = lane & 7;
    unsigned b[kTiles / 2][4], r[2][4];
#pragma unroll
    for (int n = 0; n < kTiles / 2; n++) {
      int token = firstColumn() + n * 16 + (lane >> 4) * 8 + turn;
      loadMatrices4(b[n], (tokensAt + token * kSpan) ^ ((upper ^ turn) << 4) ^ k << 5); // rows are aligned to their size
    }
    if constexpr (!kResident) {
#pragma unroll
      for (int m = 0; m < 2; m++) { // matrices: rows 0-7 and 8-15 of the lower 16 bytes, then of the upper
        int row = firstRow() + m * 16 + upper * 8 + turn;
        loadMatrices4(r[m], (rowsAt + row * kSpan) ^ ((lane >> 4 ^ turn) << 4) ^ k << 5);
      }
    }
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
      for (int n = 0; n < kTiles; n++)
        E::mma(acc[m][n], kResident ? q[kResident ? m : 0][kResident ? k : 0] : r[m], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
  }

  // rowFactors finds what multiplies the warp's rows: scales, or inverse norms, a row a lane.
  __device__ __forceinline__ void rowFactors(int row0, int rows) {
    float f = 1.0f;
    int r = firstRow() + lane;
    if (r < rows) {
      if constexpr (E::kScaled) {
        f = ((const float*)a.query_scale)[row0 + r];
      } else {
        const typename E::Store* x = (const typename E::Store*)((const unsigned char*)a.query + (long long)(row0 + r) * rowBytes);
        float sum = 0.0f;
        for (int k = 0; k < (int)a.d; k++) sum = fmaf(E::widen(x[k]), E::widen(x[k]), sum);
        f = rsqrtf(fmaxf(sum, 1e-12f));
      }
    }
#pragma unroll
    for (int m = 0; m < 2; m++) {
      up[m] = __shfl_sync(kAllLanes, f, m * 16 + lane / 4);
      low[m] = __shfl_sync(kAllLanes, f, m * 16 + lane / 4 + 8);
    }
  }

  // squares is the sum of squares of a span of the warp's column lane, in ascending order, so that its bits do
  // not depend on the tile.
  __device__ __forceinline__ float squares(unsigned tokensAt) const {
    int token = firstColumn() + lane % (kTiles * 8);
    float sum = 0.0f;
    for (int c = 0; c < kChunks; c++) {
      uint4 v = loadShared16(tokensAt + token * kSpan + ((c ^ (token & 7)) << 4));
      const unsigned w[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
      for (int i = 0; i < 4; i++) {
        float x = __uint_as_float(w[i] << 16), y = __uint_as_float(w[i] & 0xffff0000u); // bf16 pairs
        sum = fmaf(x, x, sum), sum = fmaf(y, y, sum);
      }
    }
    return sum;
  }

  // columnFactors points at the factors of the warp's columns, in the slot or beside the ring.
  __device__ __forceinline__ const float* columnFactors(int slot) const {
    if constexpr (E::kScaled) {
      extern __shared__ __align__(256) unsigned char dynamic[];
      return (const float*)(dynamic + slot * kStage + kStage - 256) + firstColumn();
    }
    return s.factor[warp];
  }

  // fold takes the columns of word; offset is the tile's first column, from the start of the document.
  __device__ __forceinline__ void fold(unsigned word, int offset, const float* scale) {
    const unsigned words[1] = {word};
#pragma unroll
    for (int m = 0; m < 2; m++) {
      float flat[kTiles * 4];
#pragma unroll
      for (int i = 0; i < kTiles * 4; i++) flat[i] = acc[m][i / 4][i % 4];
      if (Winner)
        foldWinner(flat, word, offset, scale, m);
      else if (E::kScaled || factors)
        foldFragment<true>(flat, words, scale, up[m], low[m], m0[m], m1[m]);
      else
        foldFragment<false>(flat, words, nullptr, 1.0f, 1.0f, m0[m], m1[m]);
    }
  }

  // better moves to a larger value, or to the first NaN, or from nothing; columns come in ascending order.
  static __device__ __forceinline__ void better(float v, int u, float& m, int& at) {
    if (at < 0 || (!(v <= m) && m == m)) m = v, at = u;
  }

  __device__ __forceinline__ void foldWinner(const float (&v)[kTiles * 4], unsigned word, int offset, const float* scale, int m) {
    const int pair = 2 * (lane % 4);
    word >>= pair;
#pragma unroll
    for (int g = 0; g < kTiles; g++)
#pragma unroll
      for (int i = 0; i < 2; i++) {
        if (!(word >> (8 * g + i) & 1)) continue;
        float x = v[4 * g + i], y = v[4 * g + 2 + i];
        if (E::kScaled || factors) {
          float f = scale[8 * g + pair + i];
          x = x * f * up[m], y = y * f * low[m];
        }
        int u = offset + 8 * g + pair + i;
        better(x, u, m0[m], u0[m]), better(y, u, m1[m], u1[m]);
      }
  }

  // handOver leaves the maxima of a finished document in shared memory; one warp in turn adds them up while the
  // others go on. Two buffers in turn: the one written here was read before the barrier of the last call.
  __device__ __forceinline__ void handOver(int j) {
    const int b = flushes & 1, part = MW == 1 ? warp : 0;
#pragma unroll
    for (int m = 0; m < 2; m++) {
      int r = firstRow() + m * 16 + lane / 4;
      if constexpr (Winner) {
        Best x = u0[m] < 0 ? Best::none() : Best::of(m0[m], u0[m]), y = u1[m] < 0 ? Best::none() : Best::of(m1[m], u1[m]);
#pragma unroll
        for (int o = 1; o < 4; o *= 2) {
          x.take({__shfl_xor_sync(kAllLanes, x.word, o)});
          y.take({__shfl_xor_sync(kAllLanes, y.word, o)});
        }
        if (lane % 4 == 0) s.best[b][part][r] = x, s.best[b][part][r + 8] = y;
      } else {
        rowMaxima(m0[m], m1[m]);
        if (lane % 4 == 0) s.value[b][part][padded(r)] = m0[m], s.value[b][part][padded(r + 8)] = m1[m];
      }
    }
    __syncthreads();
    if constexpr (Winner) {
      for (int r = threadIdx.x; r < s.rows; r += kMmaThreads) {
        bool live = !sum.queryMask || sum.queryMask[s.row0 + r];
        ((int*)a.winner)[(long long)(s.row0 + r) * doc.n + j] = live ? bestOf(b, r).index() : -1;
      }
      if (warp == flushes % kMmaWarps) sum.add(s.piece.q0, s.piece.q1, s.row0, s.rows, j, [&](int r) { return bestOf(b, r).value(); });
    } else if (warp == flushes % kMmaWarps) {
      sum.add(s.piece.q0, s.piece.q1, s.row0, s.rows, j, [&](int r) {
        float m = s.value[b][0][padded(r)];
#pragma unroll
        for (int i = 1; i < kParts; i++) m = maxNaN(m, s.value[b][i][padded(r)]);
        return m;
      });
    }
    flushes++;
    reset();
  }

  __device__ __forceinline__ Best bestOf(int b, int r) const {
    Best x = s.best[b][0][r];
#pragma unroll
    for (int i = 1; i < kParts; i++) x.take(s.best[b][Winner ? i : 0][r]);
    return x;
  }
};

// tiles is the kernel. kQueryOff and kDocOff are the operand numbers of the offsets.
template <class E, int KS, int MW, bool Winner, int kQueryOff, int kDocOff, class Args>
__device__ __forceinline__ void tiles(const Args& a, bool normalize) {
  using M = Mma<E, KS, MW, Winner, Args>;
  extern __shared__ __align__(256) unsigned char dynamic[];
  __shared__ typename M::Parts s;
  const Ragged query = {(const long long*)a.query_off, (int)a.nq, (int)a.tq}, doc = {(const long long*)a.doc_off, (int)a.nd, (int)a.td};
  doc.prefetch();
  int longest = __reduce_max_sync(kAllLanes, longestQuery(query, threadIdx.x, kMmaThreads));
  if (threadIdx.x % kLanes == 0) s.longest[threadIdx.x / kLanes] = longest;
  __syncthreads();
  if (threadIdx.x == 0) {
    s.work = {query, doc}, s.at = -1;
    s.work.cut(max(max(s.longest[0], s.longest[1]), max(s.longest[2], s.longest[3])), M::kRows);
  }
  __syncthreads();
  checkOffsets(query.off, a.nq, a.tq, kQueryOff, a.status, a.tag, blockIdx.x * kMmaThreads + threadIdx.x, gridDim.x * kMmaThreads);
  checkOffsets(doc.off, a.nd, a.td, kDocOff, a.status, a.tag, blockIdx.x * kMmaThreads + threadIdx.x, gridDim.x * kMmaThreads);

  const Summer sum = {query, doc, (const unsigned char*)a.query_mask, (const unsigned char*)a.doc_mask, (float*)a.score, a.empty_zero != 0};
  M m{a, s, sharedAddress(dynamic), query, doc, sum};
  m.rowBytes = (int)(a.d * E::kBytes), m.spans = (m.rowBytes + M::kSpan - 1) / M::kSpan;
  m.factors = E::kScaled || normalize;
  m.run();
}

}  // namespace maxsim
