// softmax: y = exp(x - max) / sum of exp(x - max), along each row.
//
// Axes rows, n. X [rows, n] in T, rows x_stride elements apart; Y [rows, n] in T, dense, may be X itself. A row
// of -inf alone gives 0; a row with NaN or +inf gives NaN. n is any width; offsets are 64-bit. The exponential is
// expf (2 ulp), never the fast one: exp2 of a rounded product loses |x - max| ulp.
//
// Entries softmax_<T>_<variant>_<stage>:
//   naive           one thread per row, three passes. grid ceil(rows/128), block 128.
//   cached_row      the row stays in registers between its one read and its one write. block (tx, ty), tx a
//                   power of two with tx*4 packs of 16 bytes >= n, tx*ty a multiple of 32 and <= 1024;
//                   grid min(ceil(rows/ty), any): blocks stride over rows.
//   cached_wide     rows too long for that: one block (1024, 1) per row reads it twice, the second time mostly
//                   from L2, with a running maximum. grid min(rows, any).
// Shared memory: 256 bytes. Requires sm_80.
#include "args/softmax_args.h"
#include "common/rows.cuh"

namespace {

using namespace rows;

// V packs of a row per thread: 64 bytes in flight each, and 64 registers allow 1024 threads on a multiprocessor.
constexpr int V = 4;

__device__ __forceinline__ float minusInf() { return __int_as_float(0xff800000); }

// shift is what is taken off the logits: 0 for a row of -inf, whose terms are then exp(-inf) = 0 and not NaN.
__device__ __forceinline__ float shift(float top) { return top == minusInf() ? 0.0f : top; }

// scale is 0 for the empty sum: only a row of -inf has one.
__device__ __forceinline__ float scale(float sum) { return sum == 0.0f ? 0.0f : 1.0f / sum; }

template <class T> __device__ void naive(const softmax_args& a) {
  long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= a.rows) return; // no barrier below
  const T* x = (const T*)a.x + row * a.x_stride;
  T* y = (T*)a.y + row * a.n;
  float top = minusInf();
  for (long long i = 0; i < a.n; i++) top = fmaxf(top, widen(x[i]));
  Compensated sum;
  for (long long i = 0; i < a.n; i++) sum.add(expf(widen(x[i]) - shift(top)));
  float k = scale(sum.value());
  for (long long i = 0; i < a.n; i++) y[i] = narrow<T>(expf(widen(x[i]) - shift(top)) * k);
}

template <class T> __device__ __forceinline__ void row(const softmax_args& a) {
  constexpr int N = Pack<T>::kSize;
  __shared__ Group<float, 1>::Slots slots;
  Group<float, 1> group(slots);
  const bool wideX = isWide<T>(a.x, a.x_stride, a.n), wideY = isWide<T>(a.y, a.n, a.n);
  // base is the block's first row, so that all its threads leave the loop together.
  for (long long base = (long long)blockIdx.x * blockDim.y; base < a.rows; base += (long long)gridDim.x * blockDim.y) {
    long long r = base + threadIdx.y;
    long long n = r < a.rows ? a.n : 0;
    Pack<T> p[V];
    load(p, (const T*)a.x + r * a.x_stride, n, wideX, minusInf());
    float e[V][N], top[1] = {minusInf()}, sum[1] = {0.0f};
#pragma unroll
    for (int v = 0; v < V; v++)
#pragma unroll
      for (int i = 0; i < N; i++) top[0] = fmaxf(top[0], e[v][i] = p[v].get(i));
    group.reduce<Max>(top);
    float s = shift(top[0]);
#pragma unroll
    for (int v = 0; v < V; v++)
#pragma unroll
      for (int i = 0; i < N; i++) sum[0] += e[v][i] = expf(e[v][i] - s);
    group.reduce<Sum>(sum);
    float k = scale(sum[0]);
#pragma unroll
    for (int v = 0; v < V; v++) {
#pragma unroll
      for (int i = 0; i < N; i++) e[v][i] *= k;
      p[v].set(e[v]);
    }
    store(p, (T*)a.y + r * a.n, n, wideY);
  }
}

// Online is the running maximum of a thread and the sum of exponentials relative to it.
struct Online {
  float top = minusInf();
  Compensated sum;
  __device__ __forceinline__ void rescale(float to) {
    float f = expf(top - shift(to)); // 0 while top is -inf: then the sum is 0 or NaN
    sum.sum *= f;
    sum.lost *= f;
    top = to;
  }
};

template <class T> __device__ __forceinline__ void wide(const softmax_args& a) {
  constexpr int N = Pack<T>::kSize;
  __shared__ Group<float, 1>::Slots slots;
  Group<float, 1> group(slots);
  const bool wideX = isWide<T>(a.x, a.x_stride, a.n), wideY = isWide<T>(a.y, a.n, a.n);
  const long long chunk = (long long)V * blockDim.x * N;
  for (long long r = blockIdx.x; r < a.rows; r += gridDim.x) {
    const T* x = (const T*)a.x + r * a.x_stride;
    T* y = (T*)a.y + r * a.n;
    Online o;
    for (long long c = 0; c < a.n; c += chunk) {
      Pack<T> p[V];
      load(p, x + c, a.n - c, wideX, minusInf());
      float top = o.top, sum = 0.0f;
#pragma unroll
      for (int v = 0; v < V; v++)
#pragma unroll
        for (int i = 0; i < N; i++) top = fmaxf(top, p[v].get(i));
      if (top > o.top) o.rescale(top);
      float s = shift(top);
#pragma unroll
      for (int v = 0; v < V; v++)
#pragma unroll
        for (int i = 0; i < N; i++) sum += expf(p[v].get(i) - s);
      o.sum.add(sum);
    }
    float top[1] = {o.top};
    group.reduce<Max>(top);
    o.rescale(top[0]);
    float sum[1] = {o.sum.value()};
    group.reduce<Sum>(sum);
    float s = shift(top[0]), k = scale(sum[0]);
    for (long long c = 0; c < a.n; c += chunk) {
      Pack<T> p[V];
      load(p, x + c, a.n - c, wideX, minusInf());
#pragma unroll
      for (int v = 0; v < V; v++) {
        float e[N];
#pragma unroll
        for (int i = 0; i < N; i++) e[i] = expf(p[v].get(i) - s) * k;
        p[v].set(e);
      }
      store(p, y + c, a.n - c, wideY);
    }
  }
}

}  // namespace

#define SOFTMAX(name, T)                                                                                                            \
  extern "C" __global__ void __launch_bounds__(128) softmax_##name##_naive(const __grid_constant__ softmax_args a) { naive<T>(a); } \
  extern "C" __global__ void __launch_bounds__(1024) softmax_##name##_cached_row(const __grid_constant__ softmax_args a) { row<T>(a); } \
  extern "C" __global__ void __launch_bounds__(1024) softmax_##name##_cached_wide(const __grid_constant__ softmax_args a) { wide<T>(a); }

SOFTMAX(f32, float)
SOFTMAX(bf16, __nv_bfloat16)
SOFTMAX(f16, __half)
