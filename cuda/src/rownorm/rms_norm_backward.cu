// rms_norm_backward: with m = dy (offset + w), dx = r m - (r^3/n) (sum of m x) x, and dw = sum over rows of dy (x r).
//
// Axes rows, n. DY, X, DX [rows, n] in T, dense, DX may be DY; Weight and DW [n] in W or absent; RStd f32 [rows]. casting: 0
// llama and 2 none round x r to T before it enters dw, 1 gemma does not. n is any width; offsets are 64-bit.
//
// Entries rms_norm_backward_<T>[_<W>]_<variant>_<stage>:
//   naive_rows      dx, one thread per row. grid ceil(rows/128), block 128.
//   naive_columns   dw, one thread per column. grid ceil(n/128), block 128.
//   cached_rows8    n <= 4096 (8 columns of a row per thread): block (tx, ty) of 512, tx the power of two >= n/8, grid at most
//                   132 (cuda/rms_norm.go). Each row is read once and written once; the next rows' loads fly while these are
//                   reduced. A thread owns its columns in all rows, so dw stays in its registers until one partial
//                   row per block is left in scratch.
//   cached_rows16   n <= 8192, the same with 16 columns.
//   cached_dots     wider rows: r/n (sum of m x) of each row to scratch. grid min(rows, any), block (512, 1).
//   cached_apply    wider rows: dx, and dw partials of a column tile over a share of the rows. grid (ceil(n*sizeof(T)/4096),
//                   shares), block 256.
//   cached_columns  dw: adds the partial rows in order. grid ceil(n/32), block (8, 32).
// The number of partial rows follows from rows and n alone, and every sum has a fixed order: the bits repeat.
// Scratch: a header of 256 bytes, the rows' dots (wide only, rounded up to 256 bytes), then partials of ceil(n/4)*4 f32.
// Shared memory: 18,944 bytes (rows8), 1,028 (rows16), 256 (dots), 4,096 (columns). Requires sm_80.
#include "rownorm/rms_norm_backward.cuh"

namespace {

using namespace rownorm;

constexpr int kTileThreads = 256;

template <class T, class W> __device__ void naiveRows(const rms_norm_backward_args& a) {
  long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= a.rows) return; // no barrier below
  const T *dy = (const T*)a.dy + row * a.n, *x = (const T*)a.x + row * a.n;
  T* dx = (T*)a.dx + row * a.n;
  float r = ((const float*)a.rstd)[row];
  Compensated dot;
  for (long long i = 0; i < a.n; i++) dot.add(widen(dy[i]) * factor<W>(a.weight, a.offset, i) * widen(x[i]));
  float c = r * dot.value() / (float)a.n;
  for (long long i = 0; i < a.n; i++) dx[i] = narrow<T>(r * (widen(dy[i]) * factor<W>(a.weight, a.offset, i) - widen(x[i]) * r * c));
}

// naiveColumns must run before naiveRows: DX may be DY.
template <class T, class W> __device__ void naiveColumns(const rms_norm_backward_args& a) {
  long long col = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= a.n) return; // no barrier below
  Compensated sum;
  for (long long row = 0; row < a.rows; row++) {
    float xr = widen(((const T*)a.x)[row * a.n + col]) * ((const float*)a.rstd)[row];
    if (a.casting != kGemma) xr = rounded<T>(xr);
    sum.add(widen(((const T*)a.dy)[row * a.n + col]) * xr);
  }
  ((W*)a.dw)[col] = narrow<W>(sum.value());
}

template <class T, class W, int V, int R, bool kRound> __device__ __forceinline__ void rowsOf(const rms_norm_backward_args& a, float* shared) {
  __shared__ typename Group<float, R>::Slots slots;
  __shared__ Group<float, 1>::Slots single;
  Rows<T, W, V, R, kRound> rows(a);
  if (isWide<T>(a.dy, a.n, a.n) && isWide<T>(a.x, a.n, a.n))
    rows.runWide(slots);
  else
    rows.runElements(single);
  if (a.dw) leavePartial<T>(a, rows.dw, shared);
}

// cachedRows has C columns of a row per thread. A batch keeps four 16-byte loads per array and thread in flight; the f32
// sums of 16 columns leave 16-bit rows registers for two.
template <class T, class W, int C> __device__ __forceinline__ void cachedRows(const rms_norm_backward_args& a) {
  constexpr int V = C / Pack<T>::kSize, R = C == 8 ? 4 / V : 1;
  __shared__ float shared[C == 8 ? kThreads * C : 1]; // wider rows have ty = 1
  if (a.casting == kGemma)
    rowsOf<T, W, V, R, false>(a, shared);
  else
    rowsOf<T, W, V, R, true>(a, shared);
}

__device__ __forceinline__ long long dotFloats(long long rows) { return (rows + 63) / 64 * 64; }

template <class T, class W> __device__ __forceinline__ void dots(const rms_norm_backward_args& a) {
  constexpr int V = 2;
  __shared__ Group<float, 1>::Slots slots;
  Group<float, 1> group(slots);
  const bool wide = isWide<T>(a.dy, a.n, a.n) && isWide<T>(a.x, a.n, a.n);
  const long long chunk = (long long)V * blockDim.x * Pack<T>::kSize;
  for (long long row = blockIdx.x; row < a.rows; row += gridDim.x) {
    Compensated sum;
    for (long long c = 0; c < a.n; c += chunk) {
      Pack<T> dy[V], x[V];
      load(dy, (const T*)a.dy + row * a.n + c, a.n - c, wide);
      load(x, (const T*)a.x + row * a.n + c, a.n - c, wide);
      Weights<T, W, V> w;
      w.load(a.weight, a.offset, c, a.n);
      sum.add(dot(dy, x, w));
    }
    float d[1] = {sum.value()};
    group.reduce<Sum>(d);
    if (threadIdx.x == 0) ((float*)a.scratch)[kHeaderFloats + row] = ((const float*)a.rstd)[row] * d[0] / (float)a.n;
  }
}

template <class T, class W, bool kRound> __device__ __forceinline__ void tile(const rms_norm_backward_args& a) {
  constexpr int V = 1, N = Pack<T>::kSize, U = 4; // rows in flight
  const bool wide = isWide<T>(a.dy, a.n, a.n) && isWide<T>(a.x, a.n, a.n), wideDX = isWide<T>(a.dx, a.n, a.n);
  const long long from = (long long)blockIdx.x * kTileThreads * N, n = a.n - from;
  const float* c = (const float*)a.scratch + kHeaderFloats;
  Weights<T, W, V> w;
  w.load(a.weight, a.offset, from, a.n);
  float dw[V][N] = {};
  for (long long base = blockIdx.y; base < a.rows; base += (long long)gridDim.y * U) {
    Pack<T> dy[U][V], x[U][V];
#pragma unroll
    for (int u = 0; u < U; u++) {
      long long row = base + (long long)u * gridDim.y, live = row < a.rows ? n : 0;
      load(dy[u], (const T*)a.dy + row * a.n + from, live, wide);
      load(x[u], (const T*)a.x + row * a.n + from, live, wide);
    }
#pragma unroll
    for (int u = 0; u < U; u++) {
      long long row = base + (long long)u * gridDim.y;
      if (row >= a.rows) break;
      apply<T, Weights<T, W, V>, V, kRound>(dy[u], x[u], w, ((const float*)a.rstd)[row], c[row], dw);
      store(dy[u], (T*)a.dx + row * a.n + from, n, wideDX);
    }
  }
  if (!a.dw) return;
  const long long offset = kHeaderFloats + dotFloats(a.rows);
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *(Header*)a.scratch = {gridDim.y, offset};
  float* part = (float*)a.scratch + offset + blockIdx.y * pitch(a.n) + from;
#pragma unroll
  for (int i = 0; i < N; i++) {
    long long col = (long long)threadIdx.x * N + i;
    if (col < n) part[col] = dw[0][i];
  }
}

}  // namespace

#define ENTRY(name, threads, stage) \
  extern "C" __global__ void __launch_bounds__(threads, 1) rms_norm_backward_##name##_##stage(const __grid_constant__ rms_norm_backward_args a)

#define RMS_NORM_BACKWARD(name, T, W)                                      \
  ENTRY(name, 128, naive_rows) { naiveRows<T, W>(a); }                     \
  ENTRY(name, 128, naive_columns) { naiveColumns<T, W>(a); }               \
  ENTRY(name, kThreads, cached_rows8) { cachedRows<T, W, 8>(a); }          \
  ENTRY(name, kThreads, cached_rows16) { cachedRows<T, W, 16>(a); }        \
  ENTRY(name, kThreads, cached_dots) { dots<T, W>(a); }                    \
  ENTRY(name, kTileThreads, cached_apply) {                                \
    if (a.casting == kGemma)                                               \
      tile<T, W, false>(a);                                                \
    else                                                                   \
      tile<T, W, true>(a);                                                 \
  }                                                                        \
  ENTRY(name, 256, cached_columns) { columns<W>(a); }

RMS_NORM_BACKWARD(f32, float, float)
RMS_NORM_BACKWARD(bf16, __nv_bfloat16, __nv_bfloat16)
RMS_NORM_BACKWARD(f16, __half, __half)
RMS_NORM_BACKWARD(bf16_f32, __nv_bfloat16, float)
RMS_NORM_BACKWARD(f16_f32, __half, float)
