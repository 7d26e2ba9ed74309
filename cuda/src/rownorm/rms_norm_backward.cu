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
#include "args/rms_norm_backward_args.h"
#include "rownorm/weights.cuh"

namespace {

using namespace rownorm;

constexpr int kThreads = 512; // of a rows block: with 128 registers each, one block fills a multiprocessor's registers
constexpr int kTileThreads = 256;

// Header tells the columns stage what the stage before left.
struct Header {
  long long partials; // rows
  long long offset;   // of the first, in floats from the scratch's start
};

constexpr long long kHeaderFloats = 64;

__device__ __forceinline__ long long pitch(long long n) { return (n + 3) / 4 * 4; }

// input is what enters dw for an x already multiplied by r: rounded in the llama and none modes.
template <class T, bool kRound> __device__ __forceinline__ float input(float xr) { return kRound ? rounded<T>(xr) : xr; }

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

// Batch is R rows of this thread's V packs.
template <class T, int V, int R> struct Batch {
  Pack<T> dy[R][V], x[R][V];
  float r[R];

  // load reads rows first..; those from a.rows on are zero and read nothing.
  template <bool kWide> __device__ __forceinline__ void load(const rms_norm_backward_args& a, long long first) {
#pragma unroll
    for (int i = 0; i < R; i++) {
      long long row = first + i, n = row < a.rows ? a.n : 0;
      if constexpr (kWide) {
        loadWide(dy[i], (const T*)a.dy + row * a.n, n);
        loadWide(x[i], (const T*)a.x + row * a.n, n);
      } else {
        loadElements(dy[i], (const T*)a.dy + row * a.n, n);
        loadElements(x[i], (const T*)a.x + row * a.n, n);
      }
      r[i] = row < a.rows ? __ldg((const float*)a.rstd + row) : 0.0f;
    }
  }
};

// apply turns dy into dx in place and adds the row to dw. c is r/n (sum of m x).
template <class T, class W, int V, bool kRound>
__device__ __forceinline__ void apply(Pack<T> (&dy)[V], Pack<T> (&x)[V], const Weights<T, W, V>& w, float r, float c,
                                      float (&dw)[V][Pack<T>::kSize]) {
  constexpr int N = Pack<T>::kSize;
#pragma unroll
  for (int v = 0; v < V; v++) {
    forget(dy[v].w); // packed across the reduction: half the registers
    forget(x[v].w);
    float e[N];
#pragma unroll
    for (int i = 0; i < N; i++) {
      float g = dy[v].get(i), xr = x[v].get(i) * r;
      dw[v][i] = fmaf(g, input<T, kRound>(xr), dw[v][i]);
      e[i] = r * fmaf(g, w.get(v, i), -xr * c);
    }
    dy[v].set(e);
  }
}

template <class T, class W, int V> __device__ __forceinline__ float dot(const Pack<T> (&dy)[V], const Pack<T> (&x)[V], const Weights<T, W, V>& w) {
  float s[V], sum = 0.0f;
#pragma unroll
  for (int v = 0; v < V; v++) {
    s[v] = 0.0f;
#pragma unroll
    for (int i = 0; i < Pack<T>::kSize; i++) s[v] = fmaf(dy[v].get(i) * w.get(v, i), x[v].get(i), s[v]);
    sum += s[v];
  }
  return sum;
}

// Rows is a block's work. Rows of whole aligned packs are batched by R; others go one by one, in the same order and
// with the same sums, since their element loads leave no registers for a batch.
template <class T, class W, int V, int R, bool kRound> struct Rows {
  const rms_norm_backward_args& a;
  Weights<T, W, V> w;
  float dw[V][Pack<T>::kSize];
  bool wideDX;

  __device__ __forceinline__ explicit Rows(const rms_norm_backward_args& args) : a(args), dw{} {
    w.load(a.weight, a.offset, 0, a.n);
    wideDX = isWide<T>(a.dx, a.n, a.n);
  }

  template <int M> __device__ __forceinline__ void process(Batch<T, V, M>& b, Group<float, M>& group, long long first) {
    float d[M];
#pragma unroll
    for (int i = 0; i < M; i++) d[i] = dot(b.dy[i], b.x[i], w);
    group.template reduce<Sum>(d);
#pragma unroll
    for (int i = 0; i < M; i++) {
      apply<T, W, V, kRound>(b.dy[i], b.x[i], w, b.r[i], b.r[i] * d[i] / (float)a.n, dw);
      store(b.dy[i], (T*)a.dx + (first + i) * a.n, first + i < a.rows ? a.n : 0, wideDX);
    }
  }

  // runWide strides the block over batches of ty*R rows, two in turn: while one is reduced the other loads.
  __device__ __forceinline__ void runWide(typename Group<float, R>::Slots& slots) {
    Group<float, R> group(slots);
    const long long step = (long long)gridDim.x * blockDim.y * R, mine = (long long)threadIdx.y * R;
    long long base = (long long)blockIdx.x * blockDim.y * R; // the block's, so that all threads leave together
    Batch<T, V, R> p, q;
    p.template load<true>(a, base + mine);
    while (base < a.rows) {
      q.template load<true>(a, base + step + mine);
      process(p, group, base + mine);
      base += step;
      if (base >= a.rows) break;
      p.template load<true>(a, base + step + mine);
      process(q, group, base + mine);
      base += step;
    }
  }

  __device__ __forceinline__ void runElements(Group<float, 1>::Slots& slots) {
    Group<float, 1> group(slots);
    const long long step = (long long)gridDim.x * blockDim.y * R, mine = (long long)threadIdx.y * R;
    for (long long base = (long long)blockIdx.x * blockDim.y * R; base < a.rows; base += step)
#pragma unroll 1
      for (int i = 0; i < R; i++) {
        Batch<T, V, 1> b;
        b.template load<false>(a, base + mine + i);
        process(b, group, base + mine + i);
      }
  }

  // leave writes the block's partial row: the ty sums of a column in order.
  __device__ __forceinline__ void leave(float* part, float* shared) {
    constexpr int N = Pack<T>::kSize;
    const int width = blockDim.x * V * N;
#pragma unroll
    for (int v = 0; v < V; v++)
#pragma unroll
      for (int i = 0; i < N; i++) {
        int col = (v * blockDim.x + threadIdx.x) * N + i;
        if (blockDim.y > 1)
          shared[threadIdx.y * width + col] = dw[v][i];
        else if (col < a.n)
          part[col] = dw[v][i];
      }
    if (blockDim.y == 1) return; // the same for the block
    __syncthreads();
    for (int col = threadIdx.y * blockDim.x + threadIdx.x; col < a.n; col += kThreads) {
      float s = 0.0f;
      for (int y = 0; y < blockDim.y; y++) s += shared[y * width + col];
      part[col] = s;
    }
  }
};

template <class T, class W, int V, int R, bool kRound> __device__ __forceinline__ void rowsOf(const rms_norm_backward_args& a, float* shared) {
  __shared__ typename Group<float, R>::Slots slots;
  __shared__ Group<float, 1>::Slots single;
  Rows<T, W, V, R, kRound> rows(a);
  if (isWide<T>(a.dy, a.n, a.n) && isWide<T>(a.x, a.n, a.n))
    rows.runWide(slots);
  else
    rows.runElements(single);
  if (!a.dw) return;
  if (blockIdx.x == 0 && threadIdx.x == 0 && threadIdx.y == 0) *(Header*)a.scratch = {gridDim.x, kHeaderFloats};
  rows.leave((float*)a.scratch + kHeaderFloats + blockIdx.x * pitch(a.n), shared);
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
      apply<T, W, V, kRound>(dy[u], x[u], w, ((const float*)a.rstd)[row], c[row], dw);
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

template <class W> __device__ void columns(const rms_norm_backward_args& a) {
  constexpr int X = 8, Y = 32; // the block
  __shared__ float4 sums[Y][X];
  const Header h = a.rows ? *(const Header*)a.scratch : Header{0, 0};
  const long long first = (long long)blockIdx.x * X * 4 + threadIdx.x * 4;
  float4 s = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  if (first < a.n) // partial rows are padded to whole float4
#pragma unroll 5
    for (long long p = threadIdx.y; p < h.partials; p += Y) {
      float4 v = *(const float4*)((const float*)a.scratch + h.offset + p * pitch(a.n) + first);
      s.x += v.x, s.y += v.y, s.z += v.z, s.w += v.w;
    }
  sums[threadIdx.y][threadIdx.x] = s;
  __syncthreads();
  const long long col = (long long)blockIdx.x * X * 4 + threadIdx.y * X + threadIdx.x; // warp 0 takes a column each
  if (threadIdx.y >= 4 || col >= a.n) return;
  float total = 0.0f;
#pragma unroll
  for (int y = 0; y < Y; y++) total += ((const float*)sums[y])[threadIdx.y * X + threadIdx.x];
  ((W*)a.dw)[col] = narrow<W>(total);
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
