// residual_maxsim in f16 where many document tokens meet few query tokens: <q, (centroid + weights) * inverse> is (<q, centroid>
// + <q, weights>) * inverse, and a token's 32 centroid scores are a quarter of the bytes of its centroid. A first kernel
// multiplies all centroids with up to eight chunks of 32 query tokens; their scores are rounded to f16 as decoded vectors would
// be. Where one would leave the range of f16, the launch is left to the body that decodes whole tokens.
#pragma once
#include "args/residual_maxsim_args.h"
#include "plaid/plaid_fixed.cuh"
#include "plaid/plaid_mma.cuh"
#include "plaid/residual_half.cuh"
#include "plaid/residual_tiles.cuh"

namespace plaid {

constexpr int kScanChunks = 8;
constexpr int kScanWarps = 4, kScanThreads = kScanWarps * kLanes;
constexpr unsigned kInfinite = 0x7c00; // exponent of an f16 that is not finite
constexpr int kScanBlocks = 1024; // most blocks of the first kernel for a chunk

// Table is the scratch: f16 scores [chunk][k][32], then a word for each block of the first kernel, not 0 where a score is too
// large.
struct Table {
  unsigned short* scores;
  int* wide;
  int blocks; // of a chunk

  __device__ __forceinline__ explicit Table(const residual_maxsim_args& a)
      : scores((unsigned short*)a.scratch), wide((int*)(scores + kScanChunks * a.k * kLanes)), blocks((int)min((a.k + 63) / 64, (long long)kScanBlocks)) {}

  // tooWide is whether the scores cannot be used. All threads of the block call it.
  __device__ __forceinline__ bool tooWide() const {
    int any = 0;
    for (int i = threadIdx.x; i < kScanChunks * blocks; i += blockDim.x) any |= wide[i];
    return __syncthreads_or(any);
  }
};

// chunksBefore counts the chunks of the queries before i; each has at least one.
__device__ __forceinline__ long long chunksBefore(const residual_maxsim_args& a, long long i) {
  long long n = 0;
  for (long long q = 0; q < i; q++) n += max((segment((const long long*)a.query_off, q, a.tq).size() + kLanes - 1) / kLanes, 1ll);
  return n;
}

// loadFragments takes rows query tokens from the first as column fragments of the products. A lane has neighbouring words of a
// row, or, Spread, every fourth.
template <class Pack, int Words, bool Spread> __device__ __forceinline__ void loadFragments(const residual_maxsim_args& a, long long first, int rows, unsigned (&b)[4][Words * Pack::kRegisters / 2][2]) {
  const int lane = threadIdx.x % kLanes, column = lane / 4, words = (int)a.d * Pack::kBits / 32;
#pragma unroll
  for (int n = 0; n < 4; n++) {
    const int q = column / 2 * 8 + n * 2 + column % 2;
#pragma unroll
    for (int w = 0; w < Words; w++) {
      const int word = Spread ? lane % 4 + 4 * w : lane % 4 * Words + w;
      unsigned r[Pack::kRegisters] = {};
      if (q < rows && word < words) Pack::arrange((const uint4*)((const unsigned short*)a.query + (first + q) * a.d + word * (32 / Pack::kBits)), r);
#pragma unroll
      for (int i = 0; i < Pack::kRegisters; i++) b[n][(w * Pack::kRegisters + i) / 2][i % 2] = r[i];
    }
  }
}

// centroidScores is the first kernel: grid (blocks of a Table, kScanChunks).
__device__ __forceinline__ void centroidScores(const residual_maxsim_args& a) {
  constexpr int kWords = 4; // pieces of 8 components of a lane
  const Table table(a);
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes, pieces = (int)a.d / 8;
  const long long chunk = blockIdx.y;
  long long first = 0;
  int rows = -1; // no such chunk
  long long chunks = 0;
  for (long long i = 0; i < a.nq && chunks <= kScanChunks; i++) {
    const Span q = segment((const long long*)a.query_off, i, a.tq);
    const long long need = max((q.size() + kLanes - 1) / kLanes, 1ll);
    if (chunk >= chunks && chunk < chunks + need) first = q.lo + (chunk - chunks) * kLanes, rows = (int)min(q.hi - first, (long long)kLanes);
    chunks += need;
  }
  int any = chunks > kScanChunks; // offsets of the device that say more than they declared
  if (rows >= 0 && !any) {
    unsigned b[4][8][2];
    loadFragments<HalfPack4, kWords, true>(a, first, rows, b);
    for (long long tile = (long long)blockIdx.x * kScanWarps + warp; tile * 16 < a.k; tile += (long long)gridDim.x * kScanWarps) {
      unsigned v[8][4];
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const unsigned short* row = (const unsigned short*)a.centroid + min(tile * 16 + lane / 4 + 8 * h, a.k - 1) * a.d;
#pragma unroll
        for (int w = 0; w < kWords; w++) {
          unsigned r[4] = {};
          if (lane % 4 + 4 * w < pieces) HalfPack4::arrange((const uint4*)(row + (lane % 4 + 4 * w) * 8), r);
#pragma unroll
          for (int i = 0; i < 4; i++) v[(w * 4 + i) / 2][i % 2 * 2 + h] = r[i];
        }
      }
      float acc[4][4] = {};
#pragma unroll
      for (int k = 0; k < 8; k++)
#pragma unroll
        for (int n = 0; n < 4; n++) mmaF16(acc[n], v[k], b[n][k][0], b[n][k][1]);
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const long long row = tile * 16 + lane / 4 + 8 * h;
        unsigned w[4];
#pragma unroll
        for (int n = 0; n < 4; n++) {
          const float x = acc[n][2 * h], y = acc[n][2 * h + 1];
          any |= !(fabsf(x) < 65504.0f) || !(fabsf(y) < 65504.0f);
          w[n] = F16::narrow(x) | (unsigned)F16::narrow(y) << 16;
        }
        if (row < a.k) *(uint4*)(table.scores + (chunk * a.k + row) * kLanes + lane % 4 * 8) = {w[0], w[1], w[2], w[3]};
      }
    }
  }
  any = __syncthreads_or(any);
  if (threadIdx.x == 0) table.wide[chunk * table.blocks + blockIdx.x] = any;
}

struct ScanState : TileState<kScanWarps> {
  long long total[kScanThreads]; // of the maxima so far
  unsigned flags[kScanThreads];
};

// ScanBody has the query fragments and the maxima. Words is the number of packed words of a lane.
template <class Pack, int Words> struct ScanBody {
  using Store = unsigned short;
  using State = ScanState;
  static constexpr int kWarps = kScanWarps, kWords = Words, kWordSteps = Pack::kRegisters / 2, kSteps = Words * kWordSteps;

  const residual_maxsim_args& a;
  const Table& table;
  Pack pack;
  unsigned b[4][kSteps][2]; // query fragments
  float m[8];               // maxima
  float acc[4][4];

  struct Sum {
    FixedSum sum;
    long long query;
    int shift;
    __device__ __forceinline__ Sum(const residual_maxsim_args& a, long long i) : query(i), shift(((const int*)a.shift)[i]) {}
    __device__ __forceinline__ void resume(const State& s) { sum.total = s.total[threadIdx.x], sum.flags = s.flags[threadIdx.x]; }
    __device__ __forceinline__ void keep(State& s) const { s.total[threadIdx.x] = sum.total, s.flags[threadIdx.x] = sum.flags; }
    __device__ __forceinline__ void add(float best) { sum.add(best, stepsOf(shift)); }
    __device__ __forceinline__ float score(const Faults& faults) const {
      if (sum.beyond()) faults.beyond(query);
      return fixedScore(sum.fixed(), shift);
    }
  };

  __device__ __forceinline__ ScanBody(const residual_maxsim_args& a, const Table& table) : a(a), table(table), pack((const float*)a.weight) { clear(); }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < 8; i++) m[i] = negativeInfinity();
  }

  __device__ __forceinline__ long long chunksBefore(long long i) const { return plaid::chunksBefore(a, i); }
  __device__ __forceinline__ ScoreRows<Store> rows(const Chunk& c) const { return {table.scores + c.place * a.k * kLanes, kLanes * 2, kLanes}; }

  __device__ __forceinline__ bool load(const Chunk& c) {
    loadFragments<Pack, Words, false>(a, c.first, c.rows, b);
    bool finite = true;
    for (int i = threadIdx.x % kLanes; i < a.w; i += kLanes) finite = finite && (F16::narrow(((const float*)a.weight)[i]) & kInfinite) != kInfinite;
#pragma unroll
    for (int i = 0; i < 8 * kSteps; i++) {
      const unsigned v = b[i / (2 * kSteps)][i / 2 % kSteps][i % 2];
      finite = finite && (v & kInfinite) != kInfinite && (v >> 16 & kInfinite) != kInfinite;
    }
    return finite;
  }

  __device__ __forceinline__ void decode(unsigned low, unsigned high, unsigned (&v)[kWordSteps][4]) const {
    unsigned x[Pack::kRegisters], y[Pack::kRegisters];
    pack.weights(low, x), pack.weights(high, y);
#pragma unroll
    for (int i = 0; i < kWordSteps; i++) v[i][0] = x[2 * i], v[i][1] = y[2 * i], v[i][2] = x[2 * i + 1], v[i][3] = y[2 * i + 1];
  }

  template <class Source> __device__ __forceinline__ void multiply(const Source& source) {
#pragma unroll
    for (int w = 0; w < Words; w++) {
      unsigned v[kWordSteps][4];
      source(w, v);
#pragma unroll
      for (int i = 0; i < kWordSteps; i++) {
        const int step = w * kWordSteps + i;
#pragma unroll
        for (int n = 0; n < 4; n++) {
          if (step == 0)
            mmaF16Zero(acc[n], v[i], b[n][step][0], b[n][step][1]);
          else
            mmaF16(acc[n], v[i], b[n][step][0], b[n][step][1]);
        }
      }
    }
  }

  __device__ __forceinline__ void take(const uint4 (&score)[2][1], const float (&inverse)[2], const bool (&in)[2], bool all) {
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const unsigned x[4] = {score[h][0].x, score[h][0].y, score[h][0].z, score[h][0].w};
#pragma unroll
      for (int i = 0; i < 8; i++) {
        float v = (F16::widen((unsigned short)(x[i / 2] >> i % 2 * 16)) + acc[i / 2][2 * h + i % 2]) * inverse[h];
        if (!all) v = in[h] ? v : negativeInfinity();
        m[i] = maxNaN(m[i], v);
      }
    }
  }

  __device__ __forceinline__ float join() {
    const float best = joinRows(m);
    clear();
    return best;
  }
};

// scan is the kernel.
template <class Pack, int Words> __device__ __forceinline__ void scan(const residual_maxsim_args& a, unsigned char* dynamic, ScanState& s) {
  using Body = ScanBody<Pack, Words>;
  const Faults faults = {a.status, a.tag, 8, 2, 10};
  const Table table(a);
  checkAxes(a, 1, 4);
  if (table.tooWide()) return;
  Body body(a, table);
  Tiles<Body, residual_maxsim_args>(a, s, body, faults, dynamic).run();
}

}  // namespace plaid
