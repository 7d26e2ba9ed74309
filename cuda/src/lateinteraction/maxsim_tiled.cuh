// MaxSim of f32 tokens on the ordinary units, register-tiled. A block of eight warps multiplies kRows query rows
// with tiles of 256 tokens; a thread holds 8 rows x N tokens:
//
//	RW = 4: 32 rows, two warps side by side, N = 4
//	RW = 8: 64 rows, N = 8
//
// Every product is one ascending chain of fused multiply-adds from +0, so its bits are those of the plain body.
// Lane l of column warp c has tokens 32*(i*CW+c)+l, i < N: a warp reads 32 rows of one 16-byte chunk at once, at
// places c^(r%8), and its own eight query rows by broadcast.
#pragma once
#include "lateinteraction/maxsim_blocks.cuh"

namespace maxsim {

constexpr int kTiledWarps = 8, kTiledThreads = kTiledWarps * kLanes, kTiledColumns = 256, kTiledStages = 2;
template <int RW> constexpr int kTiledStage = (RW * 8 + kTiledColumns) * 128;

template <int RW, bool Winner, class Args> struct Tiled;
template <int RW, bool Winner, class Args>
using TiledBlocks = Blocks<Tiled<RW, Winner, Args>, RW * 8, kTiledColumns, kTiledWarps / RW, kTiledWarps, kTiledStages, Winner, Args>;

template <int RW, bool Winner, class Args> struct Tiled : TiledBlocks<RW, Winner, Args> {
  using B = TiledBlocks<RW, Winner, Args>;
  using B::a, B::s, B::lane, B::warp, B::kRows, B::kCols, B::kStages, B::rowBytes, B::spans;
  static constexpr int kSpan = 128, kStage = kTiledStage<RW>;
  static constexpr int CW = kTiledWarps / RW, N = kCols / kLanes / CW;

  unsigned ring;   // shared address of the stages
  float acc[8][N]; // similarities
  float m[8];      // maxima of the warp's rows, over the lane's tokens
  int u[8];        // and their tokens, with Winner

  __device__ __forceinline__ Tiled(const Args& args, typename B::State& state, unsigned ring) : B(args, state, 4, kSpan), ring(ring) {}

  __device__ __forceinline__ int firstRow() const { return warp / CW * 8; }
  __device__ __forceinline__ int columnWarp() const { return warp % CW; }

  __device__ __forceinline__ void begin(int, int) {}

  __device__ __forceinline__ void reset() {
#pragma unroll
    for (int r = 0; r < 8; r++) m[r] = negativeInfinity(), u[r] = -1;
  }

  __device__ __forceinline__ void copyNext(int slot, int& t, int& span, int t1) {
    if (t < t1) {
      unsigned to = ring + slot * kStage;
      B::template copyRows<kRows, kSpan>(to, (const unsigned char*)a.query + (long long)s.row0 * rowBytes, s.rows, span * kSpan);
      B::template copyRows<kCols, kSpan>(to + kRows * kSpan, (const unsigned char*)a.doc + (long long)t * rowBytes, t1 - t, span * kSpan);
      if (++span == spans) span = 0, t += kCols;
    }
    copyCommit();
  }

  __device__ __forceinline__ void multiply(int& slot, int& issued, int& span, int t, int t1) {
#pragma unroll
    for (int r = 0; r < 8; r++)
#pragma unroll
      for (int i = 0; i < N; i++) acc[r][i] = 0.0f;
#pragma unroll 1
    for (int k = 0; k < spans; k++) {
      copyWait<kStages - 2>();
      __syncthreads(); // the slot is full for all, and the one before it is free
      copyNext(slot == 0 ? kStages - 1 : slot - 1, issued, span, t1);
      const unsigned rowsAt = ring + slot * kStage + firstRow() * kSpan;
      const unsigned tokensAt = ring + slot * kStage + (kRows + columnWarp() * kLanes + lane) * kSpan;
      if (t1 - t > kCols / 2)
        chunks<N>(rowsAt, tokensAt);
      else
        chunks<N / 2>(rowsAt, tokensAt); // the last tile's upper half has no tokens
      if (++slot == kStages) slot = 0;
    }
  }

  template <int Some> __device__ __forceinline__ void chunks(unsigned rowsAt, unsigned tokensAt) {
#pragma unroll 2
    for (int c = 0; c < kSpan / 16; c++) {
      float q[8][4];
#pragma unroll
      for (int r = 0; r < 8; r++) load(q[r], rowsAt + r * kSpan + ((c ^ r) << 4));
#pragma unroll
      for (int i = 0; i < Some; i++) {
        float d[4];
        load(d, tokensAt + i * CW * kLanes * kSpan + ((c ^ (lane & 7)) << 4));
#pragma unroll
        for (int k = 0; k < 4; k++)
#pragma unroll
          for (int r = 0; r < 8; r++) acc[r][i] = fmaf(q[r][k], d[k], acc[r][i]);
      }
    }
  }

  static __device__ __forceinline__ void load(float (&v)[4], unsigned at) {
    uint4 w = loadShared16(at);
    v[0] = __uint_as_float(w.x), v[1] = __uint_as_float(w.y), v[2] = __uint_as_float(w.z), v[3] = __uint_as_float(w.w);
  }

  // fold takes columns [c0, c1) of the tile at token t of a document that begins at token begin.
  __device__ __forceinline__ void fold(int c0, int c1, int t, int t1, int begin, int) {
    const unsigned char* mask = (const unsigned char*)a.doc_mask;
#pragma unroll
    for (int i = 0; i < N; i++) {
      const int word = i * CW + columnWarp();
      unsigned bits = columnWord(c0, c1, word);
      if (bits == 0) continue;
      if (mask) bits &= maskWord(mask, t, t1, word);
      const bool in = bits >> lane & 1;
      if constexpr (Winner) {
        if (!in) continue;
#pragma unroll
        for (int r = 0; r < 8; r++) better(acc[r][i], t - begin + 32 * word + lane, m[r], u[r]);
      } else {
#pragma unroll
        for (int r = 0; r < 8; r++) m[r] = maxNaN(m[r], in ? acc[r][i] : negativeInfinity());
      }
    }
  }

  // leave writes the maxima of the warp's rows, complete over its columns.
  __device__ __forceinline__ void leave(int b) {
#pragma unroll
    for (int r = 0; r < 8; r++) {
      if constexpr (Winner) {
        Best x = u[r] < 0 ? Best::none() : Best::of(m[r], u[r]);
#pragma unroll
        for (int o = 1; o < kLanes; o *= 2) x.take({__shfl_xor_sync(kAllLanes, x.word, o)});
        if (lane == 0) s.best[b][columnWarp()][firstRow() + r] = x;
      } else {
#pragma unroll
        for (int o = 1; o < kLanes; o *= 2) m[r] = maxNaN(m[r], __shfl_xor_sync(kAllLanes, m[r], o));
        if (lane == 0) s.value[b][columnWarp()][padded(firstRow() + r)] = m[r];
      }
    }
  }
};

// tiled is the kernel. kQueryOff and kDocOff are the operand numbers of the offsets.
template <int RW, bool Winner, int kQueryOff, int kDocOff, class Args> __device__ __forceinline__ void tiled(const Args& a) {
  using T = Tiled<RW, Winner, Args>;
  extern __shared__ __align__(256) unsigned char dynamic[];
  __shared__ typename T::State s;
  T t(a, s, sharedAddress(dynamic));
  t.start(kQueryOff, kDocOff);
  t.run();
}

}  // namespace maxsim
