// take, variant naive.
//
// Operation: numbers by their positions in a row, -1 for a position outside it.
// Axes: b rows of n numbers, k positions a row.
// Geometry: one thread a position, threadgroups of 64 over k x b. Threadgroup memory: none. Requirements: none.
#pragma once
#include "args/take_args.h"

template <typename T>
[[kernel]] void take_naive(device const T *value [[buffer(TAKE_VALUE)]], device const int *index [[buffer(TAKE_INDEX)]],
                           device T *out [[buffer(TAKE_OUT)]], constant take_args &a [[buffer(TAKE_BUFFER_ARGS)]],
                           uint2 p [[thread_position_in_grid]]) {
  long j = p.x, row = p.y;
  if (j >= a.k) return; // no barrier follows
  long at = index[row * a.k + j];
  out[row * a.k + j] = at >= 0 && at < a.n ? value[row * a.n + at] : -1;
}
