// hardest_negative_loss, variants naive and simdgroup.
//
// Operation: softplus((max over j != pos of s_ij - s_pos) / temperature) per row, pos = row + offset; then none, mean
// or sum. Axes: rows, cols, o = rows for none and 1 otherwise; the score may have a row stride.
// Stages: rows gives each row's loss, to the output for none and to the scratch otherwise; reduce adds them in order.
// Geometry: naive: one thread a row, threadgroups of 32; one thread reduces. simdgroup: one threadgroup a row, 32
// threads up to cols = 512, else 256; one threadgroup of 256 reduces, each thread a strided part first.
// Scratch: rows floats for mean and sum. Threadgroup memory: simdgroup: 256 bytes.
// Requirements: simdgroup: simdgroup reductions.
#pragma once
#include "args/hardest_negative_loss_args.h"
#include "loss/hardest.h"

static inline loss_shape shape_of(constant hardest_negative_loss_args &a) {
  loss_shape s = {a.cols, a.score_stride, a.offset, a.tag};
  return s;
}

// put_row writes what a row gives.
static inline void put_row(row_facts f, long row, constant hardest_negative_loss_args &a, device float *loss, device int *negative, device float *scratch) {
  float v = row_loss(f, a.temperature);
  if (a.reduction == REDUCE_NONE) loss[row] = v;
  else scratch[row] = v;
  if (a.negative != 0) negative[row] = f.bad ? -1 : int(f.at);
}

static inline float reduced(float sum, constant hardest_negative_loss_args &a) {
  return a.reduction == REDUCE_MEAN && a.rows > 0 ? sum / float(a.rows) : sum;
}

template <typename T>
[[kernel]] void hardest_rows_naive(device const T *score [[buffer(HARDEST_NEGATIVE_LOSS_SCORE)]], device float *loss [[buffer(HARDEST_NEGATIVE_LOSS_LOSS)]],
                                   device int *negative [[buffer(HARDEST_NEGATIVE_LOSS_NEGATIVE)]],
                                   device float *scratch [[buffer(HARDEST_NEGATIVE_LOSS_BUFFER_SCRATCH)]],
                                   device atomic_uint *status [[buffer(HARDEST_NEGATIVE_LOSS_BUFFER_STATUS)]],
                                   constant hardest_negative_loss_args &a [[buffer(HARDEST_NEGATIVE_LOSS_BUFFER_ARGS)]],
                                   uint row [[thread_position_in_grid]]) {
  if (long(row) < a.rows) put_row(scan_row(score, row, shape_of(a), status), row, a, loss, negative, scratch);
}

template <typename T>
[[kernel]] void hardest_rows_simdgroup(device const T *score [[buffer(HARDEST_NEGATIVE_LOSS_SCORE)]], device float *loss [[buffer(HARDEST_NEGATIVE_LOSS_LOSS)]],
                                       device int *negative [[buffer(HARDEST_NEGATIVE_LOSS_NEGATIVE)]],
                                       device float *scratch [[buffer(HARDEST_NEGATIVE_LOSS_BUFFER_SCRATCH)]],
                                       device atomic_uint *status [[buffer(HARDEST_NEGATIVE_LOSS_BUFFER_STATUS)]],
                                       constant hardest_negative_loss_args &a [[buffer(HARDEST_NEGATIVE_LOSS_BUFFER_ARGS)]],
                                       uint row [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]],
                                       uint threads [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                                       uint group [[simdgroup_index_in_threadgroup]], uint groups [[simdgroups_per_threadgroup]]) {
  threadgroup float part[MAX_SIMDGROUPS];
  threadgroup uint columns[MAX_SIMDGROUPS];
  lanes l = {index, threads, lane, group, groups};
  row_facts f = scan_shared(score, row, shape_of(a), status, l, part, columns);
  if (index == 0) put_row(f, row, a, loss, negative, scratch);
}

template <typename T>
[[kernel]] void hardest_reduce_naive(device float *loss [[buffer(HARDEST_NEGATIVE_LOSS_LOSS)]],
                                     device const float *scratch [[buffer(HARDEST_NEGATIVE_LOSS_BUFFER_SCRATCH)]],
                                     constant hardest_negative_loss_args &a [[buffer(HARDEST_NEGATIVE_LOSS_BUFFER_ARGS)]],
                                     uint index [[thread_position_in_grid]]) {
  if (index != 0) return; // no barrier follows
  float s = 0;
  for (long i = 0; i < a.rows; i++) s += scratch[i];
  loss[0] = reduced(s, a);
}

template <typename T>
[[kernel]] void hardest_reduce_simdgroup(device float *loss [[buffer(HARDEST_NEGATIVE_LOSS_LOSS)]],
                                         device const float *scratch [[buffer(HARDEST_NEGATIVE_LOSS_BUFFER_SCRATCH)]],
                                         constant hardest_negative_loss_args &a [[buffer(HARDEST_NEGATIVE_LOSS_BUFFER_ARGS)]],
                                         uint index [[thread_index_in_threadgroup]], uint threads [[threads_per_threadgroup]],
                                         uint lane [[thread_index_in_simdgroup]], uint group [[simdgroup_index_in_threadgroup]],
                                         uint groups [[simdgroups_per_threadgroup]]) {
  threadgroup float part[MAX_SIMDGROUPS];
  lanes l = {index, threads, lane, group, groups};
  float s = 0;
  for (long i = index; i < a.rows; i += threads) s += scratch[i];
  s = group_sum(s, l, part);
  if (index == 0) loss[0] = reduced(s, a);
}
