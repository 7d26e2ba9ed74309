// hardest_negative_loss_backward, variants naive and simdgroup.
//
// Operation: dscore = -g*sigma(z)/temperature at the positive, +g*sigma(z)/temperature at the hardest negative (or split
// evenly over equal ones), 0 elsewhere, NaN in a row with a data error; z as in the forward kernel, g the row's share of
// dloss. Axes: rows, cols, o; the score may have a row stride, dscore is dense.
// Geometry: naive: one thread a row, threadgroups of 32. simdgroup: one threadgroup a row, 32 threads up to cols = 512,
// else 256. Threadgroup memory: simdgroup: 256 bytes. Requirements: simdgroup: simdgroup reductions.
#pragma once
#include "args/hardest_negative_loss_backward_args.h"
#include "loss/hardest.h"

static inline loss_shape shape_of(constant hardest_negative_loss_backward_args &a) {
  loss_shape s = {a.cols, a.score_stride, a.offset, a.tag};
  return s;
}

static inline float row_gradient(device const float *dloss, long row, constant hardest_negative_loss_backward_args &a) {
  if (a.reduction == REDUCE_NONE) return dloss[row];
  return a.reduction == REDUCE_MEAN ? dloss[0] / float(a.rows) : dloss[0];
}

// equal_negatives counts a part of the row's columns with the hardest score.
template <typename T>
static inline uint equal_negatives(device const T *score, long row, long from, long step, loss_shape s, float negative) {
  uint n = 0;
  for (long j = from; j < s.cols; j += step)
    if (j != row + s.offset && load(score + row * s.stride + j) == negative) n++;
  return n;
}

// put_gradients writes a part of the row.
template <typename T>
static inline void put_gradients(device const T *score, device T *dscore, long row, long from, long step, loss_shape s, row_facts f, float slope,
                                 bool split, uint equal) {
  for (long j = from; j < s.cols; j += step) {
    float v = 0;
    if (f.bad) v = NAN;
    else if (j == row + s.offset) v = -slope;
    else if (split) v = load(score + row * s.stride + j) == f.negative ? slope / float(equal) : 0;
    else if (uint(j) == f.at) v = slope;
    store(dscore + row * s.cols + j, v);
  }
}

template <typename T>
[[kernel]] void hardest_backward_naive(device const T *score [[buffer(HARDEST_NEGATIVE_LOSS_BACKWARD_SCORE)]],
                                       device const float *dloss [[buffer(HARDEST_NEGATIVE_LOSS_BACKWARD_DLOSS)]],
                                       device T *dscore [[buffer(HARDEST_NEGATIVE_LOSS_BACKWARD_DSCORE)]],
                                       device atomic_uint *status [[buffer(HARDEST_NEGATIVE_LOSS_BACKWARD_BUFFER_STATUS)]],
                                       constant hardest_negative_loss_backward_args &a [[buffer(HARDEST_NEGATIVE_LOSS_BACKWARD_BUFFER_ARGS)]],
                                       uint row [[thread_position_in_grid]]) {
  if (long(row) >= a.rows) return; // no barrier follows
  loss_shape s = shape_of(a);
  row_facts f = scan_row(score, row, s, status);
  bool split = a.tie == TIE_EVEN_SPLIT;
  uint equal = split ? equal_negatives(score, row, 0, 1, s, f.negative) : 1;
  put_gradients(score, dscore, row, 0, 1, s, f, row_slope(f, a.temperature, row_gradient(dloss, row, a)), split, equal);
}

template <typename T>
[[kernel]] void hardest_backward_simdgroup(device const T *score [[buffer(HARDEST_NEGATIVE_LOSS_BACKWARD_SCORE)]],
                                           device const float *dloss [[buffer(HARDEST_NEGATIVE_LOSS_BACKWARD_DLOSS)]],
                                           device T *dscore [[buffer(HARDEST_NEGATIVE_LOSS_BACKWARD_DSCORE)]],
                                           device atomic_uint *status [[buffer(HARDEST_NEGATIVE_LOSS_BACKWARD_BUFFER_STATUS)]],
                                           constant hardest_negative_loss_backward_args &a [[buffer(HARDEST_NEGATIVE_LOSS_BACKWARD_BUFFER_ARGS)]],
                                           uint row [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]],
                                           uint threads [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                                           uint group [[simdgroup_index_in_threadgroup]], uint groups [[simdgroups_per_threadgroup]]) {
  threadgroup float part[MAX_SIMDGROUPS];
  threadgroup uint columns[MAX_SIMDGROUPS];
  lanes l = {index, threads, lane, group, groups};
  loss_shape s = shape_of(a);
  row_facts f = scan_shared(score, row, s, status, l, part, columns);
  bool split = a.tie == TIE_EVEN_SPLIT;
  uint equal = 1;
  if (split) equal = group_sum(equal_negatives(score, row, index, threads, s, f.negative), l, columns);
  put_gradients(score, dscore, row, index, threads, s, f, row_slope(f, a.temperature, row_gradient(dloss, row, a)), split, equal);
}
