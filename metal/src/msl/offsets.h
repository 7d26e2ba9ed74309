// Ragged axes. Offsets may come from another kernel, so a stage of its own makes a copy that can be trusted: clamped to
// the axis and never decreasing, as the references read them; every entry that had to change is reported.
#pragma once
#include "msl/reduce.h"
#include "msl/status.h"

enum { OFFSETS_THREADS = 256 };

struct segment { long begin, end; };

// segment_at is segment i of a trusted copy.
static inline segment segment_at(device const uint *trusted, long i) {
  segment s = {long(trusted[i]), long(trusted[i + 1])};
  return s;
}

// trust_offsets copies n+1 offsets into an axis of fewer than 2^32 elements: entry i is the largest of the entries up to
// i, within [0, axis]. One threadgroup of OFFSETS_THREADS calls it.
static inline void trust_offsets(device const long *off, long n, long axis, device uint *trusted, lanes l, threadgroup uint *part,
                                 device atomic_uint *status, ulong tag, uint operand) {
  uint low = 0; // of the entries before this block
  for (long base = 0; base <= n; base += OFFSETS_THREADS) {
    long i = base + l.thread_index, x = i <= n ? off[i] : 0;
    uint here = x < 0 ? 0u : x > axis ? uint(axis) : uint(x), all;
    uint before = max(group_prefix_max(here, l, part, all), low);
    if (i <= n) {
      if (x < long(before) || x > axis) report(status, tag, FAULT_OFFSETS, operand, i);
      trusted[i] = max(here, before);
    }
    low = max(low, all);
  }
}
