// Row kernels' building blocks: 16-byte packs of narrow elements, and reductions over the threads
// that share a row. Used by rownorm, rowmap and loss.
//
// A block is dim3(tx, ty): tx threads (a power of two; below a warp, tx lanes) share a row and ty rows
// stand side by side. Thread x owns the packs x, x+tx, x+2tx, ... of its row. That mapping and the order
// of every sum depend on tx alone, never on addresses: a row that is not 16-byte aligned is read element by
// element into the same packs, so the bits of a result do not depend on where its operands lie.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "common/stream.cuh"

namespace rows {

constexpr int kLanes = 32;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kMaxWarps = 32; // of a block

__device__ __forceinline__ float widen(float v) { return v; }
__device__ __forceinline__ float widen(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ __forceinline__ float widen(__half v) { return __half2float(v); }

// narrow rounds to nearest, ties to even, once.
template <class T> __device__ __forceinline__ T narrow(float v);
template <> __device__ __forceinline__ float narrow<float>(float v) { return v; }
template <> __device__ __forceinline__ __nv_bfloat16 narrow<__nv_bfloat16>(float v) { return __float2bfloat16_rn(v); }
template <> __device__ __forceinline__ __half narrow<__half>(float v) { return __float2half_rn(v); }

// pair is two values as T in one word, the first in its lower half. On sm_90 the conversion of two is one instruction at full
// rate, where that of one alone runs at a quarter of it.
template <class T> __device__ __forceinline__ unsigned pair(float lower, float upper);
template <> __device__ __forceinline__ unsigned pair<__nv_bfloat16>(float lower, float upper) {
  __nv_bfloat162 p = __floats2bfloat162_rn(lower, upper);
  return *reinterpret_cast<const unsigned*>(&p);
}
template <> __device__ __forceinline__ unsigned pair<__half>(float lower, float upper) {
  __half2 p = __floats2half2_rn(lower, upper);
  return *reinterpret_cast<const unsigned*>(&p);
}

// rounded is v as T would store it.
template <class T> __device__ __forceinline__ float rounded(float v);
template <> __device__ __forceinline__ float rounded<float>(float v) { return v; }
// The upper half of a word is the bf16 as an f32 already.
template <> __device__ __forceinline__ float rounded<__nv_bfloat16>(float v) { return __uint_as_float(pair<__nv_bfloat16>(0.0f, v)); }
template <> __device__ __forceinline__ float rounded<__half>(float v) {
  return __half2float(__ushort_as_half((unsigned short)(pair<__half>(v, 0.0f) & 0xffffu)));
}

// Words splits a pack's 32-bit words into elements and back.
template <class T> struct Words;

template <> struct Words<float> {
  static constexpr int kPer = 1;
  static __device__ __forceinline__ float get(unsigned w, int) { return __uint_as_float(w); }
  static __device__ __forceinline__ unsigned put(const float* v) { return __float_as_uint(v[0]); }
};

template <> struct Words<__nv_bfloat16> {
  static constexpr int kPer = 2;
  // A bf16 is the upper half of its f32: one shift or mask, no conversion instruction.
  static __device__ __forceinline__ float get(unsigned w, int i) { return __uint_as_float(i ? w & 0xffff0000u : w << 16); }
  static __device__ __forceinline__ unsigned put(const float* v) { return pair<__nv_bfloat16>(v[0], v[1]); }
};

template <> struct Words<__half> {
  static constexpr int kPer = 2;
  static __device__ __forceinline__ float get(unsigned w, int i) { return __half2float(__ushort_as_half(i ? w >> 16 : w & 0xffffu)); }
  static __device__ __forceinline__ unsigned put(const float* v) { return pair<__half>(v[0], v[1]); }
};

// Pack is 16 bytes of a row, kept as loaded: half the registers of widened elements.
template <class T> struct Pack {
  static constexpr int kSize = 16 / sizeof(T);
  static constexpr int kPer = Words<T>::kPer;
  unsigned w[4];

  __device__ __forceinline__ float get(int i) const { return Words<T>::get(w[i / kPer], i % kPer); }

  __device__ __forceinline__ void set(const float* v) {
#pragma unroll
    for (int i = 0; i < 4; i++) w[i] = Words<T>::put(v + i * kPer);
  }

  // filled is a pack of equal elements.
  static __device__ __forceinline__ Pack filled(float v) {
    float e[kPer];
#pragma unroll
    for (int i = 0; i < kPer; i++) e[i] = v;
    Pack p;
#pragma unroll
    for (int i = 0; i < 4; i++) p.w[i] = Words<T>::put(e);
    return p;
  }
};

// loadWide and loadElements read this thread's V packs of a row of n elements, which is wide (isWide) or is not;
// elements beyond n are fill. They are two functions so that a caller branches once around all its packs: then
// the loads of all are in flight together.
template <class T, int V> __device__ __forceinline__ void loadWide(Pack<T> (&p)[V], const T* row, long long n, float fill = 0.0f) {
#pragma unroll
  for (int v = 0; v < V; v++) {
    long long col = ((long long)v * blockDim.x + threadIdx.x) * Pack<T>::kSize;
    p[v] = Pack<T>::filled(fill);
    loadStreaming16(row + col, p[v].w, col < n);
  }
}

template <class T, int V> __device__ __forceinline__ void loadElements(Pack<T> (&p)[V], const T* row, long long n, float fill = 0.0f) {
  constexpr int N = Pack<T>::kSize;
#pragma unroll
  for (int v = 0; v < V; v++) {
    long long col = ((long long)v * blockDim.x + threadIdx.x) * N;
    float e[N];
#pragma unroll
    for (int i = 0; i < N; i++) e[i] = col + i < n ? widen(row[col + i]) : fill;
    p[v].set(e);
  }
}

template <class T, int V> __device__ __forceinline__ void load(Pack<T> (&p)[V], const T* row, long long n, bool wide, float fill = 0.0f) {
  if (wide)
    loadWide(p, row, n, fill);
  else
    loadElements(p, row, n, fill);
}

// loadCached is load for a row that all rows share: it stays in L1. The packs are those of a type T with N elements in
// 16 bytes, whose elements here may be wider: Q packs of W for one of T.
template <int N, class W, int V, int Q> __device__ __forceinline__ void loadCached(Pack<W> (&p)[V][Q], const W* row, long long n, bool wide) {
  static_assert(Q * Pack<W>::kSize == N, "Q packs of W hold one pack's elements");
  if (wide) {
#pragma unroll
    for (int v = 0; v < V; v++) {
      long long col = ((long long)v * blockDim.x + threadIdx.x) * N;
#pragma unroll
      for (int q = 0; q < Q; q++) {
        uint4 u = make_uint4(0, 0, 0, 0);
        if (col + q * Pack<W>::kSize < n) u = __ldg((const uint4*)(row + col) + q);
        p[v][q].w[0] = u.x, p[v][q].w[1] = u.y, p[v][q].w[2] = u.z, p[v][q].w[3] = u.w;
      }
    }
    return;
  }
#pragma unroll
  for (int v = 0; v < V; v++) {
    long long col = ((long long)v * blockDim.x + threadIdx.x) * N;
    float e[N];
#pragma unroll
    for (int i = 0; i < N; i++) e[i] = col + i < n ? widen(row[col + i]) : 0.0f;
#pragma unroll
    for (int q = 0; q < Q; q++) p[v][q].set(e + q * Pack<W>::kSize);
  }
}

// store writes this thread's V packs of a row of n elements.
template <class T, int V> __device__ __forceinline__ void store(const Pack<T> (&p)[V], T* row, long long n, bool wide) {
  constexpr int N = Pack<T>::kSize;
  if (wide) {
#pragma unroll
    for (int v = 0; v < V; v++) {
      long long col = ((long long)v * blockDim.x + threadIdx.x) * N;
      if (col < n) store16(row + col, p[v].w);
    }
    return;
  }
#pragma unroll
  for (int v = 0; v < V; v++) {
    long long col = ((long long)v * blockDim.x + threadIdx.x) * N;
#pragma unroll
    for (int i = 0; i < N; i++)
      if (col + i < n) row[col + i] = narrow<T>(p[v].get(i));
  }
}

// isWide says that all rows of n elements from base, pitch elements apart, consist of whole aligned packs.
template <class T> __device__ __forceinline__ bool isWide(unsigned long long base, long long pitch, long long n) {
  return ((base | (unsigned long long)pitch * sizeof(T) | (unsigned long long)n * sizeof(T)) & 15) == 0;
}

struct Sum {
  template <class E> static __device__ __forceinline__ E apply(E a, E b) { return a + b; }
};

// Max of floats ignores NaN, as fmaxf; callers find NaN in the sum that follows.
struct Max {
  static __device__ __forceinline__ float apply(float a, float b) { return fmaxf(a, b); }
  static __device__ __forceinline__ unsigned long long apply(unsigned long long a, unsigned long long b) { return a > b ? a : b; }
};

// Group is the tx threads of this thread's row, reducing R values of type E at a time. Its slots alternate, so one
// barrier per reduction is enough: a slot is written again only after the next reduction's barrier. All threads
// of the block call reduce together, the same number of times.
template <class E, int R> struct Group {
  using Slots = E[2][kMaxWarps][R]; // in shared memory

  Slots& slots;
  int tx, warp, first, parity;

  __device__ __forceinline__ explicit Group(Slots& s) : slots(s), tx(blockDim.x), parity(0) {
    warp = (threadIdx.y * blockDim.x + threadIdx.x) / kLanes;
    first = threadIdx.y * blockDim.x / kLanes;
  }

  // reduce leaves the same bits in all threads of the group: a butterfly of a commutative operation.
  template <class Op> __device__ __forceinline__ void reduce(E (&v)[R]) {
    for (int o = min(tx, kLanes) / 2; o > 0; o >>= 1) across<Op>(v, o);
    if (tx <= kLanes) return;
    int lane = threadIdx.x % kLanes, warps = tx / kLanes;
    if (lane == 0)
#pragma unroll
      for (int r = 0; r < R; r++) slots[parity][warp][r] = v[r];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < R; r++) v[r] = slots[parity][first + (lane & (warps - 1))][r]; // tx is a power of two
    for (int o = warps / 2; o > 0; o >>= 1) across<Op>(v, o);
    parity ^= 1;
  }

  // across joins the values of lanes o apart.
  template <class Op> static __device__ __forceinline__ void across(E (&v)[R], int o) {
#pragma unroll
    for (int r = 0; r < R; r++) v[r] = Op::apply(v[r], __shfl_xor_sync(kAllLanes, v[r], o));
  }
};

// Compensated is a running sum that keeps what each addition rounds away (Neumaier), for rows too long for
// a plain f32 chain.
struct Compensated {
  float sum = 0.0f, lost = 0.0f;
  __device__ __forceinline__ void add(float v) {
    float t = sum + v;
    lost += fabsf(sum) >= fabsf(v) ? (sum - t) + v : (v - t) + sum;
    sum = t;
  }
  // An infinite or NaN sum has a meaningless rest.
  __device__ __forceinline__ float value() const { return isfinite(sum) ? sum + lost : sum; }
};

}  // namespace rows
