// rbf_matmul, variants naive and tiled.
//
// Operation: O = K V with K_ij = e^(-gamma |x_i - y_j|^2), K never stored. Axes: n row points, m column points, d
// components, c right-hand sides; all row-major and dense.
// Arithmetic: distances are sums of squared differences in ascending order of the component; 256 columns are added in
// one float, blocks of 256 in two floats. Both variants do the same operations in the same order: equal bits.
// Geometry: naive: one thread an output, threadgroups of 32 over n x c. tiled: threadgroups of 64 rows by 4 right-hand
// sides.
// Threadgroup memory: tiled: 2560 bytes. Requirements: none.
// Variant: naive reads everything from device memory; tiled stages 32 column points and their values for 64 rows and
// evaluates each exponential once for 4 right-hand sides.
#pragma once
#include "args/rbf_matmul_args.h"
#include "msl/twofloat.h"

enum { RBF_BLOCK = 256, RBF_ROWS = 64, RBF_COLUMNS = 32, RBF_DEPTH = 16, RBF_SIDES = 4 };

static inline float squared_difference(float x, float y, float u) {
  float t = x - y;
  return fma(t, t, u);
}

static inline float rbf_value(float gamma, float u) { return precise::exp(-gamma * u); }

template <typename T>
[[kernel]] void rbf_matmul_naive(device const T *x [[buffer(RBF_MATMUL_X)]], device const T *y [[buffer(RBF_MATMUL_Y)]],
                                 device const T *v [[buffer(RBF_MATMUL_V)]], device T *o [[buffer(RBF_MATMUL_O)]],
                                 constant rbf_matmul_args &a [[buffer(RBF_MATMUL_BUFFER_ARGS)]], uint2 p [[thread_position_in_grid]]) {
  long i = p.x, side = p.y;
  if (i >= a.n) return; // no barrier follows
  twofloat sum = {0, 0};
  for (long block = 0; block < a.m; block += RBF_BLOCK) {
    float acc = 0;
    for (long j = block; j < a.m && j < block + RBF_BLOCK; j++) {
      float u = 0;
      for (long k = 0; k < a.d; k++) u = squared_difference(load(x + i * a.d + k), load(y + j * a.d + k), u);
      acc = fma(rbf_value(a.gamma, u), load(v + j * a.c + side), acc);
    }
    sum = add(sum, acc);
  }
  store(o + i * a.c + side, value_of(sum));
}

struct rbf_memory {
  float y[RBF_COLUMNS * RBF_DEPTH];
  float v[RBF_COLUMNS * RBF_SIDES];
};

// stage copies rows [row, row+count) of a matrix, columns [from, from+width), and fills the rest with 0.
template <typename T>
static inline void stage(threadgroup float *to, device const T *matrix, long row, long rows, long from, long columns, uint width, uint index) {
  for (uint e = index; e < RBF_COLUMNS * width; e += RBF_ROWS) {
    long r = row + e / width, c = from + e % width;
    to[e] = r < rows && c < columns ? load(matrix + r * columns + c) : 0.0f;
  }
}

// distances adds the components of one tile of columns to u.
template <typename T>
static inline void distances(threadgroup rbf_memory &m, device const T *x, device const T *y, long i, long j, constant rbf_matmul_args &a, uint index,
                             thread float *u) {
  for (uint c = 0; c < RBF_COLUMNS; c++) u[c] = 0;
  for (long from = 0; from < a.d; from += RBF_DEPTH) {
    stage(m.y, y, j, a.m, from, a.d, RBF_DEPTH, index);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < RBF_DEPTH && from + k < a.d; k++) {
      float xk = i < a.n ? load(x + i * a.d + from + k) : 0.0f;
      for (uint c = 0; c < RBF_COLUMNS; c++) u[c] = squared_difference(xk, m.y[c * RBF_DEPTH + k], u[c]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}

template <typename T>
[[kernel]] void rbf_matmul_tiled(device const T *x [[buffer(RBF_MATMUL_X)]], device const T *y [[buffer(RBF_MATMUL_Y)]],
                                 device const T *v [[buffer(RBF_MATMUL_V)]], device T *o [[buffer(RBF_MATMUL_O)]],
                                 constant rbf_matmul_args &a [[buffer(RBF_MATMUL_BUFFER_ARGS)]], uint2 g [[threadgroup_position_in_grid]],
                                 uint index [[thread_index_in_threadgroup]]) {
  threadgroup rbf_memory m;
  long i = long(g.x) * RBF_ROWS + index, side = long(g.y) * RBF_SIDES; // rows past n take part in barriers and staging
  twofloat sum[RBF_SIDES];
  float acc[RBF_SIDES], u[RBF_COLUMNS];
  for (uint s = 0; s < RBF_SIDES; s++) {
    sum[s].head = sum[s].tail = 0;
    acc[s] = 0;
  }
  for (long j = 0; j < a.m; j += RBF_COLUMNS) {
    threadgroup_barrier(mem_flags::mem_threadgroup); // the values of the tile before are still read
    stage(m.v, v, j, a.m, side, a.c, RBF_SIDES, index);
    distances(m, x, y, i, j, a, index, u);
    if (a.d == 0) threadgroup_barrier(mem_flags::mem_threadgroup); // distances had none
    for (uint c = 0; c < RBF_COLUMNS && j + c < a.m; c++) {
      float k = rbf_value(a.gamma, u[c]);
      for (uint s = 0; s < RBF_SIDES; s++) acc[s] = fma(k, m.v[c * RBF_SIDES + s], acc[s]);
    }
    if ((j + RBF_COLUMNS) % RBF_BLOCK != 0 && j + RBF_COLUMNS < a.m) continue;
    for (uint s = 0; s < RBF_SIDES; s++) {
      sum[s] = add(sum[s], acc[s]);
      acc[s] = 0;
    }
  }
  for (uint s = 0; s < RBF_SIDES; s++)
    if (i < a.n && side + s < a.c) store(o + i * a.c + side + s, value_of(sum[s]));
}
