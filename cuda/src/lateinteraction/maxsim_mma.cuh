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
#include "lateinteraction/maxsim_blocks.cuh"

namespace maxsim {

constexpr int kMmaWarps = 4, kMmaThreads = kMmaWarps * kLanes;

// Element of the matrix products: what maxsim_*_mma.cu defines.
//	kBytes, kScaled, widen, mma

// mmaShared is the dynamic shared memory of a form in bytes.
template <bool Scaled, int KS, int MW> constexpr int kMmaStages = MW == 1 ? 3 : 4;
template <bool Scaled, int KS, int MW> // a multiple of 256, the largest row
constexpr int kMmaStage = (KS > 0 ? 0 : MW * 32 * 128) + (MW == 1 ? 64 : 32) * (KS > 0 ? KS * 32 : 128) + (Scaled ? 256 : 0);

template <class E, int KS, int MW, bool Winner, class Args> struct Mma;
template <class E, int KS, int MW, bool Winner, class Args>
using MmaBlocks = Blocks<Mma<E, KS, MW, Winner, Args>, MW * 32, MW == 1 ? 64 : 32, kMmaWarps / MW, kMmaWarps, kMmaStages<E::kScaled, KS, MW>, Winner, Args>;

template <class E, int KS, int MW, bool Winner, class Args> struct Mma : MmaBlocks<E, KS, MW, Winner, Args> {
  using B = MmaBlocks<E, KS, MW, Winner, Args>;
  using B::a, B::s, B::lane, B::warp, B::kRows, B::kCols, B::kStages, B::rowBytes, B::spans;
  static constexpr bool kResident = KS > 0;
  static constexpr int kSteps = kResident ? KS : 4; // products of 32 bytes in a span
  static constexpr int kSpan = kSteps * 32, kStage = kMmaStage<E::kScaled, KS, MW>;
  static constexpr int kTiles = kCols / B::kParts / 8; // 8-column groups of a warp

  float (*norms)[kCols]; // [warp], shared: inverse norms of the warp's columns
  unsigned ring;         // shared address of the stages
  bool factors;          // similarities carry factors

  unsigned q[kResident ? 2 : 1][kResident ? KS : 1][4]; // query fragments of two 16-row blocks
  float acc[2][kTiles][4];
  float up[2], low[2]; // factors of rows lane/4 and lane/4+8 of each block
  float m0[2], m1[2];  // maxima of those rows
  int u0[2], u1[2];    // and their tokens, with Winner

  __device__ __forceinline__ Mma(const Args& args, typename B::State& state, float (*norms)[kCols], unsigned ring, bool normalize)
      : B(args, state, E::kBytes, kSpan), norms(norms), ring(ring), factors(E::kScaled || normalize) {}

  __device__ __forceinline__ int firstRow() const { return MW == 1 ? 0 : warp * 32; }
  __device__ __forceinline__ int firstColumn() const { return MW == 1 ? warp * 16 : 0; }

  __device__ __forceinline__ void reset() {
#pragma unroll
    for (int m = 0; m < 2; m++) m0[m] = m1[m] = negativeInfinity(), u0[m] = u1[m] = -1;
  }

  __device__ __forceinline__ void begin(int row0, int rows) {
    if (kResident) loadQuery(row0, rows);
    if (factors) rowFactors(row0, rows);
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
        B::template copyRows<kRows, kSpan>(to, (const unsigned char*)a.query + (long long)s.row0 * rowBytes, s.rows, span * kSpan);
        to += kRows * kSpan;
      }
      B::template copyRows<kCols, kSpan>(to, (const unsigned char*)a.doc + (long long)t * rowBytes, t1 - t, span * kSpan);
      if constexpr (E::kScaled) {
        int c = threadIdx.x;
        if (c < kCols) copyAsync4(to + kCols * kSpan + c * 4, (const float*)a.doc_scale + (t + c < t1 ? t + c : t), t + c < t1);
      }
      if (++span == spans) span = 0, t += kCols;
    }
    copyCommit();
  }

  // multiply fills acc with the products of a tile; slot moves on by the tile's spans.
  __device__ __forceinline__ void multiply(int& slot, int& issued, int& span, int, int t1) {
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
        if (lane < kTiles * 8) norms[warp][lane] = rsqrtf(fmaxf(part, 1e-12f));
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
    for (int c = 0; c < kSpan / 16; c++) {
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
    return norms[warp];
  }

  // fold takes columns [c0, c1) of the tile at token t of a document that begins at token begin.
  __device__ __forceinline__ void fold(int c0, int c1, int t, int t1, int begin, int slot) {
    const unsigned char* mask = (const unsigned char*)a.doc_mask;
    const int column = firstColumn(), offset = t + column - begin;
    unsigned word = columnWord(c0 - column, c1 - column, 0);
    if (mask) word &= maskWord(mask, t + column, t1, 0);
    const float* scale = columnFactors(slot);
    const unsigned words[1] = {word};
#pragma unroll
    for (int m = 0; m < 2; m++) {
      float flat[kTiles * 4];
#pragma unroll
      for (int i = 0; i < kTiles * 4; i++) flat[i] = acc[m][i / 4][i % 4];
      if constexpr (Winner)
        foldWinner(flat, word, offset, scale, m);
      else if (E::kScaled || factors)
        foldFragment<true>(flat, words, scale, up[m], low[m], m0[m], m1[m]);
      else
        foldFragment<false>(flat, words, nullptr, 1.0f, 1.0f, m0[m], m1[m]);
    }
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

  // leave writes the maxima of the warp's rows, complete over its columns.
  __device__ __forceinline__ void leave(int b) {
    const int part = MW == 1 ? warp : 0;
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
  }
};

// tiles is the kernel. kQueryOff and kDocOff are the operand numbers of the offsets.
template <class E, int KS, int MW, bool Winner, int kQueryOff, int kDocOff, class Args>
__device__ __forceinline__ void tiles(const Args& a, bool normalize) {
  using M = Mma<E, KS, MW, Winner, Args>;
  extern __shared__ __align__(256) unsigned char dynamic[];
  __shared__ typename M::State s;
  __shared__ float norms[kMmaWarps][M::kCols];
  M m(a, s, norms, sharedAddress(dynamic), normalize);
  m.start(kQueryOff, kDocOff);
  m.run();
}

}  // namespace maxsim
