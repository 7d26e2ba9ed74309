// The order of topk: score descending, index ascending, NaN last, -0 equal to +0.
#pragma once
#include "msl/element.h"

// rank_key grows as scores fall; equal scores have equal keys and NaN has the largest.
static inline uint rank_key(float x) {
  if (is_nan(x)) return 0xffffffffu;
  uint b = x == 0 ? 0u : as_type<uint>(x);
  return ~(b & 0x80000000u ? ~b : b | 0x80000000u);
}

// live_scores is the part of a row of n that counts.
static inline long live_scores(device const long *live, bool present, long row, long n) {
  if (!present) return n;
  long c = live[row];
  return c < 0 ? 0 : c > n ? n : c;
}
