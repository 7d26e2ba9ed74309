// residual_maxsim in f32 by register tiles. A block of four warps takes one document after the other: its tokens are dealt to
// the warps in runs of up to 64, each warp decodes 32 components of its tokens at a time to its part of shared memory and
// multiplies them with 32 query tokens; a lane holds 8 query tokens x up to 8 document tokens.
//
// Every dot product is one ascending chain of fused multiply-adds from +0 and every decoded component the operations of
// package codec, so the bits are canonical. Maxima are exact, sums integers.
#pragma once
#include "args/residual_maxsim_args.h"
#include "common/async.cuh"
#include "common/order.cuh"
#include "plaid/plaid_element.cuh"
#include "plaid/plaid_fixed.cuh"
#include "plaid/plaid_listing.cuh"

namespace plaid {

constexpr int kTiledWarps = 4, kTiledThreads = kTiledWarps * kLanes;
constexpr int kRun = 64;                                      // tokens of a warp at a time
constexpr int kSpan = 32;                                     // components decoded at a time
constexpr int kRunBytes = kRun * kSpan * 4;                   // of a warp
constexpr int kQueryRow = 33 * 16;                            // 4 components of 32 query tokens, and a gap against bank conflicts
constexpr int kTiledStaged = kTiledWarps * kRunBytes;

struct TiledState {
  // The weights of the components of a byte (of four bits where they are one each), by its value: four for 1 and 2 bits a
  // component, two for 4, one for 8.
  __align__(16) float weight[1024];
  float best[2][kTiledWarps][kLanes];
};

struct Tiled {
  const residual_maxsim_args& a;
  TiledState& s;
  const Faults& faults;
  unsigned query; // shared address: kQueryRow bytes for each 4 components
  unsigned run;   // shared address of the warp's decoded tokens: row of token t at 128*t, 16 bytes c of it at place c^(t%8)
  int lane, warp, bits;
  float acc[8][8]; // query token 4r+lane/8, document token 8i+lane%8
  float m[8];      // maxima of the query tokens

  // The codes, inverse norms and validity of tokens lane and lane+32 of a run.
  int code[2];
  float inverse[2];
  unsigned valid[2];

  __device__ __forceinline__ Tiled(const residual_maxsim_args& a, TiledState& s, const Faults& faults, unsigned dynamic)
      : a(a), s(s), faults(faults), lane(threadIdx.x % kLanes), warp(threadIdx.x / kLanes), bits((int)a.bits) {
    run = dynamic + warp * kRunBytes;
    query = dynamic + kTiledStaged;
    const int shift = bits <= 2 ? 2 : bits == 4 ? 1 : 0; // of components to an entry
    for (int i = threadIdx.x; i < 1 << (shift + min(bits << shift, 8)); i += kTiledThreads) {
      const int last = (1 << shift) - 1, group = i >> shift >> bits * (last - (i & last)) & ((1 << bits) - 1);
      s.weight[i] = ((const float*)a.weight)[__brev(group) >> (32 - bits)];
    }
  }

  // loadQuery brings rows query tokens from the first to shared memory; the others are zeros.
  __device__ void loadQuery(long long first, int rows) {
    const int quads = (int)a.d / 4;
    const float4* from = (const float4*)a.query + first * quads;
    __syncthreads(); // the rows before have been read, the weights are written
    for (int row = warp; row < kLanes; row += kTiledWarps)
      for (int c = lane; c < quads; c += kLanes) {
        float4 v = {0, 0, 0, 0};
        if (row < rows) v = from[row * quads + c];
        storeShared16(query + c * kQueryRow + row * 16, v);
      }
    __syncthreads();
  }

  static __device__ __forceinline__ void storeShared16(unsigned at, float4 v) {
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(at), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
  }

  static __device__ __forceinline__ void load(float (&v)[4], unsigned at) {
    uint4 w = loadShared16(at);
    v[0] = __uint_as_float(w.x), v[1] = __uint_as_float(w.y), v[2] = __uint_as_float(w.z), v[3] = __uint_as_float(w.w);
  }

  static __device__ __forceinline__ void loadPair(float* v, const float* at) {
    const float2 w = *(const float2*)at;
    v[0] = w.x, v[1] = w.y;
  }

  // weights are those of components 4i..4i+3 of a row.
  template <int Bits> __device__ __forceinline__ void weights(float (&w)[4], const unsigned char* row, int i) const {
    if constexpr (Bits == 1) load(w, sharedAddress(s.weight) + (row[i / 2] >> (i % 2 ? 0 : 4) & 15) * 16);
    if constexpr (Bits == 2) load(w, sharedAddress(s.weight) + row[i] * 16);
    if constexpr (Bits == 4) loadPair(w, s.weight + row[2 * i] * 2), loadPair(w + 2, s.weight + row[2 * i + 1] * 2);
    if constexpr (Bits == 8)
      for (int j = 0; j < 4; j++) w[j] = s.weight[row[4 * i + j]];
  }

  template <int Bits> __device__ __forceinline__ float4 decode(const unsigned char* row, int i, float4 c, float inv) const {
    float w[4];
    weights<Bits>(w, row, i);
    return {__fmul_rn(__fadd_rn(c.x, w[0]), inv), __fmul_rn(__fadd_rn(c.y, w[1]), inv), __fmul_rn(__fadd_rn(c.z, w[2]), inv), __fmul_rn(__fadd_rn(c.w, w[3]), inv)};
  }

  // norm is the inverse norm of a token, squares added in ascending order.
  template <int Bits> __device__ __forceinline__ float norm(long long u, int code) const {
    const float4* c = (const float4*)a.centroid + code * (a.d / 4);
    const unsigned char* row = (const unsigned char*)a.packed + u * a.rb;
    float sum = 0;
#pragma unroll 1
    for (int i = 0; i < (int)a.d / 4; i++) {
      const float4 v = decode<Bits>(row, i, c[i], 1.0f);
      sum = __fadd_rn(sum, __fmul_rn(v.x, v.x)), sum = __fadd_rn(sum, __fmul_rn(v.y, v.y));
      sum = __fadd_rn(sum, __fmul_rn(v.z, v.z)), sum = __fadd_rn(sum, __fmul_rn(v.w, v.w));
    }
    return inverseNorm(sum);
  }

  __device__ float norm(long long u, int code) const {
    switch (bits) {
      case 1: return norm<1>(u, code);
      case 2: return norm<2>(u, code);
      case 4: return norm<4>(u, code);
      default: return norm<8>(u, code);
    }
  }

  // begin reads what the n tokens from u need beside their components.
  __device__ __forceinline__ void begin(long long u, int n) {
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int t = h * kLanes + lane;
      int c = t < n ? ((const int*)a.code)[u + t] : 0;
      const bool in = c >= 0 && c < a.k;
      if (!in) faults.badCode(u + t), c = 0;
      code[h] = c, inverse[h] = 1.0f, valid[h] = __ballot_sync(kAllLanes, in && t < n);
      if (t < n && a.inv_norm) inverse[h] = ((const float*)a.inv_norm)[u + t];
      if (t < n && a.normalize) inverse[h] = norm(u + t, c);
    }
  }

  // decodeSpan writes quads x 4 components from k of n tokens from u.
  template <int Bits> __device__ __forceinline__ void decodeSpan(long long u, int n, int k, int quads) {
    const int c = min(lane % 8, quads - 1), d = (int)a.d, rb = (int)a.rb; // lanes without components repeat the last
    const float* centroid = (const float*)a.centroid + k + 4 * c;
    const unsigned char* packed = (const unsigned char*)a.packed + u * a.rb;
    __syncwarp(); // what was here has been read
#pragma unroll 4
    for (int first = 0; first < n; first += 4) { // eight lanes to a token; past the last token, its row again
      const int t = first + lane / 8;
      const int cell = __shfl_sync(kAllLanes, first < kLanes ? code[0] : code[1], t);
      const float inv = __shfl_sync(kAllLanes, first < kLanes ? inverse[0] : inverse[1], t);
      const float4 v = *(const float4*)(centroid + (long long)cell * d);
      storeShared16(run + t * 128 + ((c ^ (t % 8)) << 4), decode<Bits>(packed + min(t, n - 1) * rb, k / 4 + c, v, inv));
    }
    __syncwarp();
  }

  template <int G> __device__ __forceinline__ void multiply(int k, int quads) {
    const unsigned rows = query + k / 4 * kQueryRow + lane / 8 * 16, tokens = run + lane % 8 * 128;
#pragma unroll 1
    for (int c = 0; c < quads; c++) {
      float q[8][4];
#pragma unroll
      for (int r = 0; r < 8; r++) load(q[r], rows + c * kQueryRow + r * 64);
#pragma unroll
      for (int i = 0; i < G; i++) {
        float d[4];
        load(d, tokens + i * 1024 + ((c ^ (lane % 8)) << 4));
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
          for (int r = 0; r < 8; r++) acc[r][i] = __fmaf_rn(q[r][j], d[j], acc[r][i]);
      }
    }
  }

  // tokens takes n <= 64 tokens from u.
  __device__ __forceinline__ void tokens(long long u, int n) {
    begin(u, n);
#pragma unroll
    for (int r = 0; r < 8; r++)
#pragma unroll
      for (int i = 0; i < 8; i++) acc[r][i] = 0.0f;
#pragma unroll 1
    for (int k = 0; k < (int)a.d; k += kSpan) {
      const int quads = min(kSpan, (int)a.d - k) / 4;
      switch (bits) {
        case 1: decodeSpan<1>(u, n, k, quads); break;
        case 2: decodeSpan<2>(u, n, k, quads); break;
        case 4: decodeSpan<4>(u, n, k, quads); break;
        default: decodeSpan<8>(u, n, k, quads);
      }
      switch ((n + 7) / 8) {
        case 1: multiply<1>(k, quads); break;
        case 2: multiply<2>(k, quads); break;
        case 3: multiply<3>(k, quads); break;
        case 4: multiply<4>(k, quads); break;
        case 5: multiply<5>(k, quads); break;
        case 6: multiply<6>(k, quads); break;
        default: multiply<8>(k, quads);
      }
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const bool in = valid[i / 4] >> (i % 4 * 8 + lane % 8) & 1;
#pragma unroll
      for (int r = 0; r < 8; r++) m[r] = maxNaN(m[r], in ? acc[r][i] : negativeInfinity());
    }
  }

  // document finds the maxima of 32 query tokens over the document's tokens and leaves them in s.best[turn].
  __device__ __forceinline__ void document(Span t, int turn) {
#pragma unroll
    for (int r = 0; r < 8; r++) m[r] = negativeInfinity();
#pragma unroll 1
    for (long long u = t.lo; u < t.hi; u += kTiledWarps * kRun) {
      const int n = (int)min(t.hi - u, (long long)kTiledWarps * kRun);
      const int each = ((n + 7) / 8 + kTiledWarps - 1) / kTiledWarps * 8, first = warp * each;
      if (first < n) tokens(u + first, min(each, n - first));
    }
    float mine = 0;
#pragma unroll
    for (int r = 0; r < 8; r++) {
#pragma unroll
      for (int o = 1; o < 8; o *= 2) m[r] = maxNaN(m[r], __shfl_xor_sync(kAllLanes, m[r], o));
      if (lane % 8 == r) mine = m[r];
    }
    s.best[turn][warp][lane % 8 * 4 + lane / 8] = mine;
  }
};

// tiled is the kernel: places of a block stand side by side.
__device__ __forceinline__ void tiled(const residual_maxsim_args& a, unsigned dynamic, TiledState& s) {
  const Faults faults = {a.status, a.tag, 8, 2, 10};
  Tiled w(a, s, faults, dynamic);
  checkAxes(a, 1, 4);
  int turn = 0;
  for (long long i = blockIdx.y; i < a.nq; i += gridDim.y) {
    const Span q = segment((const long long*)a.query_off, i, a.tq);
    const int shift = ((const int*)a.shift)[i];
    const long long places = livePlaces(a, i), each = (places + gridDim.x - 1) / gridDim.x;
    fillPlaces(a, i, places);
    if (a.fixed)
      for (long long e = places + (long long)blockIdx.x * kTiledThreads + threadIdx.x; e < a.c; e += (long long)gridDim.x * kTiledThreads)
        ((long long*)a.fixed)[i * a.c + e] = kFixedNegInf;
    long long loaded = -1;
    for (long long e = blockIdx.x * each; e < min((blockIdx.x + 1) * each, places); e++) { // the same for the block
      const Span t = entryTokens(a, faults, i, e, threadIdx.x == 0);
      const bool owner = w.warp == (int)(e % kTiledWarps);
      FixedSum sum;
      for (long long first = q.lo; t.size() > 0 && (first < q.hi || first == q.lo); first += kLanes) { // once for a query without tokens
        const int rows = (int)min(q.hi - first, (long long)kLanes);
        if (loaded != first) w.loadQuery(first, rows), loaded = first;
        w.document(t, turn);
        __syncthreads(); // the next document writes the other half
        if (owner && w.lane < rows) {
          float best = s.best[turn][0][w.lane];
          for (int o = 1; o < kTiledWarps; o++) best = maxNaN(best, s.best[turn][o][w.lane]);
          sum.add(best, stepsOf(shift));
        }
        turn ^= 1;
      }
      if (!owner) continue;
      sum.join();
      if (w.lane != 0) continue;
      if (sum.beyond()) faults.beyond(i);
      const long long f = t.size() > 0 ? sum.fixed() : kFixedNegInf;
      ((float*)a.score)[i * a.c + e] = fixedScore(f, shift);
      if (a.fixed) ((long long*)a.fixed)[i * a.c + e] = f;
    }
  }
}

}  // namespace plaid
