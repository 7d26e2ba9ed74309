// Ragged axes. Offsets may come from another kernel, so every entry is clamped to the axis and a segment that
// decreases is empty; either is reported.
#pragma once
#include "msl/status.h"

struct segment { long begin, end; };

static inline long clamped(long x, long lowest, long highest) { return x < lowest ? lowest : x > highest ? highest : x; }

static inline segment read_segment(device const long *off, long i, long axis, device atomic_uint *status, ulong tag, uint operand) {
  long a = off[i], b = off[i + 1];
  if (a < 0 || a > axis) report(status, tag, FAULT_OFFSETS, operand, i);
  if (b < 0 || b < a || b > axis) report(status, tag, FAULT_OFFSETS, operand, i + 1);
  segment s;
  s.begin = clamped(a, 0, axis);
  s.end = clamped(b, s.begin, axis);
  return s;
}
