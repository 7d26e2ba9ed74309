// rbf_matmul for one column of V and few components: the row points stay in registers.
#pragma once

#include "args/rbf_matmul_args.h"
#include "common/stream.cuh"
#include "pairwise/sums.cuh"

namespace pairwise {

// Points has R rows of up to D components per thread of a block of kThreads. A column's components and value are read from
// shared memory by all lanes at once, so that one or two loads serve R pairs.
template <class T, int D, int R> struct Points {
  static constexpr int kCols = 64;                                  // of a tile
  static constexpr int kPitch = D <= 2 ? D : (D + 3) / 4 * 4;       // 16-byte columns
  static constexpr int kTileTerms = kCols;                          // per lane
  struct Shared {
    T y[2][kCols][kPitch];
    T v[2][kCols];
  };

  const rbf_matmul_args& a;
  Shared& sh;
  const long long row; // the thread's first; the others are kThreads apart
  const int t = threadIdx.x;

  __device__ __forceinline__ Points(const rbf_matmul_args& args, Shared& shared)
      : a(args), sh(shared), row((long long)blockIdx.x * (kThreads * R) + threadIdx.x) {}

  // copy starts the tile of columns from j; components and columns that do not exist are zero.
  __device__ __forceinline__ void copy(int buffer, long long j) {
    const T *y = (const T*)a.y, *v = (const T*)a.v;
#pragma unroll
    for (int i = 0; i < (kCols * D + kThreads - 1) / kThreads; i++) {
      int e = i * kThreads + t, p = e / D, k = e % D;
      if (kCols * D % kThreads && e >= kCols * D) break;
      bool live = j + p < a.m && k < a.d;
      copyAsync(&sh.y[buffer][p][k], live ? y + (j + p) * a.d + k : y, live);
    }
    if (t < kCols) copyAsync(&sh.v[buffer][t], j + t < a.m ? v + j + t : v, j + t < a.m);
  }

  __device__ __forceinline__ void loadRows(T (&x)[R][D]) {
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
      for (int k = 0; k < D; k++) {
        long long i = row + r * kThreads;
        x[r][k] = i < a.n && k < a.d ? ((const T*)a.x)[i * a.d + k] : T(0);
      }
  }

  template <class Value> __device__ __forceinline__ void multiply(int buffer, const T (&x)[R][D], const Value& value, Sums<T, R, 1>& acc) {
#pragma unroll 1
    for (int j = 0; j < kCols; j += 4) {
      T v[4];
      get4(&sh.v[buffer][j], v);
#pragma unroll
      for (int c = 0; c < 4; c++) {
        T y[kPitch];
#pragma unroll
        for (int k = 0; k < kPitch; k++) y[k] = sh.y[buffer][j + c][k];
#pragma unroll
        for (int r = 0; r < R; r++) {
          T u = 0;
#pragma unroll
          for (int k = 0; k < D; k++) {
            T e = x[r][k] - y[k];
            u += e * e;
          }
          acc.lane[r][0] += value(u) * v[c];
        }
      }
    }
  }

  // run streams the columns of the tiles [tile, end): one tile is in flight while another is used.
  __device__ __forceinline__ void run(long long tile, long long end, Sums<T, R, 1>& acc) {
    const typename Exponential<T>::Type value(a.gamma);
    T x[R][D];
    loadRows(x);
    if (tile < end) copy(0, tile * kCols);
    commitCopies();
    int terms = 0;
    for (int buffer = 0; tile < end; tile++, buffer ^= 1) {
      awaitCopies<0>();
      __syncthreads(); // this tile has come; all are done with the one before
      if (tile + 1 < end) copy(buffer ^ 1, (tile + 1) * kCols);
      commitCopies();
      multiply(buffer, x, value, acc);
      terms += kTileTerms;
      if (terms + kTileTerms > kLaneTerms) acc.drain(), terms = 0;
    }
    acc.drain();
  }

  __device__ __forceinline__ void leave(const Sums<T, R, 1>& acc) {
#pragma unroll
    for (int r = 0; r < R; r++) {
      long long i = row + r * kThreads;
      if (i < a.n) put<T>(a, i, acc.get(r, 0));
    }
  }
};

template <class T, int D, int R> __device__ __forceinline__ void points(const rbf_matmul_args& a) {
  alignas(16) __shared__ unsigned char memory[sizeof(typename Points<T, D, R>::Shared)];
  Points<T, D, R> block(a, *(typename Points<T, D, R>::Shared*)memory);
  const Share share(a.m, Points<T, D, R>::kCols);
  Sums<T, R, 1> acc;
  block.run(share.first, share.end, acc);
  block.leave(acc);
  note(a);
}

}  // namespace pairwise
