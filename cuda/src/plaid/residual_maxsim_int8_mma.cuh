// residual_maxsim_int8 on warp-level products of int8. Buckets become table values in registers, by byte permutations: a
// packed word of a lane is just its part of a fragment, since components may be multiplied in any order that both sides share.
#pragma once
#include "args/residual_maxsim_int8_args.h"
#include "plaid/plaid_element.cuh"
#include "plaid/plaid_mma.cuh"
#include "plaid/residual_screen.cuh"

namespace plaid {

// Pack2 and Pack4 turn a packed word into table values, four to a register, and take query components in the same order.
// kRegisters of a word; two are a product's share of a lane.
struct Pack2 {
  static constexpr int kBits = 2, kRegisters = 4;
  unsigned table;

  __device__ __forceinline__ explicit Pack2(const signed char* t) : table(0) {
#pragma unroll
    for (int i = 0; i < 4; i++) table |= (unsigned)(unsigned char)t[__brev(i) >> 30] << 8 * i;
  }

  __device__ __forceinline__ void values(unsigned word, unsigned (&v)[4]) const {
    const unsigned even = word >> 2 & 0x33333333u, odd = word & 0x33333333u; // components 2 0 6 4 .., 3 1 7 5 ..
    v[0] = __byte_perm(table, 0, even), v[1] = __byte_perm(table, 0, odd);
    v[2] = __byte_perm(table, 0, even >> 16), v[3] = __byte_perm(table, 0, odd >> 16);
  }

  static __device__ __forceinline__ void query(const signed char* q, unsigned (&v)[4]) {
    const uint4 w = *(const uint4*)q;
    v[0] = __byte_perm(w.x, w.y, 0x4602), v[1] = __byte_perm(w.x, w.y, 0x5713);
    v[2] = __byte_perm(w.z, w.w, 0x4602), v[3] = __byte_perm(w.z, w.w, 0x5713);
  }
};

struct Pack4 {
  static constexpr int kBits = 4, kRegisters = 2;
  unsigned table[4];

  __device__ __forceinline__ explicit Pack4(const signed char* t) : table{} {
#pragma unroll
    for (int i = 0; i < 16; i++) table[i / 4] |= (unsigned)(unsigned char)t[__brev(i) >> 28] << 8 * (i % 4);
  }

  __device__ __forceinline__ unsigned four(unsigned nibbles) const {
    const unsigned low = nibbles & 0x7777u, half = nibbles >> 1 & 0x4444u;
    return __byte_perm(__byte_perm(table[0], table[1], low), __byte_perm(table[2], table[3], low), half | 0x3210u);
  }

  __device__ __forceinline__ void values(unsigned word, unsigned (&v)[2]) const { v[0] = four(word), v[1] = four(word >> 16); } // components 1 0 3 2 ..

  static __device__ __forceinline__ void query(const signed char* q, unsigned (&v)[2]) {
    const uint2 w = *(const uint2*)q;
    v[0] = __byte_perm(w.x, 0, 0x2301), v[1] = __byte_perm(w.y, 0, 0x2301);
  }
};

struct Int8State : ScreenState {
  float sum[kScreenPlaces]; // of the query tokens so far
};

// Int8Body has the query fragments and the maxima. Words is the number of packed words of a lane.
template <class E, class Pack, int Words> struct Int8Body {
  using Store = typename E::Store;
  static constexpr int kWords = Words;
  static constexpr int kSteps = Words * Pack::kRegisters / 2; // products of 32 components
  static constexpr float kMagic = 12582912.0f;                // 1.5 * 2^23: an f32 whose low bits count
  static constexpr int kMagicBits = 0x4b400000;

  const residual_maxsim_int8_args& a;
  Int8State& s;
  Pack pack;
  int rows;         // query tokens of this pass
  bool start, end;  // it is the first, the last of its query
  float* score;     // of the first place
  unsigned b[4][kSteps][2]; // query fragments
  float unit[8];
  float m[8]; // maxima

  __device__ __forceinline__ Int8Body(const residual_maxsim_int8_args& a, Int8State& s) : a(a), s(s), pack((const signed char*)a.table) {}

  // loadQuery takes count query tokens from the first; the others are zeros.
  __device__ __forceinline__ void loadQuery(long long first, int count) {
    rows = count;
    const int lane = threadIdx.x % kLanes, words = (int)a.rb / 4, column = lane / 4;
    const signed char* query = (const signed char*)a.query + first * a.d;
#pragma unroll
    for (int n = 0; n < 4; n++) {
      const int q = column / 2 * 8 + n * 2 + column % 2;
#pragma unroll
      for (int w = 0; w < Words; w++) {
        const int word = lane % 4 + 4 * w;
        unsigned v[Pack::kRegisters] = {};
        if (q < rows && word < words) Pack::query(query + q * a.d + word * (32 / Pack::kBits), v);
#pragma unroll
        for (int r = 0; r < Pack::kRegisters; r++) b[n][(w * Pack::kRegisters + r) / 2][r % 2] = v[r];
      }
    }
    const int q = lane % 4 * 8;
#pragma unroll
    for (int i = 0; i < 8; i++) unit[i] = q + i < rows ? ((const float*)a.unit)[first + q + i] : 0.0f, m[i] = negativeInfinity();
  }

  static __device__ __forceinline__ void scores(float (&v)[8], unsigned at) {
    if constexpr (sizeof(Store) == 2) {
      const uint4 w = loadShared16(at);
      const unsigned x[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
      for (int i = 0; i < 8; i++) v[i] = E::widen((unsigned short)(x[i / 2] >> i % 2 * 16));
    } else {
#pragma unroll
      for (int i = 0; i < 8; i += 4) {
        const uint4 w = loadShared16(at + i * 4);
        v[i] = __uint_as_float(w.x), v[i + 1] = __uint_as_float(w.y), v[i + 2] = __uint_as_float(w.z), v[i + 3] = __uint_as_float(w.w);
      }
    }
  }

  __device__ __forceinline__ void take(const unsigned (&word)[2 * Words], const float (&inverse)[2], unsigned from, const bool (&in)[2], bool all) {
    int acc[4][4];
#pragma unroll
    for (int i = 0; i < 16; i++) acc[i / 4][i % 4] = kMagicBits;
#pragma unroll
    for (int w = 0; w < Words; w++) {
      unsigned low[Pack::kRegisters], high[Pack::kRegisters];
      pack.values(word[w], low), pack.values(word[Words + w], high);
#pragma unroll
      for (int r = 0; r < Pack::kRegisters; r += 2) {
        const unsigned v[4] = {low[r], high[r], low[r + 1], high[r + 1]};
        const int step = (w * Pack::kRegisters + r) / 2;
#pragma unroll
        for (int i = 0; i < 4; i++) mmaS8(acc[i], v, b[i][step][0], b[i][step][1]);
      }
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
      float v[8];
      scores(v, from + h * kScreenThreads * 8 * sizeof(Store));
#pragma unroll
      for (int i = 0; i < 8; i++) {
        const float dot = __fadd_rn(__int_as_float(acc[i / 2][2 * h + i % 2]), -kMagic); // exact
        v[i] = __fmul_rn(__fmaf_rn(dot, unit[i], v[i]), inverse[h]);
      }
      if (!all)
#pragma unroll
        for (int i = 0; i < 8; i++) v[i] = in[h] ? v[i] : negativeInfinity();
#pragma unroll
      for (int i = 0; i < 8; i++) m[i] = maxNaN(m[i], v[i]);
    }
  }

  __device__ __forceinline__ void leave(int turn) {
    leaveMaxima(m, s, turn);
#pragma unroll
    for (int i = 0; i < 8; i++) m[i] = negativeInfinity();
  }

  // finish adds, in the warp that owns the place, the maxima to the sum in ascending order.
  __device__ __forceinline__ void finish(int place, int turn) {
    if ((int)threadIdx.x / kLanes != place % kScreenWarps) return;
    const float best = joinedMaximum(s, turn);
    float sum = start ? 0.0f : s.sum[place];
    for (int q = 0; q < rows; q++) sum = __fadd_rn(sum, __shfl_sync(kAllLanes, best, q));
    if (threadIdx.x % kLanes != 0) return;
    s.sum[place] = sum;
    if (end) score[place] = s.n[place] > 0 ? sum : negativeInfinity();
  }
};

template <class E, class Pack, int Words> using Int8Screen = Screen<Int8Body<E, Pack, Words>, residual_maxsim_int8_args>;

// int8Screen is the kernel: a block takes the places of a query that stand side by side.
template <class E, class Pack, int Words> __device__ __forceinline__ void int8Screen(const residual_maxsim_int8_args& a, unsigned dynamic, Int8State& s) {
  const Faults faults = {a.status, a.tag, 9, 4, 0};
  Int8Body<E, Pack, Words> body(a, s);
  Int8Screen<E, Pack, Words> w = {a, s, body, faults, dynamic};
  checkAxes(a, 3, 6);
  int turn = 0;
  for (long long i = blockIdx.y; i < a.nq; i += gridDim.y) {
    const Span q = segment((const long long*)a.query_off, i, a.tq);
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
        w.look((const typename E::Store*)a.centroid_score, first, rows, a.tq, a.centroid_score_stride);
        w.run(turn);
        first += kLanes;
      } while (first < q.hi);
    }
  }
}

}  // namespace plaid
