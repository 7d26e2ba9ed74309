// rms_norm_backward, variants naive and simdgroup.
//
// Operation: dx = r*m - (r^3/n)(sum of m*x)*x with m = dy * (offset + w); dw = sum over rows of dy * (x*r), x*r rounded
// to T in the modes llama and none. Axes: rows of n elements, dense; DX may be DY; weight and DW are optional.
// Stages: DW reads DY and so runs before the rows, which may overwrite it.
//   naive:     dw: one thread a column adds all rows; rows: one thread a row.
//   simdgroup: partial: threadgroups of 32 columns by 64 rows add their rows in order into the scratch; dw: one thread
//              a column adds the partials in order; rows: one threadgroup a row, 32 threads up to n = 512, else 256.
// Scratch: simdgroup: ceil(rows/64) * n floats if DW is wanted. Threadgroup memory: rows: 128 bytes.
// Requirements: simdgroup: simdgroup reductions.
#pragma once
#include "args/rms_norm_backward_args.h"
#include "rownorm/rms_norm.h"

enum { DW_ROWS = 64 }; // rows of a partial sum of dw

// weight_term is one row's share of dw.
template <typename T>
static inline float weight_term(float dy, float x, float r, uint cast) {
  float xr = x * r;
  if (cast != CAST_GEMMA) xr = element<T>::rounded(xr);
  return dy * xr;
}

template <typename T>
static inline float column_sum(device const T *dy, device const T *x, device const float *rstd, long from, long to, long n, long column, uint cast) {
  float s = 0;
  for (long i = from; i < to; i++) s += weight_term<T>(load(dy + i * n + column), load(x + i * n + column), rstd[i], cast);
  return s;
}

// scaled_gradient is m of one element.
template <typename W>
static inline float scaled_gradient(float dy, device const W *weight, long k, norm_shape s) {
  return s.weight ? dy * (s.offset + load(weight + k)) : dy;
}

// input_gradient is one dx; c is (r^3/n) times the row's sum.
static inline float input_gradient(float m, float x, float r, float c) { return r * m - c * x; }

template <typename T, typename W>
[[kernel]] void rms_norm_backward_dw(device const T *dy [[buffer(RMS_NORM_BACKWARD_DY)]], device const T *x [[buffer(RMS_NORM_BACKWARD_X)]],
                                     device const float *rstd [[buffer(RMS_NORM_BACKWARD_RSTD)]], device W *dw [[buffer(RMS_NORM_BACKWARD_DW)]],
                                     constant rms_norm_backward_args &a [[buffer(RMS_NORM_BACKWARD_BUFFER_ARGS)]],
                                     uint column [[thread_position_in_grid]]) {
  if (long(column) < a.n) store(dw + column, column_sum(dy, x, rstd, 0, a.rows, a.n, column, uint(a.casting)));
}

template <typename T, typename W>
[[kernel]] void rms_norm_backward_partial(device const T *dy [[buffer(RMS_NORM_BACKWARD_DY)]], device const T *x [[buffer(RMS_NORM_BACKWARD_X)]],
                                          device const float *rstd [[buffer(RMS_NORM_BACKWARD_RSTD)]],
                                          device float *partial [[buffer(RMS_NORM_BACKWARD_BUFFER_SCRATCH)]],
                                          constant rms_norm_backward_args &a [[buffer(RMS_NORM_BACKWARD_BUFFER_ARGS)]],
                                          uint2 p [[thread_position_in_grid]]) {
  long column = p.x, from = long(p.y) * DW_ROWS;
  if (column >= a.n) return; // no barrier follows
  long to = from + DW_ROWS < a.rows ? from + DW_ROWS : a.rows;
  partial[long(p.y) * a.n + column] = column_sum(dy, x, rstd, from, to, a.n, column, uint(a.casting));
}

template <typename T, typename W>
[[kernel]] void rms_norm_backward_dw_partials(device W *dw [[buffer(RMS_NORM_BACKWARD_DW)]],
                                              device const float *partial [[buffer(RMS_NORM_BACKWARD_BUFFER_SCRATCH)]],
                                              constant rms_norm_backward_args &a [[buffer(RMS_NORM_BACKWARD_BUFFER_ARGS)]],
                                              uint column [[thread_position_in_grid]]) {
  if (long(column) >= a.n) return; // no barrier follows
  float s = 0;
  for (long b = 0; b * DW_ROWS < a.rows; b++) s += partial[b * a.n + column];
  store(dw + column, s);
}

template <typename T, typename W>
[[kernel]] void rms_norm_backward_rows_naive(device const T *dy [[buffer(RMS_NORM_BACKWARD_DY)]], device const T *x [[buffer(RMS_NORM_BACKWARD_X)]],
                                             device const W *weight [[buffer(RMS_NORM_BACKWARD_WEIGHT)]],
                                             device const float *rstd [[buffer(RMS_NORM_BACKWARD_RSTD)]], device T *dx [[buffer(RMS_NORM_BACKWARD_DX)]],
                                             constant rms_norm_backward_args &a [[buffer(RMS_NORM_BACKWARD_BUFFER_ARGS)]],
                                             uint row [[thread_position_in_grid]]) {
  if (long(row) >= a.rows) return; // no barrier follows
  norm_shape s = {0, a.offset, uint(a.casting), a.weight != 0};
  long at = long(row) * a.n;
  float dot = 0, r = rstd[row];
  for (long k = 0; k < a.n; k++) dot = fma(scaled_gradient(load(dy + at + k), weight, k, s), load(x + at + k), dot);
  float c = r * r * r / float(a.n) * dot;
  for (long k = 0; k < a.n; k++)
    store(dx + at + k, input_gradient(scaled_gradient(load(dy + at + k), weight, k, s), load(x + at + k), r, c));
}

template <typename T, typename W>
[[kernel]] void rms_norm_backward_rows_simdgroup(
    device const T *dy [[buffer(RMS_NORM_BACKWARD_DY)]], device const T *x [[buffer(RMS_NORM_BACKWARD_X)]],
    device const W *weight [[buffer(RMS_NORM_BACKWARD_WEIGHT)]], device const float *rstd [[buffer(RMS_NORM_BACKWARD_RSTD)]],
    device T *dx [[buffer(RMS_NORM_BACKWARD_DX)]], constant rms_norm_backward_args &a [[buffer(RMS_NORM_BACKWARD_BUFFER_ARGS)]],
    uint row [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]], uint threads [[threads_per_threadgroup]],
    uint lane [[thread_index_in_simdgroup]], uint group [[simdgroup_index_in_threadgroup]], uint groups [[simdgroups_per_threadgroup]]) {
  threadgroup float part[MAX_SIMDGROUPS];
  lanes l = {index, threads, lane, group, groups};
  norm_shape s = {0, a.offset, uint(a.casting), a.weight != 0};
  long at = long(row) * a.n;
  float dot = 0, r = rstd[row];
  for (long k = index; k < a.n; k += threads) dot = fma(scaled_gradient(load(dy + at + k), weight, k, s), load(x + at + k), dot);
  dot = group_sum(dot, l, part);
  float c = r * r * r / float(a.n) * dot;
  for (long k = index; k < a.n; k += threads)
    store(dx + at + k, input_gradient(scaled_gradient(load(dy + at + k), weight, k, s), load(x + at + k), r, c));
}
