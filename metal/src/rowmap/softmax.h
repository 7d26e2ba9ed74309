// softmax, variants naive and simdgroup.
//
// Operation: y = e^(x - max) / sum over each row. Axes: rows of n elements; X may have a row stride; Y may be X.
// A row of -inf alone gives zeros; a row with NaN or +inf is all NaN.
// Geometry: naive: one thread a row, threadgroups of 32. simdgroup: one threadgroup a row, 32 threads up to n = 512,
// else 256.
// Threadgroup memory: simdgroup: 128 bytes. Requirements: simdgroup: simdgroup reductions.
// Variant: naive reads each row three times in one thread; simdgroup shares the row, a thread's partial sums first,
// then the simdgroup's, then the threadgroup's. A thread reads an element before it writes the same one, so Y may be X.
#pragma once
#include "args/softmax_args.h"
#include "msl/element.h"
#include "msl/reduce.h"

// probability is one output. top is the row's maximum, NaN if the row has one.
static inline float probability(float x, float top, float sum) {
  if (is_nan(top) || top == INFINITY) return NAN;
  if (top == -INFINITY) return 0;
  return precise::exp(x - top) / sum;
}

static inline float larger(float top, float x) { return is_nan(top) || is_nan(x) ? NAN : max(top, x); }

template <typename T>
[[kernel]] void softmax_naive(device const T *x [[buffer(SOFTMAX_X)]], device T *y [[buffer(SOFTMAX_Y)]],
                              constant softmax_args &a [[buffer(SOFTMAX_BUFFER_ARGS)]], uint row [[thread_position_in_grid]]) {
  if (long(row) >= a.rows) return; // no barrier follows
  device const T *in = x + long(row) * a.x_stride;
  device T *out = y + long(row) * a.n;
  float top = -INFINITY, sum = 0;
  for (long k = 0; k < a.n; k++) top = larger(top, load(in + k));
  for (long k = 0; k < a.n; k++) sum += precise::exp(load(in + k) - top);
  for (long k = 0; k < a.n; k++) store(out + k, probability(load(in + k), top, sum));
}

template <typename T>
[[kernel]] void softmax_simdgroup(device const T *x [[buffer(SOFTMAX_X)]], device T *y [[buffer(SOFTMAX_Y)]],
                                  constant softmax_args &a [[buffer(SOFTMAX_BUFFER_ARGS)]], uint row [[threadgroup_position_in_grid]],
                                  uint index [[thread_index_in_threadgroup]], uint threads [[threads_per_threadgroup]],
                                  uint lane [[thread_index_in_simdgroup]], uint group [[simdgroup_index_in_threadgroup]],
                                  uint groups [[simdgroups_per_threadgroup]]) {
  threadgroup float part[MAX_SIMDGROUPS];
  lanes l = {index, threads, lane, group, groups};
  device const T *in = x + long(row) * a.x_stride;
  device T *out = y + long(row) * a.n;
  float top = -INFINITY, nan = 0, sum = 0;
  for (long k = index; k < a.n; k += threads) {
    float v = load(in + k);
    if (is_nan(v)) nan = 1;
    else top = max(top, v);
  }
  top = group_max(top, l, part);
  if (group_max(nan, l, part) > 0) top = NAN;
  for (long k = index; k < a.n; k += threads) sum += precise::exp(load(in + k) - top);
  sum = group_sum(sum, l, part);
  for (long k = index; k < a.n; k += threads) store(out + k, probability(load(in + k), top, sum));
}
