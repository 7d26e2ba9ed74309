// softmax_backward, variants naive and simdgroup.
//
// Operation: dx = y * (dy - sum of dy*y) over each row. Axes: rows of n elements, dense; DX may be DY.
// Geometry, threadgroup memory, requirements, variants: as softmax.h.
#pragma once
#include "args/softmax_backward_args.h"
#include "msl/element.h"
#include "msl/reduce.h"

template <typename T>
[[kernel]] void softmax_backward_naive(device const T *y [[buffer(SOFTMAX_BACKWARD_Y)]], device const T *dy [[buffer(SOFTMAX_BACKWARD_DY)]],
                                       device T *dx [[buffer(SOFTMAX_BACKWARD_DX)]],
                                       constant softmax_backward_args &a [[buffer(SOFTMAX_BACKWARD_BUFFER_ARGS)]],
                                       uint row [[thread_position_in_grid]]) {
  if (long(row) >= a.rows) return; // no barrier follows
  long at = long(row) * a.n;
  float dot = 0;
  for (long k = at; k < at + a.n; k++) dot = fma(load(y + k), load(dy + k), dot);
  for (long k = at; k < at + a.n; k++) store(dx + k, load(y + k) * (load(dy + k) - dot));
}

template <typename T>
[[kernel]] void softmax_backward_simdgroup(device const T *y [[buffer(SOFTMAX_BACKWARD_Y)]], device const T *dy [[buffer(SOFTMAX_BACKWARD_DY)]],
                                           device T *dx [[buffer(SOFTMAX_BACKWARD_DX)]],
                                           constant softmax_backward_args &a [[buffer(SOFTMAX_BACKWARD_BUFFER_ARGS)]],
                                           uint row [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]],
                                           uint threads [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                                           uint group [[simdgroup_index_in_threadgroup]], uint groups [[simdgroups_per_threadgroup]]) {
  threadgroup float part[MAX_SIMDGROUPS];
  lanes l = {index, threads, lane, group, groups};
  long at = long(row) * a.n;
  float dot = 0;
  for (long k = index; k < a.n; k += threads) dot = fma(load(y + at + k), load(dy + at + k), dot);
  dot = group_sum(dot, l, part);
  for (long k = index; k < a.n; k += threads) store(dx + at + k, load(y + at + k) * (load(dy + at + k) - dot));
}
