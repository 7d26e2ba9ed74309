// softmax_backward: dx = y (dy - sum of dy y), along each row.
//
// Axes rows, n. Y, DY, DX [rows, n] in T, dense; DX may be DY. A row where y is 0 has dx 0. n is any width; offsets are
// 64-bit.
//
// Entries softmax_backward_<T>_<variant>_<stage>:
//   naive         one thread per row, two passes. grid ceil(rows/128), block 128.
//   cached_row    both rows stay in registers between their one read and the one write. block (tx, ty), tx a power of two
//                 with tx*2 packs of 16 bytes >= n, tx*ty a multiple of 32 and <= 1024; grid min(ceil(rows/ty), any).
//   cached_wide   rows too long for that: one block (1024, 1) per row reads them twice, the second time mostly from L2; its
//                 sum is compensated. grid min(rows, any).
// Shared memory: 256 bytes. Requires sm_80.
#include "args/softmax_backward_args.h"
#include "common/rows.cuh"

namespace {

using namespace rows;

// V packs of each operand per thread: 64 bytes in flight, as in the forward kernel.
constexpr int V = 2;

template <class T> __device__ void naive(const softmax_backward_args& a) {
  long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= a.rows) return; // no barrier below
  const T *y = (const T*)a.y + row * a.n, *dy = (const T*)a.dy + row * a.n;
  T* dx = (T*)a.dx + row * a.n;
  Compensated sum;
  for (long long i = 0; i < a.n; i++) sum.add(widen(y[i]) * widen(dy[i]));
  float s = sum.value();
  for (long long i = 0; i < a.n; i++) dx[i] = narrow<T>(widen(y[i]) * (widen(dy[i]) - s));
}

// loadBoth branches once for both operands, so that all loads are in flight together.
template <class T> __device__ __forceinline__ void loadBoth(Pack<T> (&y)[V], Pack<T> (&dy)[V], const T* rowY, const T* rowDY, long long n, bool wide) {
  if (wide) {
    loadWide(y, rowY, n);
    loadWide(dy, rowDY, n);
  } else {
    loadElements(y, rowY, n);
    loadElements(dy, rowDY, n);
  }
}

template <class T> __device__ __forceinline__ float dot(const Pack<T> (&y)[V], const Pack<T> (&dy)[V]) {
  float s[V];
#pragma unroll
  for (int v = 0; v < V; v++) {
    s[v] = 0.0f;
#pragma unroll
    for (int i = 0; i < Pack<T>::kSize; i++) s[v] = fmaf(y[v].get(i), dy[v].get(i), s[v]);
  }
  return s[0] + s[1];
}

// apply turns dy into dx.
template <class T> __device__ __forceinline__ void apply(Pack<T> (&y)[V], Pack<T> (&dy)[V], float sum) {
  constexpr int N = Pack<T>::kSize;
#pragma unroll
  for (int v = 0; v < V; v++) {
    forget(y[v].w); // packed across the reduction: half the registers
    forget(dy[v].w);
    float e[N];
#pragma unroll
    for (int i = 0; i < N; i++) e[i] = y[v].get(i) * (dy[v].get(i) - sum);
    dy[v].set(e);
  }
}

template <class T> __device__ __forceinline__ void row(const softmax_backward_args& a) {
  __shared__ Group<float, 1>::Slots slots;
  Group<float, 1> group(slots);
  const bool wide = isWide<T>(a.y, a.n, a.n) && isWide<T>(a.dy, a.n, a.n), wideDX = isWide<T>(a.dx, a.n, a.n);
  // base is the block's first row, so that all its threads leave the loop together.
  for (long long base = (long long)blockIdx.x * blockDim.y; base < a.rows; base += (long long)gridDim.x * blockDim.y) {
    long long r = base + threadIdx.y, n = r < a.rows ? a.n : 0;
    Pack<T> y[V], dy[V];
    loadBoth(y, dy, (const T*)a.y + r * a.n, (const T*)a.dy + r * a.n, n, wide);
    float sum[1] = {dot(y, dy)};
    group.reduce<Sum>(sum);
    apply(y, dy, sum[0]);
    store(dy, (T*)a.dx + r * a.n, n, wideDX);
  }
}

template <class T> __device__ __forceinline__ void wide(const softmax_backward_args& a) {
  __shared__ Group<float, 1>::Slots slots;
  Group<float, 1> group(slots);
  const bool wide = isWide<T>(a.y, a.n, a.n) && isWide<T>(a.dy, a.n, a.n), wideDX = isWide<T>(a.dx, a.n, a.n);
  const long long chunk = (long long)V * blockDim.x * Pack<T>::kSize;
  for (long long r = blockIdx.x; r < a.rows; r += gridDim.x) {
    const T *rowY = (const T*)a.y + r * a.n, *rowDY = (const T*)a.dy + r * a.n;
    Compensated sum;
    for (long long c = 0; c < a.n; c += chunk) {
      Pack<T> y[V], dy[V];
      loadBoth(y, dy, rowY + c, rowDY + c, a.n - c, wide);
      sum.add(dot(y, dy));
    }
    float total[1] = {sum.value()};
    group.reduce<Sum>(total);
    for (long long c = 0; c < a.n; c += chunk) {
      Pack<T> y[V], dy[V];
      loadBoth(y, dy, rowY + c, rowDY + c, a.n - c, wide);
      apply(y, dy, total[0]);
      store(dy, (T*)a.dx + r * a.n + c, a.n - c, wideDX);
    }
  }
}

}  // namespace

#define SOFTMAX_BACKWARD(name, T)                                                                                                              \
  extern "C" __global__ void __launch_bounds__(128) softmax_backward_##name##_naive(const __grid_constant__ softmax_backward_args a) {         \
    naive<T>(a);                                                                                                                               \
  }                                                                                                                                            \
  extern "C" __global__ void __launch_bounds__(1024) softmax_backward_##name##_cached_row(const __grid_constant__ softmax_backward_args a) {   \
    row<T>(a);                                                                                                                                 \
  }                                                                                                                                            \
  extern "C" __global__ void __launch_bounds__(1024) softmax_backward_##name##_cached_wide(const __grid_constant__ softmax_backward_args a) {  \
    wide<T>(a);                                                                                                                                \
  }

SOFTMAX_BACKWARD(f32, float)
SOFTMAX_BACKWARD(bf16, __nv_bfloat16)
SOFTMAX_BACKWARD(f16, __half)
