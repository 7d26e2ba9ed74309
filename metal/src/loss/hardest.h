// What forward and backward of hardest_negative_loss share: a row's positive, its hardest negative, its data error.
#pragma once
#include "msl/element.h"
#include "msl/reduce.h"
#include "msl/status.h"

enum { FAULT_POSITIVE = 1, FAULT_SCORE = 2, FAULT_NO_NEGATIVE = 3 }; // kernels.hardestFaults
enum { REDUCE_NONE = 0, REDUCE_MEAN = 1, REDUCE_SUM = 2 };           // kernels.Reduction
enum { TIE_LOWEST = 0, TIE_EVEN_SPLIT = 1 };                         // kernels.Tie

// NO_COLUMN is larger than every column: columns fit an int.
enum { NO_COLUMN = 0x7fffffff };

struct row_facts {
  float positive, negative; // scores
  uint at;                  // column of the hardest negative, the lowest of equals
  bool bad;
};

// loss_shape is what every thread knows of the launch. Operand 0 is the score in both kernels.
struct loss_shape {
  long cols, stride, offset;
  ulong tag;
};

// judge reports a row's data error, as the reference: the highest code of the row, with its lowest column.
static inline bool judge(row_facts f, uint wrong, long row, loss_shape s, device atomic_uint *status) {
  if (f.at == NO_COLUMN) report(status, s.tag, FAULT_NO_NEGATIVE, 0, row * s.cols);
  else if (wrong != NO_COLUMN) report(status, s.tag, FAULT_SCORE, 0, row * s.cols + wrong);
  else if (!is_finite(f.positive)) report(status, s.tag, FAULT_POSITIVE, 0, row * s.cols + row + s.offset);
  else return false;
  return true;
}

// scan looks at columns from, from+step, ... of a row.
template <typename T>
static inline row_facts scan(device const T *score, long row, long from, long step, loss_shape s, thread uint &wrong) {
  device const T *x = score + row * s.stride;
  row_facts f = {load(x + row + s.offset), -INFINITY, NO_COLUMN, false};
  wrong = NO_COLUMN;
  for (long j = from; j < s.cols; j += step) {
    if (j == row + s.offset) continue;
    float v = load(x + j);
    if ((is_nan(v) || v == INFINITY) && wrong == NO_COLUMN) wrong = uint(j);
    if (v > f.negative) {
      f.negative = v;
      f.at = uint(j);
    }
  }
  return f;
}

// scan_row is scan by one thread, judged.
template <typename T>
static inline row_facts scan_row(device const T *score, long row, loss_shape s, device atomic_uint *status) {
  uint wrong;
  row_facts f = scan(score, row, 0, 1, s, wrong);
  f.bad = judge(f, wrong, row, s, status);
  return f;
}

// scan_shared is scan by a threadgroup; every thread returns the row's facts.
template <typename T>
static inline row_facts scan_shared(device const T *score, long row, loss_shape s, device atomic_uint *status, lanes l,
                                    threadgroup float *part, threadgroup uint *index) {
  uint wrong;
  row_facts f = scan(score, row, l.thread_index, l.threads, s, wrong);
  float most = group_max(f.negative, l, part);
  if (f.negative != most) f.at = NO_COLUMN;
  f.negative = most;
  f.at = group_min(f.at, l, index);
  wrong = group_min(wrong, l, index);
  f.bad = judge(f, wrong, row, s, status); // every thread reports the same
  return f;
}

// row_loss is softplus of the gap over the temperature, in its exact form. MSL has no log1p: the quotient corrects the
// rounding of 1 + e.
static inline float row_loss(row_facts f, float temperature) {
  if (f.bad) return NAN;
  float z = (f.negative - f.positive) / temperature;
  float e = precise::exp(-fabs(z)), u = 1 + e;
  float log1p_e = u == 1 ? e : precise::log(u) * (e / (u - 1));
  return (z > 0 ? z : 0) + log1p_e;
}

// row_slope is the loss's derivative by the hardest negative, times g.
static inline float row_slope(row_facts f, float temperature, float g) {
  float z = (f.negative - f.positive) / temperature;
  return g / (1 + precise::exp(-z)) / temperature;
}
