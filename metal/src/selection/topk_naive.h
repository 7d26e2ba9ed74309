// topk, variant naive.
//
// Operation: each row's k largest scores in order, with their positions or, where there are labels, those; where fewer
// are live, the rest is -inf with index -1.
// Axes: b rows of n scores (the rows may have a stride), k results a row.
// Geometry: one thread a score, threadgroups of 32 over n x b. Threadgroup memory: none. Requirements: none.
// Variant: a score's place is the number of scores that rank before it, counted: n^2 comparisons a row, so long rows
// are refused.
#pragma once
#include "args/topk_args.h"
#include "selection/order.h"

template <typename T>
[[kernel]] void topk_naive(device const T *score [[buffer(TOPK_SCORE)]], device const long *live [[buffer(TOPK_LIVE)]],
                           device const int *label [[buffer(TOPK_LABEL)]], device float *value [[buffer(TOPK_VALUE)]], device int *index [[buffer(TOPK_INDEX)]],
                           constant topk_args &a [[buffer(TOPK_BUFFER_ARGS)]], uint2 p [[thread_position_in_grid]]) {
  long i = p.x, row = p.y;
  if (i >= a.n) return; // no barrier follows
  device const T *x = score + row * a.score_stride;
  long count = live_scores(live, a.live != 0, row, a.n);
  if (i >= count) {
    if (i < a.k) {
      value[row * a.k + i] = -INFINITY;
      index[row * a.k + i] = -1;
    }
    return;
  }
  uint mine = rank_key(load(x + i));
  long place = 0;
  for (long j = 0; j < count; j++) {
    uint other = rank_key(load(x + j));
    if (other < mine || (other == mine && j < i)) place++;
  }
  if (place >= a.k) return;
  value[row * a.k + place] = load(x + i);
  index[row * a.k + place] = a.label != 0 ? label[row * a.n + i] : int(i);
}
