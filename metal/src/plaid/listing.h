// What a launch scores: candidates of each query, as documents that are ranges of tokens.
#pragma once
#include "msl/offsets.h"

// trust_listing is the first stage of a kernel with two ragged axes: queries, then documents or lists. Two threadgroups
// of OFFSETS_THREADS make copies of the offsets that can be trusted (msl/offsets.h): nq+1, then n+1.
static inline void trust_listing(uint side, device const long *query, long nq, long tq, uint query_operand, device const long *off, long n, long axis,
                                 uint operand, device uint *trusted, lanes l, threadgroup uint *part, device atomic_uint *status, ulong tag) {
  if (side == 0) trust_offsets(query, nq, tq, trusted, l, part, status, tag, query_operand);
  else trust_offsets(off, n, axis, trusted + nq + 1, l, part, status, tag, operand);
}

// candidate_tokens is the range of tokens of entry e of a query, empty for one past the count, -1 and, reported, other
// numbers that name no document.
static inline segment candidate_tokens(device const int *candidate, long c, long i, long e, device const long *count, bool counted,
                                       device const uint *documents, long nd, device atomic_uint *status, ulong tag, uint operand) {
  segment none = {0, 0};
  if (counted && e >= count[i]) return none;
  long j = candidate[i * c + e];
  if (j < -1 || j >= nd) report(status, tag, 1, operand, i * c + e);
  if (j < 0 || j >= nd) return none;
  return segment_at(documents, j);
}

// cell_of is the code of document token u, -1 for one that names no centroid.
static inline long cell_of(device const int *code, long u, long k) {
  long c = code[u];
  return c < k ? max(c, -1L) : -1L;
}

// report_codes reports the tokens of a segment that have no cell, every step-th from first on.
static inline void report_codes(device const int *code, segment t, long k, uint first, uint step, device atomic_uint *status, ulong tag, uint operand) {
  for (long u = t.begin + first; u < t.end; u += step)
    if (cell_of(code, u, k) < 0) report(status, tag, 2, operand, u);
}
