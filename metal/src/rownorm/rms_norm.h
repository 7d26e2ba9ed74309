// rms_norm, variants naive and simdgroup.
//
// Operation: y = x*r * (offset + w), r = 1/sqrt(mean(x^2) + eps), with the roundings of a casting mode; stores r.
// Axes: rows of n elements; X may have a row stride; Y may be X; the weight is optional and may have another type.
// Geometry: naive: one thread a row, threadgroups of 32. simdgroup: one threadgroup a row, 32 threads up to n = 512,
// else 256.
// Threadgroup memory: simdgroup: 128 bytes. Requirements: simdgroup: simdgroup reductions.
// Variant: naive sums in one thread; simdgroup shares the row. A thread reads an element before it writes the same
// one, so Y may be X.
#pragma once
#include "args/rms_norm_args.h"
#include "msl/element.h"
#include "msl/reduce.h"

enum { CAST_LLAMA = 0, CAST_GEMMA = 1, CAST_NONE = 2 }; // kernels.Casting

// norm_shape is what every thread knows of the launch.
struct norm_shape {
  float eps, offset;
  uint cast;
  bool weight;
};

// inverse_rms gives r from the sum of squares: everything rounded to T in mode none.
template <typename T>
static inline float inverse_rms(float squares, long n, norm_shape s) {
  float mean = n > 0 ? squares / float(n) : 0;
  if (s.cast != CAST_NONE) return 1 / precise::sqrt(mean + s.eps);
  mean = element<T>::rounded(element<T>::rounded(mean) + element<T>::rounded(s.eps));
  return element<T>::rounded(1 / precise::sqrt(mean));
}

// normed is one output before its last rounding.
template <typename T>
static inline float normed(float x, float r, float w, norm_shape s) {
  float y = x * r;
  if (s.cast != CAST_GEMMA) y = element<T>::rounded(y);
  if (!s.weight) return y;
  float m = s.offset + w;
  return y * (s.cast == CAST_NONE ? element<T>::rounded(m) : m);
}

template <typename T, typename W>
[[kernel]] void rms_norm_naive(device const T *x [[buffer(RMS_NORM_X)]], device const W *weight [[buffer(RMS_NORM_WEIGHT)]],
                               device T *y [[buffer(RMS_NORM_Y)]], device float *rstd [[buffer(RMS_NORM_RSTD)]],
                               constant rms_norm_args &a [[buffer(RMS_NORM_BUFFER_ARGS)]], uint row [[thread_position_in_grid]]) {
  if (long(row) >= a.rows) return; // no barrier follows
  norm_shape s = {a.eps, a.offset, uint(a.casting), a.weight != 0};
  device const T *in = x + long(row) * a.x_stride;
  device T *out = y + long(row) * a.n;
  float squares = 0;
  for (long k = 0; k < a.n; k++) {
    float v = load(in + k);
    squares = fma(v, v, squares);
  }
  float r = inverse_rms<T>(squares, a.n, s);
  rstd[row] = r;
  for (long k = 0; k < a.n; k++) store(out + k, normed<T>(load(in + k), r, s.weight ? load(weight + k) : 0.0f, s));
}

template <typename T, typename W>
[[kernel]] void rms_norm_simdgroup(device const T *x [[buffer(RMS_NORM_X)]], device const W *weight [[buffer(RMS_NORM_WEIGHT)]],
                                   device T *y [[buffer(RMS_NORM_Y)]], device float *rstd [[buffer(RMS_NORM_RSTD)]],
                                   constant rms_norm_args &a [[buffer(RMS_NORM_BUFFER_ARGS)]], uint row [[threadgroup_position_in_grid]],
                                   uint index [[thread_index_in_threadgroup]], uint threads [[threads_per_threadgroup]],
                                   uint lane [[thread_index_in_simdgroup]], uint group [[simdgroup_index_in_threadgroup]],
                                   uint groups [[simdgroups_per_threadgroup]]) {
  threadgroup float part[MAX_SIMDGROUPS];
  lanes l = {index, threads, lane, group, groups};
  norm_shape s = {a.eps, a.offset, uint(a.casting), a.weight != 0};
  device const T *in = x + long(row) * a.x_stride;
  device T *out = y + long(row) * a.n;
  float squares = 0;
  for (long k = index; k < a.n; k += threads) {
    float v = load(in + k);
    squares = fma(v, v, squares);
  }
  float r = inverse_rms<T>(group_sum(squares, l, part), a.n, s);
  if (index == 0) rstd[row] = r;
  for (long k = index; k < a.n; k += threads) store(out + k, normed<T>(load(in + k), r, s.weight ? load(weight + k) : 0.0f, s));
}
