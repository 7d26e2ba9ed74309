// rms_norm: y = x r (offset + w), r = 1/sqrt(mean(x^2) + eps), along each row.
//
// Axes rows, n. X [rows, n] in T, rows x_stride elements apart; Weight [n] in W or absent (ones, without offset); Y [rows,
// n] in T, dense, may be X itself; RStd f32 [rows] is r. casting: 0 llama rounds x r to T and then the product; 1 gemma
// rounds once; 2 none rounds every step to T. n is any width; offsets are 64-bit.
//
// Entries rms_norm_<T>[_<W>]_<variant>_<stage>:
//   naive           one thread per row, two passes. grid ceil(rows/128), block 128.
//   cached_row      the row stays in registers between its one read and its one write. block (tx, ty), tx a power of two
//                   with tx*4 packs of 16 bytes >= n, tx*ty a multiple of 32 and <= 1024; grid min(ceil(rows/ty), any).
//   cached_wide     rows too long for that: one block (1024, 1) per row reads it twice, the second time mostly from L2; its
//                   sum of squares is compensated. grid min(rows, any).
// The weight row is read from L1 for each row, which the rows pass by without staying there.
// Shared memory: 256 bytes. Requires sm_80.
#include "args/rms_norm_args.h"
#include "rownorm/weights.cuh"

namespace {

using namespace rownorm;

// V packs of a row per thread: 64 bytes in flight each, and 64 registers allow 1024 threads on a multiprocessor.
constexpr int V = 4;

// reciprocal is r from the sum of squares.
template <class T> __device__ __forceinline__ float reciprocal(const rms_norm_args& a, float sum) {
  float mean = a.n ? sum / (float)a.n : 0.0f, eps = (float)a.eps;
  if (a.casting != kNone) return 1.0f / sqrtf(mean + eps);
  return rounded<T>(1.0f / sqrtf(rounded<T>(rounded<T>(mean) + rounded<T>(eps))));
}

// scaled is one element of y before its last rounding.
template <class T> __device__ __forceinline__ float scaled(int casting, float x, float r, float w) {
  float xr = x * r;
  if (casting != kGemma) xr = rounded<T>(xr);
  if (casting == kNone) w = rounded<T>(w);
  return xr * w;
}

template <class T, class W> __device__ void naive(const rms_norm_args& a) {
  long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= a.rows) return; // no barrier below
  const T* x = (const T*)a.x + row * a.x_stride;
  T* y = (T*)a.y + row * a.n;
  Compensated sum;
  for (long long i = 0; i < a.n; i++) sum.add(widen(x[i]) * widen(x[i]));
  float r = reciprocal<T>(a, sum.value());
  ((float*)a.rstd)[row] = r;
  for (long long i = 0; i < a.n; i++) y[i] = narrow<T>(scaled<T>((int)a.casting, widen(x[i]), r, factor<W>(a.weight, a.offset, i)));
}

// squares sums a thread's packs: a chain per pack, then pairs.
template <class T> __device__ __forceinline__ float squares(const Pack<T> (&p)[V]) {
  float s[V];
#pragma unroll
  for (int v = 0; v < V; v++) {
    s[v] = 0.0f;
#pragma unroll
    for (int i = 0; i < Pack<T>::kSize; i++) s[v] = fmaf(p[v].get(i), p[v].get(i), s[v]);
  }
  return (s[0] + s[1]) + (s[2] + s[3]);
}

// scale turns a pack of x into y. w has the factors, this pack's at v.
template <class T, class F> __device__ __forceinline__ void scale(const rms_norm_args& a, Pack<T>& p, const F& w, int v, float r) {
  constexpr int N = Pack<T>::kSize;
  forget(p.w); // packed across the reduction: half the registers
  float e[N];
#pragma unroll
  for (int i = 0; i < N; i++) e[i] = scaled<T>((int)a.casting, p.get(i), r, w.get(v, i));
  p.set(e);
  forget(p.w); // a pack at a time
}

template <class T, class W> __device__ __forceinline__ void row(const rms_norm_args& a) {
  __shared__ Group<float, 1>::Slots slots;
  Group<float, 1> group(slots);
  const bool wideX = isWide<T>(a.x, a.x_stride, a.n), wideY = isWide<T>(a.y, a.n, a.n);
  // base is the block's first row, so that all its threads leave the loop together.
  for (long long base = (long long)blockIdx.x * blockDim.y; base < a.rows; base += (long long)gridDim.x * blockDim.y) {
    long long r = base + threadIdx.y;
    long long n = r < a.rows ? a.n : 0;
    Pack<T> p[V];
    load(p, (const T*)a.x + r * a.x_stride, n, wideX);
    Weights<T, W, V> w;
    w.load(a.weight, a.offset, 0, a.n);
    float sum[1] = {squares(p)};
    group.template reduce<Sum>(sum);
    float k = reciprocal<T>(a, sum[0]);
    if (threadIdx.x == 0 && r < a.rows) ((float*)a.rstd)[r] = k;
#pragma unroll
    for (int v = 0; v < V; v++) scale(a, p[v], w, v, k);
    store(p, (T*)a.y + r * a.n, n, wideY);
  }
}

template <class T, class W> __device__ __forceinline__ void wide(const rms_norm_args& a) {
  __shared__ Group<float, 1>::Slots slots;
  Group<float, 1> group(slots);
  const bool whole = isWide<T>(a.x, a.x_stride, a.n) && isWide<T>(a.y, a.n, a.n);
  const int chunk = V * blockDim.x * Pack<T>::kSize;
  for (long long r = blockIdx.x; r < a.rows; r += gridDim.x) {
    const T* x = (const T*)a.x + r * a.x_stride;
    Compensated sum;
    for (long long c = 0; c < a.n; c += chunk) {
      Pack<T> p[V];
      load(p, x + c, a.n - c, whole);
      sum.add(squares(p));
    }
    float total[1] = {sum.value()};
    group.template reduce<Sum>(total);
    float k = reciprocal<T>(a, total[0]);
    if (threadIdx.x == 0) ((float*)a.rstd)[r] = k;
    T* y = (T*)a.y + r * a.n;
    for (long long c = 0; c < a.n; c += chunk) {
      Pack<T> p[V];
      load(p, x + c, a.n - c, whole);
#pragma unroll
      for (int v = 0; v < V; v++) {
        Weights<T, W, 1> w; // of one pack: those of all need more registers than there are
        w.load(a.weight, a.offset, c + chunk / V * v, a.n);
        scale(a, p[v], w, 0, k);
      }
      store(p, y + c, a.n - c, whole);
    }
  }
}

}  // namespace

#define RMS_NORM(name, T, W)                                                                                                              \
  extern "C" __global__ void __launch_bounds__(128) rms_norm_##name##_naive(const __grid_constant__ rms_norm_args a) { naive<T, W>(a); }    \
  extern "C" __global__ void __launch_bounds__(1024) rms_norm_##name##_cached_row(const __grid_constant__ rms_norm_args a) { row<T, W>(a); } \
  extern "C" __global__ void __launch_bounds__(1024) rms_norm_##name##_cached_wide(const __grid_constant__ rms_norm_args a) { wide<T, W>(a); }

RMS_NORM(f32, float, float)
RMS_NORM(bf16, __nv_bfloat16, __nv_bfloat16)
RMS_NORM(f16, __half, __half)
RMS_NORM(bf16_f32, __nv_bfloat16, float)
RMS_NORM(f16_f32, __half, float)
