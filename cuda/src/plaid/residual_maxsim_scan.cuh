// residual_maxsim in f16 where many document tokens meet few query tokens: <q, (centroid + weights) * inverse> is (<q, centroid>
// + <q, weights>) * inverse, and a token's 32 centroid scores are a quarter of the bytes of its centroid. A first kernel
// multiplies all centroids with up to four chunks of 32 query tokens; their scores are rounded to f16 as decoded vectors would
// be. Where one would leave the range of f16, the launch is left to the body that decodes whole tokens.
#pragma once
#include "args/residual_maxsim_args.h"
#include "plaid/plaid_fixed.cuh"
#include "plaid/plaid_mma.cuh"
#include "plaid/residual_half.cuh"
#include "plaid/residual_screen.cuh"

namespace plaid {

constexpr int kScanChunks = 4;
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

// loadFragments takes rows query tokens from the first as column fragments of the products.
template <class Pack, int Words> __device__ __forceinline__ void loadFragments(const residual_maxsim_args& a, long long first, int rows, unsigned (&b)[4][Words * Pack::kRegisters / 2][2]) {
  const int lane = threadIdx.x % kLanes, column = lane / 4, words = (int)a.d * Pack::kBits / 32;
#pragma unroll
  for (int n = 0; n < 4; n++) {
    const int q = column / 2 * 8 + n * 2 + column % 2;
#pragma unroll
    for (int w = 0; w < Words; w++) {
      const int word = lane % 4 + 4 * w;
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
    loadFragments<HalfPack4, kWords>(a, first, rows, b);
    for (long long tile = (long long)blockIdx.x * kScreenWarps + warp; tile * 16 < a.k; tile += (long long)gridDim.x * kScreenWarps) {
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

struct ScanState : ScreenState {
  long long total[kScreenPlaces]; // of the query tokens so far
  unsigned flags[kScreenPlaces];
};

// ScanBody has the query fragments and the maxima. Words is the number of packed words of a lane.
template <class Pack, int Words> struct ScanBody {
  using Store = unsigned short;
  static constexpr int kWords = Words;

  const residual_maxsim_args& a;
  ScanState& s;
  const Faults& faults;
  Pack pack;
  long long query;
  int rows;        // query tokens of this pass
  bool start, end; // it is the first, the last of its query
  float* score;    // of the first place
  unsigned b[4][Words * Pack::kRegisters / 2][2]; // query fragments
  float m[8];                                     // maxima

  __device__ __forceinline__ ScanBody(const residual_maxsim_args& a, ScanState& s, const Faults& faults) : a(a), s(s), faults(faults), pack((const float*)a.weight) {}

  __device__ __forceinline__ void loadQuery(long long first, int count) {
    rows = count;
    loadFragments<Pack, Words>(a, first, count, b);
#pragma unroll
    for (int i = 0; i < 8; i++) m[i] = negativeInfinity();
  }

  __device__ __forceinline__ void take(const unsigned (&word)[2 * Words], const float (&inverse)[2], unsigned from, const bool (&in)[2], bool all) {
    float acc[4][4];
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const uint4 w = loadShared16(from + h * kScreenThreads * 16);
      const unsigned x[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
      for (int n = 0; n < 4; n++) acc[n][2 * h] = F16::widen((unsigned short)x[n]), acc[n][2 * h + 1] = F16::widen((unsigned short)(x[n] >> 16));
    }
#pragma unroll
    for (int w = 0; w < Words; w++) {
      unsigned low[Pack::kRegisters], high[Pack::kRegisters];
      pack.weights(word[w], low), pack.weights(word[Words + w], high);
#pragma unroll
      for (int r = 0; r < Pack::kRegisters; r += 2) {
        const unsigned v[4] = {low[r], high[r], low[r + 1], high[r + 1]};
        const int step = (w * Pack::kRegisters + r) / 2;
#pragma unroll
        for (int n = 0; n < 4; n++) mmaF16(acc[n], v, b[n][step][0], b[n][step][1]);
      }
    }
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
      for (int i = 0; i < 8; i++) {
        float x = acc[i / 2][2 * h + i % 2] * inverse[h];
        if (!all) x = in[h] ? x : negativeInfinity();
        m[i] = maxNaN(m[i], x);
      }
  }

  __device__ __forceinline__ void leave(int turn) {
    leaveMaxima(m, s, turn);
#pragma unroll
    for (int i = 0; i < 8; i++) m[i] = negativeInfinity();
  }

  // finish adds, in the warp that owns the place, the maxima to the sum.
  __device__ __forceinline__ void finish(int place, int turn) {
    const int lane = threadIdx.x % kLanes;
    if ((int)threadIdx.x / kLanes != place % kScreenWarps) return;
    const int shift = ((const int*)a.shift)[query];
    const float best = joinedMaximum(s, turn);
    FixedSum sum;
    if (lane < rows && s.n[place] > 0) sum.add(best, stepsOf(shift));
    sum.join();
    if (lane != 0) return;
    if (!start) sum.total += s.total[place], sum.flags |= s.flags[place];
    s.total[place] = sum.total, s.flags[place] = sum.flags;
    if (!end) return;
    if (sum.beyond()) faults.beyond(query);
    score[place] = fixedScore(s.n[place] > 0 ? sum.fixed() : kFixedNegInf, shift);
  }
};

template <class Pack, int Words> using Scan = Screen<ScanBody<Pack, Words>, residual_maxsim_args>;

// scan is the kernel: a block takes the places of a query that stand side by side.
template <class Pack, int Words> __device__ __forceinline__ void scan(const residual_maxsim_args& a, unsigned dynamic, ScanState& s) {
  const Faults faults = {a.status, a.tag, 8, 2, 10};
  const Table table(a);
  checkAxes(a, 1, 4);
  if (table.tooWide()) return;
  ScanBody<Pack, Words> body(a, s, faults);
  Scan<Pack, Words> w = {a, s, body, faults, dynamic};
  int turn = 0;
  for (long long i = blockIdx.y; i < a.nq; i += gridDim.y) {
    const Span q = segment((const long long*)a.query_off, i, a.tq);
    const long long before = chunksBefore(a, i);
    body.query = i;
    const long long places = livePlaces(a, i), each = (places + gridDim.x - 1) / gridDim.x, e1 = min((blockIdx.x + 1) * each, places);
    fillPlaces(a, i, places);
    for (long long e = blockIdx.x * each; e < e1; e += kScreenPlaces) {
      w.places = (int)min(e1 - e, (long long)kScreenPlaces);
      lookUp(a, faults, s, i, e, w.places);
      body.score = (float*)a.score + i * a.c + e;
      long long first = q.lo;
      do { // once for a query without tokens, whose documents' codes are checked all the same
        const int rows = (int)min(q.hi - first, (long long)kLanes);
        body.start = first == q.lo, body.end = first + kLanes >= q.hi;
        body.loadQuery(first, rows);
        w.look(table.scores + (before + (first - q.lo) / kLanes) * a.k * kLanes, 0, rows, kLanes, kLanes);
        w.run(turn);
        first += kLanes;
      } while (first < q.hi);
    }
  }
}

}  // namespace plaid
