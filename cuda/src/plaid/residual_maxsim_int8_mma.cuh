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

__device__ __forceinline__ void storeShared16(unsigned at, uint4 v) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

// Eight centroid scores of a lane as they lie in memory.
template <class E> constexpr int kScoreBytes = 8 * sizeof(typename E::Store);

struct Int8State : ScreenState {
  float sum[kScreenPlaces]; // of the query tokens so far
};

// Words is the number of packed words of a lane.
template <class E, class Pack, int Words> struct Int8Screen {
  static constexpr int kBytes = kScoreBytes<E>;
  static constexpr int kSteps = Words * Pack::kRegisters / 2; // products of 32 components
  static constexpr float kMagic = 12582912.0f;                // 1.5 * 2^23: an f32 whose low bits count
  static constexpr int kMagicBits = 0x4b400000;

  // Item is what a lane has of a round: tokens lane/4 and lane/4+8.
  struct Item {
    int code[2]; // -1 is none
    unsigned word[2][Words];
    float inverse[2];
  };

  const residual_maxsim_int8_args& a;
  Int8State& s;
  const Faults& faults;
  unsigned ring; // shared address: kBytes for each slot, token and thread, a thread's own
  Pack pack;
  int lane, warp;
  int places; // looked up
  int rows;   // query tokens of this pass
  bool whole; // a lane's scores are read at once
  const typename E::Store* base; // scores of the lane's query tokens in the first row

  unsigned b[4][kSteps][2]; // query fragments
  float unit[8];
  float m[8]; // maxima

  __device__ __forceinline__ Int8Screen(const residual_maxsim_int8_args& a, Int8State& s, const Faults& faults, unsigned dynamic)
      : a(a), s(s), faults(faults), ring(dynamic + threadIdx.x * kBytes), pack((const signed char*)a.table), lane(threadIdx.x % kLanes),
        warp(threadIdx.x / kLanes) {}

  // loadQuery takes rows query tokens from the first; the others are zeros.
  __device__ __forceinline__ void loadQuery(long long from, int count) {
    rows = count, base = (const typename E::Store*)a.centroid_score + from + lane % 4 * 8;
    const signed char* query = (const signed char*)a.query + from * a.d;
    const int words = (int)a.rb / 4, column = lane / 4;
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
    for (int i = 0; i < 8; i++) unit[i] = q + i < rows ? ((const float*)a.unit)[from + q + i] : 0.0f, m[i] = negativeInfinity();
    // A row's scores may be read past the query's tokens, not past the last row's.
    whole = (unsigned long long)base % 16 == 0 && a.centroid_score_stride * sizeof(typename E::Store) % 16 == 0 && from + q + 8 <= a.tq;
  }

  __device__ __forceinline__ void fetch(const Cursor& c, Item& x) const {
    long long u = 0;
    const int n = c.tokens(s, places, &u), words = (int)a.rb / 4;
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int t = lane / 4 + 8 * h;
      x.code[h] = -1, x.inverse[h] = 1.0f;
      const unsigned* row = (const unsigned*)((const unsigned char*)a.packed + (u + t) * a.rb);
#pragma unroll
      for (int w = 0; w < Words; w++) x.word[h][w] = t < n && lane % 4 + 4 * w < words ? row[lane % 4 + 4 * w] : 0;
      if (t >= n) continue;
      x.code[h] = ((const int*)a.code)[u + t];
      if (a.inv_norm) x.inverse[h] = ((const float*)a.inv_norm)[u + t];
    }
  }

  __device__ __forceinline__ bool known(int code) const { return code >= 0 && code < a.k; }

  // copyScores starts the copies of the centroid scores of an item to a slot of the ring.
  __device__ __forceinline__ void copyScores(const Item& x, int slot) const {
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const unsigned to = ring + (slot * 2 + h) * kScreenThreads * kBytes;
      const bool in = known(x.code[h]);
      const typename E::Store* from = in ? base + x.code[h] * a.centroid_score_stride : (const typename E::Store*)a.centroid_score;
      if (whole)
#pragma unroll
        for (int i = 0; i < kBytes; i += 16) copyAsync16(to + i, (const unsigned char*)from + (in ? i : 0), in); // nothing is read where not
      else if (in)
        copySome(to, from);
    }
    copyCommit();
  }

  // copySome reads scores one by one, where they are not aligned or end.
  __device__ __forceinline__ void copySome(unsigned to, const typename E::Store* from) const {
    unsigned w[kBytes / 4];
#pragma unroll
    for (int i = 0; i < kBytes / 4; i++) w[i] = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
      if (lane % 4 * 8 + i >= rows) continue;
      if constexpr (kBytes == 16)
        w[i / 2] |= (unsigned)from[i] << i % 2 * 16;
      else
        w[i] = __float_as_uint(from[i]);
    }
#pragma unroll
    for (int i = 0; i < kBytes; i += 16) storeShared16(to + i, {w[i / 4], w[i / 4 + 1], w[i / 4 + 2], w[i / 4 + 3]});
  }

  __device__ __forceinline__ void scores(float (&v)[8], unsigned at) const {
    if constexpr (kBytes == 16) {
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

  // take adds an item, whose scores are in the slot, to the maxima.
  __device__ __forceinline__ void take(const Cursor& c, const Item& x, int slot) {
    long long u = 0;
    const int n = c.tokens(s, places, &u);
    if (n == 0) return; // the same for the warp
    int acc[4][4];
#pragma unroll
    for (int i = 0; i < 16; i++) acc[i / 4][i % 4] = kMagicBits;
#pragma unroll
    for (int w = 0; w < Words; w++) {
      unsigned low[Pack::kRegisters], high[Pack::kRegisters];
      pack.values(x.word[0][w], low), pack.values(x.word[1][w], high);
#pragma unroll
      for (int r = 0; r < Pack::kRegisters; r += 2) {
        const unsigned v[4] = {low[r], high[r], low[r + 1], high[r + 1]};
        const int step = (w * Pack::kRegisters + r) / 2;
#pragma unroll
        for (int i = 0; i < 4; i++) mmaS8(acc[i], v, b[i][step][0], b[i][step][1]);
      }
    }
    bool in[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
      in[h] = lane / 4 + 8 * h < n && known(x.code[h]);
      if (!in[h] && lane / 4 + 8 * h < n) faults.badCode(u + lane / 4 + 8 * h);
    }
    const bool all = __all_sync(kAllLanes, in[0] && in[1]);
#pragma unroll
    for (int h = 0; h < 2; h++) {
      float v[8];
      scores(v, ring + (slot * 2 + h) * kScreenThreads * kBytes);
#pragma unroll
      for (int i = 0; i < 8; i++) {
        const float dot = __fadd_rn(__int_as_float(acc[i / 2][2 * h + i % 2]), -kMagic); // exact
        v[i] = __fmul_rn(__fmaf_rn(dot, unit[i], v[i]), x.inverse[h]);
      }
      if (!all)
#pragma unroll
        for (int i = 0; i < 8; i++) v[i] = in[h] ? v[i] : negativeInfinity();
#pragma unroll
      for (int i = 0; i < 8; i++) m[i] = maxNaN(m[i], v[i]);
    }
  }

  // finish ends a place's document: its owner adds the maxima to the sum in ascending order.
  __device__ __forceinline__ void finish(int place, int turn, bool start, bool end, float* score) {
    leaveMaxima(m, s, turn);
#pragma unroll
    for (int i = 0; i < 8; i++) m[i] = negativeInfinity();
    __syncthreads(); // the next document writes the other half
    if (warp != place % kScreenWarps) return;
    const float best = joinedMaximum(s, turn);
    float sum = start ? 0.0f : s.sum[place];
    for (int q = 0; q < rows; q++) sum = __fadd_rn(sum, __shfl_sync(kAllLanes, best, q));
    if (lane != 0) return;
    s.sum[place] = sum;
    if (end) score[place] = s.n[place] > 0 ? sum : negativeInfinity();
  }

  // pass goes through the places that were looked up.
  __device__ __forceinline__ void pass(bool start, bool end, float* score, int& turn) {
    Cursor ahead, now;
    ahead.start(s, places), now.start(s, places);
    Item x, next;
    fetch(ahead, x), ahead.next(s, places);
    copyScores(x, 0);
    fetch(ahead, next);
    for (int slot = 0; now.place < places; slot ^= 1) {
      copyScores(next, slot ^ 1);
      Item later;
      ahead.next(s, places);
      fetch(ahead, later);
      copyWait<1>();
      take(now, x, slot);
      if (now.last()) finish(now.place, turn, start, end, score), turn ^= 1;
      now.next(s, places);
      x = next, next = later;
    }
    copyWait<0>();
  }
};

// int8Screen is the kernel: a block takes the places of a query that stand side by side.
template <class E, class Pack, int Words> __device__ __forceinline__ void int8Screen(const residual_maxsim_int8_args& a, unsigned dynamic, Int8State& s) {
  const Faults faults = {a.status, a.tag, 9, 4, 0};
  Int8Screen<E, Pack, Words> w(a, s, faults, dynamic);
  checkAxes(a, 3, 6);
  const long long each = (a.c + gridDim.x - 1) / gridDim.x, e1 = min((blockIdx.x + 1) * each, a.c);
  int turn = 0;
  for (long long i = blockIdx.y; i < a.nq; i += gridDim.y) {
    const Span q = segment((const long long*)a.query_off, i, a.tq);
    for (long long e = blockIdx.x * each; e < e1; e += kScreenPlaces) {
      w.places = (int)min(e1 - e, (long long)kScreenPlaces);
      lookUp(a, faults, s, i, e, w.places);
      long long from = q.lo;
      do { // once for a query without tokens, whose documents' codes are checked all the same
        const int rows = (int)min(q.hi - from, (long long)kLanes);
        w.loadQuery(from, rows);
        w.pass(from == q.lo, from + kLanes >= q.hi, (float*)a.score + i * a.c + e, turn);
        from += kLanes;
      } while (from < q.hi);
    }
  }
}

}  // namespace plaid
