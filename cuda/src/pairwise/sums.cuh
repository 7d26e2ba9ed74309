// Sums of pairwise products, and how the blocks that split the columns leave them.
#pragma once

#include "args/rbf_matmul_args.h"
#include "pairwise/exponential.cuh"

namespace pairwise {

constexpr int kThreads = 128;    // of a block
constexpr int kLaneTerms = 256;  // added in f32 before f64 takes over
constexpr long long kHeader = 256;

template <class T> struct Exponential;
template <> struct Exponential<float> { using Type = Exponential32; };
template <> struct Exponential<double> { using Type = Exponential64; };

// get4 and put4 move four neighbours by 16-byte accesses.
__device__ __forceinline__ void get4(const float* p, float (&v)[4]) {
  float4 f = *(const float4*)p;
  v[0] = f.x, v[1] = f.y, v[2] = f.z, v[3] = f.w;
}
__device__ __forceinline__ void get4(const double* p, double (&v)[4]) {
  double2 a = *(const double2*)p, b = *(const double2*)(p + 2);
  v[0] = a.x, v[1] = a.y, v[2] = b.x, v[3] = b.y;
}
__device__ __forceinline__ void put4(float* p, const float (&v)[4]) { *(float4*)p = {v[0], v[1], v[2], v[3]}; }
__device__ __forceinline__ void put4(double* p, const double (&v)[4]) {
  *(double2*)p = {v[0], v[1]};
  *(double2*)(p + 2) = {v[2], v[3]};
}

// Sums are R by C running sums: f32 lanes that drain into f64, or f64 alone.
template <class T, int R, int C> struct Sums;

template <int R, int C> struct Sums<float, R, C> {
  float lane[R][C] = {};
  double total[R][C] = {};
  __device__ __forceinline__ void drain() {
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
      for (int c = 0; c < C; c++) total[r][c] += (double)lane[r][c], lane[r][c] = 0.0f;
  }
  __device__ __forceinline__ double get(int r, int c) const { return total[r][c]; }
};

template <int R, int C> struct Sums<double, R, C> {
  double lane[R][C] = {};
  __device__ __forceinline__ void drain() {}
  __device__ __forceinline__ double get(int r, int c) const { return lane[r][c]; }
};

// Share is the tiles of columns that this block's split takes; none may be left for the last.
struct Share {
  long long first, end;
  __device__ __forceinline__ Share(long long m, int cols) {
    const long long tiles = (m + cols - 1) / cols, each = (tiles + gridDim.y - 1) / gridDim.y;
    first = min(blockIdx.y * each, tiles);
    end = min(first + each, tiles);
  }
};

// put writes element i of O, or of this split's partials.
template <class T> __device__ __forceinline__ void put(const rbf_matmul_args& a, long long i, double s) {
  if (gridDim.y == 1)
    ((T*)a.o)[i] = (T)s;
  else
    ((double*)(a.scratch + kHeader))[(long long)blockIdx.y * a.n * a.c + i] = s;
}

// note leaves the number of splits for the stage that adds them.
__device__ __forceinline__ void note(const rbf_matmul_args& a) {
  if (gridDim.y > 1 && blockIdx.x + blockIdx.y + blockIdx.z == 0 && threadIdx.x == 0) *(long long*)a.scratch = gridDim.y;
}

}  // namespace pairwise
