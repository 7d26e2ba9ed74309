// residual_maxsim_int8 on warp-level products of int8. Buckets become table values in registers, by byte permutations: a
// packed word of a lane is just its part of a fragment, since components may be multiplied in any order that both sides share.
#pragma once
#include "args/residual_maxsim_int8_args.h"
#include "plaid/plaid_element.cuh"
#include "plaid/plaid_mma.cuh"
#include "common/early.cuh"
#include "plaid/residual_tiles.cuh"

namespace plaid {

// maskBits is an and that the compiler does not take apart.
__device__ __forceinline__ unsigned maskBits(unsigned a, unsigned mask) {
  unsigned r;
  asm("and.b32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(mask));
  return r;
}

// pickBytes is __byte_perm without its mask: selectors have no bit 3.
__device__ __forceinline__ unsigned pickBytes(unsigned low, unsigned high, unsigned selectors) {
  unsigned r;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(low), "r"(high), "r"(selectors));
  return r;
}

// mmaS8From is mmaS8 that adds to from instead.
__device__ __forceinline__ void mmaS8From(int* c, const unsigned* a, unsigned b0, unsigned b1, const int* from) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
               : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3]));
}

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
    const unsigned even = maskBits(word >> 2, 0x33333333u), odd = maskBits(word, 0x33333333u); // components 2 0 6 4 .., 3 1 7 5 ..
    v[0] = pickBytes(table, 0, even), v[1] = pickBytes(table, 0, odd);
    v[2] = pickBytes(table, 0, even >> 16), v[3] = pickBytes(table, 0, odd >> 16);
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
    return pickBytes(pickBytes(table[0], table[1], low), pickBytes(table[2], table[3], low), half | 0x3210u);
  }

  __device__ __forceinline__ void values(unsigned word, unsigned (&v)[2]) const { v[0] = four(word), v[1] = four(word >> 16); } // components 1 0 3 2 ..

  static __device__ __forceinline__ void query(const signed char* q, unsigned (&v)[2]) {
    const uint2 w = *(const uint2*)q;
    v[0] = __byte_perm(w.x, 0, 0x2301), v[1] = __byte_perm(w.y, 0, 0x2301);
  }
};

constexpr int kInt8Warps = 8, kInt8Threads = kInt8Warps * kLanes;

struct Int8State : TileState<kInt8Warps> {
  float total[kInt8Threads]; // of the maxima so far
  alignas(16) float unit[kInt8Warps][kLanes]; // of a warp's chunk
};

// Int8Body has the query fragments and the maxima. Words is the number of packed words of a lane.
template <class E, class Pack, int Words> struct Int8Body {
  using Store = typename E::Store;
  using State = Int8State;
  static constexpr int kWarps = kInt8Warps;
  static constexpr int kWords = Words, kWordSteps = Pack::kRegisters / 2, kSteps = Words * kWordSteps;
  static constexpr float kMagic = 12582912.0f; // 1.5 * 2^23: an f32 whose low bits count
  static constexpr int kMagicBits = 0x4b400000;

  const residual_maxsim_int8_args& a;
  State& s;
  Pack pack;
  unsigned b[4][kSteps][2]; // query fragments
  float m[8]; // maxima
  int acc[4][4];

  struct Sum {
    float total = 0.0f;
    __device__ __forceinline__ Sum(const residual_maxsim_int8_args&, long long) {}
    __device__ __forceinline__ void resume(const State& s) { total = s.total[threadIdx.x]; }
    __device__ __forceinline__ void keep(State& s) const { s.total[threadIdx.x] = total; }
    __device__ __forceinline__ void add(float best) { total = __fadd_rn(total, best); }
    __device__ __forceinline__ float score(const Faults&) const { return total; }
  };

  __device__ __forceinline__ Int8Body(const residual_maxsim_int8_args& a, State& s) : a(a), s(s), pack((const signed char*)a.table) { clear(); }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < 8; i++) m[i] = negativeInfinity();
  }

  __device__ __forceinline__ long long chunksBefore(long long) const { return 0; }

  // Scores may be read past a chunk's tokens, up to the end of their row.
  __device__ __forceinline__ ScoreRows<Store> rows(const Chunk& c) const {
    return {(const Store*)a.centroid_score + c.first, (unsigned)(a.centroid_score_stride * sizeof(Store)), a.tq - c.first};
  }

  // load takes a chunk; rows without a query token are zeros.
  __device__ __forceinline__ bool load(const Chunk& c) {
    const int lane = threadIdx.x % kLanes, words = (int)a.rb / 4, column = lane / 4;
    const signed char* query = (const signed char*)a.query + c.first * a.d;
#pragma unroll
    for (int n = 0; n < 4; n++) {
      const int q = column / 2 * 8 + n * 2 + column % 2;
#pragma unroll
      for (int w = 0; w < Words; w++) {
        const int word = lane % 4 * Words + w;
        unsigned v[Pack::kRegisters] = {};
        if (q < c.rows && word < words) Pack::query(query + q * a.d + word * (32 / Pack::kBits), v);
#pragma unroll
        for (int r = 0; r < Pack::kRegisters; r++) b[n][(w * Pack::kRegisters + r) / 2][r % 2] = v[r];
      }
    }
    const float unit = lane < c.rows ? ((const float*)a.unit)[c.first + lane] : 0.0f;
    __syncwarp(); // those before have been read
    s.unit[threadIdx.x / kLanes][lane] = unit;
    __syncwarp();
    return fabsf(unit) <= 3.402823466e38f;
  }

  __device__ __forceinline__ void decode(unsigned low, unsigned high, unsigned (&v)[kWordSteps][4]) const {
    unsigned x[Pack::kRegisters], y[Pack::kRegisters];
    pack.values(low, x), pack.values(high, y);
#pragma unroll
    for (int i = 0; i < kWordSteps; i++) v[i][0] = x[2 * i], v[i][1] = y[2 * i], v[i][2] = x[2 * i + 1], v[i][3] = y[2 * i + 1];
  }

  template <class Source> __device__ __forceinline__ void multiply(const Source& source) {
    const int magic[4] = {kMagicBits, kMagicBits, kMagicBits, kMagicBits};
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
            mmaS8From(acc[n], v[i], b[n][step][0], b[n][step][1], magic);
          else
            mmaS8(acc[n], v[i], b[n][step][0], b[n][step][1]);
        }
      }
    }
  }

  static __device__ __forceinline__ void scores(const uint4 (&raw)[sizeof(Store) / 2], float (&v)[8]) {
#pragma unroll
    for (int i = 0; i < (int)sizeof(Store) / 2; i++) {
      const unsigned x[4] = {raw[i].x, raw[i].y, raw[i].z, raw[i].w};
#pragma unroll
      for (int j = 0; j < 4; j++) {
        if constexpr (sizeof(Store) == 2)
          v[2 * j] = E::widen((unsigned short)x[j]), v[2 * j + 1] = E::widen((unsigned short)(x[j] >> 16));
        else
          v[4 * i + j] = __uint_as_float(x[j]);
      }
    }
  }

  __device__ __forceinline__ void take(const uint4 (&score)[2][sizeof(Store) / 2], const float (&inverse)[2], const bool (&in)[2], bool all) {
    const float4* u = (const float4*)s.unit[threadIdx.x / kLanes] + threadIdx.x % 4 * 2;
    const float4 x = u[0], y = u[1];
    const float unit[8] = {x.x, x.y, x.z, x.w, y.x, y.y, y.z, y.w};
#pragma unroll
    for (int h = 0; h < 2; h++) {
      float v[8];
      scores(score[h], v);
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

  __device__ __forceinline__ float join() {
    const float best = joinRows(m);
    clear();
    return best;
  }
};

// int8Screen is the kernel for places where documents are shared, or for the others, where rows are whole or are not.
template <class E, class Pack, int Words, bool Shared, bool Whole> __device__ __forceinline__ void int8Screen(const residual_maxsim_int8_args& a, unsigned char* dynamic, Int8State& s) {
  using Body = Int8Body<E, Pack, Words>;
  const Faults faults = {a.status, a.tag, 9, 4, 0};
  awaitEarlier();
  letNext();
  checkAxes(a, 3, 6);
  Body body(a, s);
  Tiles<Body, residual_maxsim_int8_args, Shared, Whole>(a, s, body, faults, dynamic).run();
}

}  // namespace plaid
