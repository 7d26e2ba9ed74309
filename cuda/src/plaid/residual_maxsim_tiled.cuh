// residual_maxsim in f32 by register tiles. The warps of a block share each document, or have one each: a warp decodes 32
// components of up to 64 tokens at a time to its part of shared memory and multiplies them with 32 query tokens; a lane holds
// 8 query tokens x up to 8 document tokens.
//
// A multiplication reads three registers, and in a cycle each of the two banks of registers gives one: the value of a document
// token stays in the operand cache while eight sums take it, and query tokens lie in shared memory by component, so that those of
// a lane lie in alternating banks, as its sums do in the order in which they are written here, one off.
//
// Every dot product is one ascending chain of fused multiply-adds from +0 and every decoded component the operations of
// package codec, so the bits are canonical. Maxima are exact, sums integers.
#pragma once
#include "args/residual_maxsim_args.h"
#include "common/async.cuh"
#include "common/early.cuh"
#include "common/order.cuh"
#include "plaid/plaid_element.cuh"
#include "plaid/plaid_fixed.cuh"
#include "plaid/plaid_listing.cuh"

namespace plaid {

constexpr int kSpan = 32;           // components decoded at a time
constexpr int kTokenRow = 4 * kSpan; // bytes of a decoded token

template <int Warps> struct TiledState {
  // The weights of a group of components by its bits: of four components with 1 bit each, two with 2 or 4, one with 8.
  __align__(16) float weight[512];
  float best[2][Warps][kLanes];
};

// Tiled: Split warps share a document, each takes up to Run tokens at a time and has Flight times 8 of them on their way.
// Ahead: those are asked for a span ahead.
template <int Warps, int Split, int Run, int Flight, bool Ahead, int Only> struct Tiled {
  static constexpr int kWarps = Warps, kSplit = Split, kThreads = Warps * kLanes, kGroups = Warps / Split;
  static constexpr int kG = Run / 8;                             // tokens of a lane
  static constexpr int kParts = kG / Flight;                     // of a span
  static constexpr int kWarpBytes = Run * (kTokenRow + 8);       // decoded tokens, then a Token each
  static constexpr int kHeld = 32 / Warps;                       // pieces of 32 query tokens that a warp has on their way
  using State = TiledState<Warps>;

  struct Token {
    int code;
    float inverse;
  };

  const residual_maxsim_args& a;
  State& s;
  const Faults& faults;
  unsigned query; // shared address: 128 bytes for each component
  unsigned run;   // shared address of the warp's decoded tokens: 16 bytes c of token t at place c^turned(t%8)
  Token* token;   // of the warp
  int lane, warp, bits;
  int ofQuery, ofToken; // of 4 and 8; neighbouring lanes share query tokens, lanes two apart document tokens
  float acc[8][kG];     // query token 16(r/4) + 4 ofQuery + r%4, document token 8i + ofToken
  float m[8];           // maxima of the query tokens
  unsigned valid[2];    // of 32 tokens each
  int loaded = -1;   // first of the query's tokens in shared memory
  bool read = false; // some have been there
  int turn = 0;      // which half of the maxima is written next

  static __device__ __forceinline__ int turned(int t) { return (t & 1) << 2 | (t & 2) | t >> 2; }

  __device__ __forceinline__ Tiled(const residual_maxsim_args& a, State& s, const Faults& faults, unsigned char* dynamic)
      : a(a), s(s), faults(faults), lane(threadIdx.x % kLanes), warp(threadIdx.x / kLanes), bits(Only ? Only : (int)a.bits) {
    query = sharedAddress(dynamic) + Warps * kWarpBytes;
    run = sharedAddress(dynamic) + warp * kWarpBytes;
    token = (Token*)(dynamic + warp * kWarpBytes + Run * kTokenRow);
    ofQuery = lane / 16 * 2 + lane % 2, ofToken = lane / 2 % 8;
  }

  // loadWeights fills the table; a barrier follows.
  __device__ __forceinline__ void loadWeights() {
    const int shift = bits == 1 ? 2 : bits == 8 ? 0 : 1; // of components to an entry
#pragma unroll 2
    for (int i = threadIdx.x; i < 1 << (shift + (bits << shift)); i += kThreads) {
      const int last = (1 << shift) - 1, group = i >> shift >> bits * (last - (i & last)) & ((1 << bits) - 1);
      s.weight[i] = ((const float*)a.weight)[__brev(group) >> (32 - bits)];
    }
  }

  // Pieces are four components each of a query token, a lane's, on their way to shared memory. Rows that are not there are zeros.
  struct Pieces {
    float4 v[kHeld];
  };
  __device__ __forceinline__ void fetchQuery(Pieces& p, long long first, int rows, int from) const {
    const int quads = (int)a.d / 4;
    const float4* row = (const float4*)a.query + (first + lane) * quads;
#pragma unroll
    for (int h = 0; h < kHeld; h++) {
      const int c = from + h * Warps + warp;
      p.v[h] = make_float4(0, 0, 0, 0);
      if (lane < rows && c < quads) p.v[h] = row[c];
    }
  }
  __device__ __forceinline__ void storeQuery(const Pieces& p, int from) const {
    const int quads = (int)a.d / 4;
#pragma unroll
    for (int h = 0; h < kHeld; h++) {
      const int c = from + h * Warps + warp;
      if (c < quads) {
        const unsigned to = query + c * 512 + lane * 4;
        storeShared(to, p.v[h].x), storeShared(to + 128, p.v[h].y), storeShared(to + 256, p.v[h].z), storeShared(to + 384, p.v[h].w);
      }
    }
  }

  // storeRows puts query tokens in shared memory, of which the first 32 pieces are on their way.
  __device__ __forceinline__ void storeRows(Pieces& p, long long first, int rows) {
    if (read) __syncthreads(); // those before have been read
    read = true;
    storeQuery(p, 0);
#pragma unroll 1
    for (int from = 32; from < (int)a.d / 4; from += 32) fetchQuery(p, first, rows, from), storeQuery(p, from);
    __syncthreads();
  }

  static __device__ __forceinline__ void storeShared(unsigned at, float v) { asm volatile("st.shared.f32 [%0], %1;" ::"r"(at), "f"(v) : "memory"); }
  static __device__ __forceinline__ void storeShared16(unsigned at, float4 v) {
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(at), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
  }
  static __device__ __forceinline__ void load(float* v, unsigned at) {
    uint4 w = loadShared16(at);
    v[0] = __uint_as_float(w.x), v[1] = __uint_as_float(w.y), v[2] = __uint_as_float(w.z), v[3] = __uint_as_float(w.w);
  }

  // packed is the bits of four components, number c modulo 2 of their row, that start in byte p.
  template <int Bits> static __device__ __forceinline__ unsigned packed(const unsigned char* p, int c) {
    if constexpr (Bits == 1) return *p >> (c % 2 ? 0 : 4) & 15;
    if constexpr (Bits == 2) return *p;
    if constexpr (Bits == 4) return (unsigned)p[0] << 8 | p[1];
    return (unsigned)p[0] << 24 | (unsigned)p[1] << 16 | (unsigned)p[2] << 8 | p[3];
  }

  template <int Bits> __device__ __forceinline__ float4 weights(unsigned b) const {
    if constexpr (Bits == 1) return ((const float4*)s.weight)[b];
    if constexpr (Bits == 2 || Bits == 4) {
      const float2 v = ((const float2*)s.weight)[b >> 2 * Bits], w = ((const float2*)s.weight)[b & ((1 << 2 * Bits) - 1)];
      return {v.x, v.y, w.x, w.y};
    }
    return {s.weight[b >> 24], s.weight[b >> 16 & 255], s.weight[b >> 8 & 255], s.weight[b & 255]};
  }

  template <int Bits> __device__ __forceinline__ float4 decode(unsigned b, float4 c, float inv) const {
    const float4 w = weights<Bits>(b);
    return {__fmul_rn(__fadd_rn(c.x, w.x), inv), __fmul_rn(__fadd_rn(c.y, w.y), inv), __fmul_rn(__fadd_rn(c.z, w.z), inv), __fmul_rn(__fadd_rn(c.w, w.w), inv)};
  }

  // norm is the inverse norm of a token, squares added in ascending order.
  template <int Bits> __device__ __forceinline__ float norm(long long u, int code) const {
    const float4* c = (const float4*)a.centroid + code * (a.d / 4);
    const unsigned char* row = (const unsigned char*)a.packed + u * a.rb;
    float sum = 0;
#pragma unroll 1
    for (int i = 0; i < (int)a.d / 4; i++) {
      const float4 v = decode<Bits>(packed<Bits>(row + i * Bits / 2, i), c[i], 1.0f);
      sum = __fadd_rn(sum, __fmul_rn(v.x, v.x)), sum = __fadd_rn(sum, __fmul_rn(v.y, v.y));
      sum = __fadd_rn(sum, __fmul_rn(v.z, v.z)), sum = __fadd_rn(sum, __fmul_rn(v.w, v.w));
    }
    return inverseNorm(sum);
  }

  __device__ float norm(long long u, int code) const {
    if constexpr (Only != 0) return norm<Only>(u, code);
    switch (bits) {
      case 1: return norm<1>(u, code);
      case 2: return norm<2>(u, code);
      case 4: return norm<4>(u, code);
      default: return norm<8>(u, code);
    }
  }

  // begin reads what the n tokens from u need beside their components.
  __device__ __forceinline__ void begin(long long u, int n) {
    constexpr int kHalves = (Run + kLanes - 1) / kLanes;
    int code[kHalves];
    float inverse[kHalves];
#pragma unroll
    for (int h = 0; h < kHalves; h++) {
      const int t = h * kLanes + lane;
      code[h] = 0, inverse[h] = 1.0f;
      if (t < n) code[h] = ((const int*)a.code)[u + t];
      if (t < n && a.inv_norm) inverse[h] = ((const float*)a.inv_norm)[u + t];
    }
    __syncwarp(); // the tokens before are done
#pragma unroll
    for (int h = 0; h < kHalves; h++) {
      const int t = h * kLanes + lane;
      const bool in = code[h] >= 0 && code[h] < a.k;
      if (!in) faults.badCode(u + t), code[h] = 0;
      valid[h] = __ballot_sync(kAllLanes, in && t < n);
      if (t < n && a.normalize) inverse[h] = norm(u + t, code[h]);
      if (t < Run) token[t] = {code[h], inverse[h]};
    }
    __syncwarp();
  }

  // Fetched is components on their way: of each token in eight, four lanes have 16 bytes c and c+4 of a span.
  struct Fetched {
    float4 c[Flight][2];
    unsigned b[Flight][2];
    float inverse[Flight];
  };

  // fetch asks for components from k of the tokens of a part, of n from u. Lanes without components repeat the last.
  template <int Bits> __device__ __forceinline__ void fetch(Fetched& f, long long u, int n, int k, int quads, int part) const {
    const int c = lane % 4, c0 = min(c, quads - 1), c1 = min(c + 4, quads - 1);
    const char* centroid = (const char*)a.centroid + 4ll * k + 16 * c0;
    const unsigned char* rows = (const unsigned char*)a.packed + u * a.rb + (k / 4 + c0) * Bits / 2;
    const int apart = (c1 - c0) * 16, beside = ((k / 4 + c1) * Bits / 2) - (k / 4 + c0) * Bits / 2;
    const unsigned pitch = 4 * (unsigned)a.d, rb = (unsigned)a.rb;
#pragma unroll
    for (int j = 0; j < Flight; j++) {
      const int t = (part * Flight + j) * 8 + lane / 4;
      if (j > 0 && (part * Flight + j) * 8 >= n) break;
      const Token of = token[t];
      const char* from = centroid + (unsigned long long)(unsigned)of.code * pitch;
      const unsigned char* row = rows + (unsigned long long)(unsigned)min(t, n - 1) * rb;
      f.inverse[j] = of.inverse;
      f.c[j][0] = *(const float4*)from, f.b[j][0] = packed<Bits>(row, c0);
      if (quads == kSpan / 4) {
        f.c[j][1] = *(const float4*)(from + 64), f.b[j][1] = packed<Bits>(row + 2 * Bits, c0);
      } else {
        f.c[j][1] = *(const float4*)(from + apart), f.b[j][1] = packed<Bits>(row + beside, c1);
      }
    }
  }

  template <int Bits> __device__ __forceinline__ void store(const Fetched& f, int n, int part) const {
    const int t = lane / 4, place = (lane % 4) ^ turned(t);
    const unsigned to = run + part * Flight * 8 * kTokenRow + t * kTokenRow, first = to + place * 16, second = to + (place ^ 4) * 16;
#pragma unroll
    for (int j = 0; j < Flight; j++) {
      if (j > 0 && (part * Flight + j) * 8 >= n) break;
      storeShared16(first + j * 8 * kTokenRow, decode<Bits>(f.b[j][0], f.c[j][0], f.inverse[j]));
      storeShared16(second + j * 8 * kTokenRow, decode<Bits>(f.b[j][1], f.c[j][1], f.inverse[j]));
    }
  }

  __device__ __forceinline__ void fetch(Fetched& f, long long u, int n, int k, int part) const {
    const int quads = min(kSpan, (int)a.d - k) / 4;
    if constexpr (Only != 0) return fetch<Only>(f, u, n, k, quads, part);
    switch (bits) {
      case 1: fetch<1>(f, u, n, k, quads, part); break;
      case 2: fetch<2>(f, u, n, k, quads, part); break;
      case 4: fetch<4>(f, u, n, k, quads, part); break;
      default: fetch<8>(f, u, n, k, quads, part);
    }
  }
  __device__ __forceinline__ void store(const Fetched& f, int n, int part) const {
    if constexpr (Only != 0) return store<Only>(f, n, part);
    switch (bits) {
      case 1: store<1>(f, n, part); break;
      case 2: store<2>(f, n, part); break;
      case 4: store<4>(f, n, part); break;
      default: store<8>(f, n, part);
    }
  }

  // step multiplies document tokens I and I+1 of the lane by four components. Sums stand in the order of odd and even query tokens
  // that lets the compiler give a sum and its query token registers of different banks; document tokens stay in the operand cache.
  template <int I> __device__ __forceinline__ void step(const float (&q)[4][8], unsigned at) {
    float d[2][4];
    load(d[0], at + I * 8 * kTokenRow), load(d[1], at + (I + 1) * 8 * kTokenRow);
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
      for (int j = 0; j < 4; j++)
#pragma unroll
        for (int r = 0; r < 8; r++) acc[r ^ 1][I + i] = __fmaf_rn(q[j][r ^ 1], d[i][j], acc[r ^ 1][I + i]);
  }

  // multiply: one code for any number g of tokens of a lane, since more would not fit the instruction caches.
  __device__ __forceinline__ void multiply(int k, int quads, int g) {
    unsigned rows = query + k * 128 + ofQuery * 16;
    const unsigned tokens = run + ofToken * kTokenRow, turn = turned(ofToken) * 16;
#pragma unroll 1
    for (int c = 0; c < quads * 16; c += 16, rows += 512) {
      float q[4][8];
      const unsigned at = tokens + (c ^ turn);
#pragma unroll
      for (int j = 0; j < 4; j++) load(q[j], rows + j * 128), load(q[j] + 4, rows + j * 128 + 64);
      step<0>(q, at);
      if constexpr (kG > 2)
        if (g > 2) {
          step<2>(q, at);
          if constexpr (kG > 4)
            if (g > 4) {
              step<4>(q, at);
              if (g > 6) step<6>(q, at);
            }
        }
    }
  }

  // tokens takes n <= Run tokens from u; ready is called once the first components are on their way.
  template <class Ready> __device__ __forceinline__ void tokens(long long u, int n, Ready&& ready) {
    n = __reduce_max_sync(kAllLanes, n); // the same for the warp: a branch on it has nothing to join
    begin(u, n);
    Fetched f;
    fetch(f, u, n, 0, 0);
    ready();
#pragma unroll
    for (int i = 0; i < kG; i++)
#pragma unroll
      for (int r = 0; r < 8; r++) acc[r ^ 1][i] = 0.0f;
#pragma unroll 1
    for (int k = 0; k < (int)a.d; k += kSpan) {
      if (!Ahead && k > 0) fetch(f, u, n, k, 0);
      __syncwarp(); // what was here has been read
      store(f, n, 0);
#pragma unroll
      for (int part = 1; part < kParts; part++)
        if (part * Flight * 8 < n) {
          fetch(f, u, n, k, part);
          store(f, n, part);
        }
      if (Ahead && k + kSpan < (int)a.d) fetch(f, u, n, k + kSpan, 0);
      __syncwarp();
      multiply(k, min(kSpan, (int)a.d - k) / 4, (n + 7) / 8);
    }
#pragma unroll
    for (int i = 0; i < kG; i++) {
      const bool in = valid[i / 4] >> (i % 4 * 8 + ofToken) & 1;
#pragma unroll
      for (int r = 0; r < 8; r++) m[r ^ 1] = maxNaN(m[r ^ 1], in ? acc[r ^ 1][i] : negativeInfinity());
    }
  }

  // row is the query token whose maximum document returns.
  __device__ __forceinline__ int row() const { return ofToken / 4 * 16 + ofQuery * 4 + ofToken % 4; }

  // document finds the maxima of 32 query tokens over n tokens from lo; ready is called once.
  template <class Ready> __device__ __forceinline__ float document(long long lo, int n, Ready&& ready) {
#pragma unroll
    for (int r = 0; r < 8; r++) m[r] = negativeInfinity();
    bool called = false;
    auto once = [&] {
      if (!called) ready();
      called = true;
    };
#pragma unroll 1
    for (int done = 0; done < n;) {
      const int left = n - done, each = Split == 1 ? Run : min(((left + 15) / 16 + Split - 1) / Split * 16, Run), first = warp % Split * each;
      if (first < left) tokens(lo + done + first, min(each, left - first), once);
      done += Split * each;
    }
    once();
    float mine = 0;
#pragma unroll
    for (int r = 0; r < 8; r++) {
#pragma unroll
      for (int o = 2; o < 16; o *= 2) m[r] = maxNaN(m[r], __shfl_xor_sync(kAllLanes, m[r], o));
      if (ofToken == r) mine = m[r];
    }
    return mine;
  }

  // join is the barrier of those that share a document.
  __device__ __forceinline__ void join() const {
    if constexpr (Split == Warps)
      __syncthreads();
    else if constexpr (Split > 1)
      asm volatile("bar.sync %0, %1;" ::"r"(1 + warp / Split), "n"(Split * kLanes) : "memory");
  }

  // place scores the document at place e of query i: its n tokens from lo. The query has qn tokens from q.
  __device__ __forceinline__ void place(int i, int e, long long q, int qn, long long lo, int n, int shift, bool live) {
    FixedSum sum;
#pragma unroll 1
    for (int first = 0; first < qn || first == 0; first += kLanes) { // once for a query without tokens
      const int rows = min(qn - first, kLanes);
      const bool fresh = loaded != first; // the same for the block
      loaded = first;
      float mine;
      if constexpr (Split == Warps) { // the block waits for both at once
        Pieces p;
        if (fresh) fetchQuery(p, q + first, rows, 0);
        mine = document(lo, n, [&] {
          if (fresh) storeRows(p, q + first, rows);
        });
      } else {
        if (fresh) {
          Pieces p;
          fetchQuery(p, q + first, rows, 0);
          storeRows(p, q + first, rows);
        }
        mine = document(lo, n, [] {});
      }
      if (n == 0) continue;
      if (Split > 1) {
        s.best[turn][warp][row()] = mine;
        join(); // the next document writes the other half
        if (warp % Split == 0)
          for (int o = 1; o < Split; o++) mine = maxNaN(mine, s.best[turn][warp + o][row()]);
        turn ^= 1;
      }
      if (warp % Split == 0 && row() < rows) sum.add(mine, stepsOf(Split == 1 ? ((const int*)a.shift)[i] : shift));
    }
    if (warp % Split != 0 || !live) return;
    sum.join();
    if (lane != 0) return;
    if (sum.beyond()) faults.beyond(i);
    const long long f = n > 0 ? sum.fixed() : kFixedNegInf, at = i * a.c + e;
    ((float*)a.score)[at] = fixedScore(f, Split == 1 ? ((const int*)a.shift)[i] : shift);
    if (a.fixed) ((long long*)a.fixed)[at] = f;
  }
};

// entry is the tokens of document j, which stands at place at; none where it names no document.
__device__ __forceinline__ Span entry(const residual_maxsim_args& a, const Faults& faults, int j, long long at, bool report) {
  if (j >= 0 && j < a.nd) return segment((const long long*)a.doc_off, j, a.td);
  if (j != -1 && report) faults.badCandidate(at);
  return {0, 0};
}

// fillRest marks the places of query i from the first on as those without documents.
__device__ __forceinline__ void fillRest(const residual_maxsim_args& a, long long i, long long first) {
  fillPlaces(a, i, first);
  if (a.fixed)
    for (long long e = first + (long long)blockIdx.x * blockDim.x + threadIdx.x; e < a.c; e += (long long)gridDim.x * blockDim.x)
      ((long long*)a.fixed)[i * a.c + e] = kFixedNegInf;
}

// tiled is the kernel. Places, queries and their tokens and the tokens of a document have numbers below 2^31.
template <class T> __device__ __forceinline__ void tiled(const residual_maxsim_args& a, unsigned char* dynamic, typename T::State& s) {
  const Faults faults = {a.status, a.tag, 8, 2, 10};
  awaitEarlier();
  letNext();
  T w(a, s, faults, dynamic);
  const int part = w.warp / T::kSplit, group = (int)blockIdx.x * T::kGroups + part;
  bool start = true;
  for (int i = blockIdx.y; i < (int)a.nq; i += gridDim.y) {
    int j = group < a.c ? ((const int*)a.candidate)[i * a.c + group] : -1; // asked for before the count is known
    const Span q = segment((const long long*)a.query_off, i, a.tq);
    const int shift = T::kSplit > 1 ? ((const int*)a.shift)[i] : 0, places = (int)livePlaces(a, i);
    if (start) {
      w.loadWeights();
      if (a.normalize) __syncthreads();
    }
    start = false, w.loaded = -1;
#pragma unroll 1
    for (int e = group; e - part < places; e += gridDim.x * T::kGroups) { // the same for the block
      if (e != group && e < places) j = ((const int*)a.candidate)[i * a.c + e];
      Span t = {0, 0};
      if (e < places) t = entry(a, faults, j, i * a.c + e, w.warp % T::kSplit == 0 && w.lane == 0);
      w.place(i, e, q.lo, (int)q.size(), t.lo, (int)t.size(), shift, e < places);
    }
    fillRest(a, i, places);
  }
  // A block's first warp may still be at its sum.
  constexpr int kBusy = T::kSplit == T::kWarps && T::kSplit > 1 ? kLanes : 0, kChecking = T::kThreads - kBusy;
  if ((int)threadIdx.x < kBusy) return;
  const long long block = (long long)blockIdx.y * gridDim.x + blockIdx.x, thread = block * kChecking + threadIdx.x - kBusy;
  const long long threads = (long long)gridDim.x * gridDim.y * kChecking;
  checkOffsets((const long long*)a.query_off, a.nq, a.tq, 1, a.status, a.tag, thread, threads);
  checkOffsets((const long long*)a.doc_off, a.nd, a.td, 4, a.status, a.tag, thread, threads);
}

}  // namespace plaid
