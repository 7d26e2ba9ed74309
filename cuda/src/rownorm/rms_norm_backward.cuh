// What the variants of rms_norm_backward share: rows that stay in registers, and the sum of partial rows of dw. The order of
// every sum follows from rows and n alone, so that variants which share it give the same bits.
#pragma once
#include "args/rms_norm_backward_args.h"
#include "common/early.cuh"
#include "rownorm/weights.cuh"

namespace rownorm {

constexpr int kThreads = 512; // of a rows block: with 128 registers each, one block fills a multiprocessor's registers

// Header tells the columns stage what the stage before left.
struct Header {
  long long partials; // rows
  long long offset;   // of the first, in floats from the scratch's start
};

constexpr long long kHeaderFloats = 64;

__device__ __forceinline__ long long pitch(long long n) { return (n + 3) / 4 * 4; }

// input is what enters dw for an x already multiplied by r: rounded in the llama and none modes.
template <class T, bool kRound> __device__ __forceinline__ float input(float xr) { return kRound ? rounded<T>(xr) : xr; }

// inverseOf is 1/n, computed where it stands: kept across the loop it would be a register too many.
__device__ __forceinline__ float inverseOf(long long n) {
  float f = (float)n;
  asm volatile("" : "+f"(f));
  return 1.0f / f;
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

// apply turns dy into dx in place and adds the row to dw. w has the factors, c is r/n (sum of m x).
template <class T, class F, int V, bool kRound>
__device__ __forceinline__ void apply(Pack<T> (&dy)[V], Pack<T> (&x)[V], const F& w, float r, float c,
                                      float (&dw)[V][Pack<T>::kSize]) {
  constexpr int P = Pack<T>::kPer;
#pragma unroll
  for (int v = 0; v < V; v++) {
    forget(dy[v].w); // packed across the reduction: half the registers
    forget(x[v].w);
    // A word at a time: all at once need more registers than there are.
#pragma unroll
    for (int j = 0; j < 4; j++) {
      float e[P];
#pragma unroll
      for (int k = 0; k < P; k++) {
        const int i = j * P + k;
        float g = dy[v].get(i), xr = x[v].get(i) * r;
        dw[v][i] = fmaf(g, input<T, kRound>(xr), dw[v][i]);
        e[k] = r * fmaf(g, w.get(v, i), -xr * c);
      }
      dy[v].w[j] = Words<T>::put(e);
      asm volatile("" : "+r"(dy[v].w[j]));
    }
  }
}

template <class T, class F, int V> __device__ __forceinline__ float dot(const Pack<T> (&dy)[V], const Pack<T> (&x)[V], const F& w) {
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

// leavePartial writes the block's partial row of dw to scratch: the ty sums of a column in order, through shared memory of
// kThreads*V*N floats where ty is more than 1. The first block says where partial rows begin and how many there are.
template <class T, int V> __device__ __forceinline__ void leavePartial(const rms_norm_backward_args& a, const float (&dw)[V][Pack<T>::kSize], float* shared) {
  constexpr int N = Pack<T>::kSize;
  const int width = blockDim.x * V * N;
  if (blockIdx.x == 0 && threadIdx.x == 0 && threadIdx.y == 0) *(Header*)a.scratch = {gridDim.x, kHeaderFloats};
  float* part = (float*)a.scratch + kHeaderFloats + blockIdx.x * pitch(a.n);
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
    const float inverse = inverseOf(a.n);
#pragma unroll
    for (int i = 0; i < M; i++) {
      apply<T, Weights<T, W, V>, V, kRound>(b.dy[i], b.x[i], w, b.r[i], b.r[i] * d[i] * inverse, dw);
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
};

// columns adds the partial rows in order. It may start early.
template <class W> __device__ void columns(const rms_norm_backward_args& a) {
  constexpr int X = 8, Y = 32; // the block
  awaitEarlier();
  letNext();
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

}  // namespace rownorm
