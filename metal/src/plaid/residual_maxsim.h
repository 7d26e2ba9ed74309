// residual_maxsim, variants naive and tiled.
//
// Operation: per candidate the sum over query tokens of the largest dot product with a decoded token of the document, in
// fixed point (fixed.h): centroid + weight of each component's bucket, times the inverse norm that is given or computed,
// rounded to T. Entries without a document, and documents without tokens, score -inf; otherwise a query without tokens
// scores 0. Codes outside the centroids are reported and left out.
// Axes: tq query tokens, d components, nq queries, td document tokens, rb bytes of a token, nd documents, k centroids, w
// weights, c places for candidates.
// Stages: offsets (listing.h), then this.
// Scratch: nq+1 query offsets, nd+1 document offsets, as uint.
// Geometry: naive: a thread a candidate, threadgroups of 32 over c x nq. tiled: a threadgroup of 128 threads a candidate.
// Threadgroup memory: offsets 128 bytes; tiled 8896. Requirements: simdgroup reductions.
// Variant: naive decodes a token anew for each query token; tiled decodes 32 tokens for 32 query tokens
// (residual_pair.h). A dot product is one chain of fused multiply-adds in both, canonical for f32.
#pragma once
#include "args/residual_maxsim_args.h"
#include "plaid/fixed.h"
#include "plaid/residual_pair.h"

// VARIANT only makes instances differ: an explicit instance has one host name.
template <typename T, int VARIANT>
[[kernel]] void residual_maxsim_offsets(device const long *query_off [[buffer(RESIDUAL_MAXSIM_QUERY_OFF)]], device const long *doc_off [[buffer(RESIDUAL_MAXSIM_DOC_OFF)]],
                                        device uint *trusted [[buffer(RESIDUAL_MAXSIM_BUFFER_SCRATCH)]], device atomic_uint *status [[buffer(RESIDUAL_MAXSIM_BUFFER_STATUS)]],
                                        constant residual_maxsim_args &a [[buffer(RESIDUAL_MAXSIM_BUFFER_ARGS)]], uint side [[threadgroup_position_in_grid]],
                                        uint index [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                                        uint group [[simdgroup_index_in_threadgroup]], uint groups [[simdgroups_per_threadgroup]]) {
  threadgroup uint part[MAX_SIMDGROUPS];
  lanes l = {index, OFFSETS_THREADS, lane, group, groups};
  trust_listing(side, query_off, a.nq, a.tq, RESIDUAL_MAXSIM_QUERY_OFF, doc_off, a.nd, a.td, RESIDUAL_MAXSIM_DOC_OFF, trusted, l, part, status, a.tag);
}

template <typename T>
static inline vector_pair<T> vectors_of(device const T *query, device const int *code, device const uchar *packed, device const T *centroid,
                                        device const float *weight, device const float *inverse, constant residual_maxsim_args &a) {
  vector_pair<T> p = {{code, packed, inverse, a.inv_norm != 0, uint(a.bits), a.k, a.d, a.rb}, query, centroid, weight, a.normalize != 0};
  return p;
}

static inline void store_sum(device float *score, device long *fixed, long at, long value, int shift, constant residual_maxsim_args &a) {
  score[at] = fixed_score(value, shift);
  if (a.fixed != 0) fixed[at] = value;
}

template <typename T>
[[kernel]] void residual_maxsim_naive(
    device const T *query [[buffer(RESIDUAL_MAXSIM_QUERY)]], device const int *code [[buffer(RESIDUAL_MAXSIM_CODE)]],
    device const uchar *packed [[buffer(RESIDUAL_MAXSIM_PACKED)]], device const T *centroid [[buffer(RESIDUAL_MAXSIM_CENTROID)]],
    device const float *weight [[buffer(RESIDUAL_MAXSIM_WEIGHT)]], device const float *inverse [[buffer(RESIDUAL_MAXSIM_INV_NORM)]],
    device const int *candidate [[buffer(RESIDUAL_MAXSIM_CANDIDATE)]], device const long *count [[buffer(RESIDUAL_MAXSIM_COUNT)]],
    device const int *shift [[buffer(RESIDUAL_MAXSIM_SHIFT)]], device float *score [[buffer(RESIDUAL_MAXSIM_SCORE)]],
    device long *fixed [[buffer(RESIDUAL_MAXSIM_FIXED)]], device const uint *trusted [[buffer(RESIDUAL_MAXSIM_BUFFER_SCRATCH)]],
    device atomic_uint *status [[buffer(RESIDUAL_MAXSIM_BUFFER_STATUS)]], constant residual_maxsim_args &a [[buffer(RESIDUAL_MAXSIM_BUFFER_ARGS)]],
    uint2 g [[thread_position_in_grid]]) {
  long e = g.x, i = g.y;
  if (e >= a.c) return; // no barrier follows
  segment q = segment_at(trusted, i);
  segment t = candidate_tokens(candidate, a.c, i, e, count, a.count != 0, trusted + a.nq + 1, a.nd, status, a.tag, RESIDUAL_MAXSIM_CANDIDATE);
  int s = steps_shift(shift[i]);
  if (t.begin == t.end) {
    store_sum(score, fixed, i * a.c + e, FIXED_MINUS, s, a);
    return;
  }
  report_codes(code, t, a.k, 0, 1, status, a.tag, RESIDUAL_MAXSIM_CODE);
  vector_pair<T> p = vectors_of(query, code, packed, centroid, weight, inverse, a);
  fixed_sum sum = no_sum();
  for (long r = q.begin; r < q.end; r++)
    if (!add_fixed(sum, serial_best(p, r, t), s)) report(status, a.tag, 3, RESIDUAL_MAXSIM_SHIFT, i);
  store_sum(score, fixed, i * a.c + e, fixed_value(sum), s, a);
}

template <typename T>
[[kernel]] void residual_maxsim_tiled(
    device const T *query [[buffer(RESIDUAL_MAXSIM_QUERY)]], device const int *code [[buffer(RESIDUAL_MAXSIM_CODE)]],
    device const uchar *packed [[buffer(RESIDUAL_MAXSIM_PACKED)]], device const T *centroid [[buffer(RESIDUAL_MAXSIM_CENTROID)]],
    device const float *weight [[buffer(RESIDUAL_MAXSIM_WEIGHT)]], device const float *inverse [[buffer(RESIDUAL_MAXSIM_INV_NORM)]],
    device const int *candidate [[buffer(RESIDUAL_MAXSIM_CANDIDATE)]], device const long *count [[buffer(RESIDUAL_MAXSIM_COUNT)]],
    device const int *shift [[buffer(RESIDUAL_MAXSIM_SHIFT)]], device float *score [[buffer(RESIDUAL_MAXSIM_SCORE)]],
    device long *fixed [[buffer(RESIDUAL_MAXSIM_FIXED)]], device const uint *trusted [[buffer(RESIDUAL_MAXSIM_BUFFER_SCRATCH)]],
    device atomic_uint *status [[buffer(RESIDUAL_MAXSIM_BUFFER_STATUS)]], constant residual_maxsim_args &a [[buffer(RESIDUAL_MAXSIM_BUFFER_ARGS)]],
    uint2 g [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]]) {
  threadgroup pair_memory<float> m;
  threadgroup ulong totals[PAIR_ROWS];
  threadgroup uint flags[PAIR_ROWS];
  long e = g.x, i = g.y;
  segment q = segment_at(trusted, i);
  segment t = candidate_tokens(candidate, a.c, i, e, count, a.count != 0, trusted + a.nq + 1, a.nd, status, a.tag, RESIDUAL_MAXSIM_CANDIDATE);
  int s = steps_shift(shift[i]);
  if (t.begin == t.end) { // the whole threadgroup
    if (index == 0) store_sum(score, fixed, i * a.c + e, FIXED_MINUS, s, a);
    return;
  }
  report_codes(code, t, a.k, index, PAIR_THREADS, status, a.tag, RESIDUAL_MAXSIM_CODE);
  vector_pair<T> p = vectors_of(query, code, packed, centroid, weight, inverse, a);
  fixed_sum sum = no_sum(); // of this thread's rows, if it is the first of them
  for (long first = q.begin; first < q.end; first += PAIR_TILE) {
    row_maxima w = tiled_best(m, p, first, q, t, index);
    if (index % PAIR_COLUMNS != 0) continue;
    for (uint k = 0; k < PAIR_EACH_ROW; k++)
      if (first + index / PAIR_COLUMNS + k * PAIR_ROWS < q.end && !add_fixed(sum, w.best[k], s)) report(status, a.tag, 3, RESIDUAL_MAXSIM_SHIFT, i);
  }
  if (index % PAIR_COLUMNS == 0) {
    totals[index / PAIR_COLUMNS] = sum.total;
    flags[index / PAIR_COLUMNS] = sum.flags;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (index != 0) return;
  for (uint k = 1; k < PAIR_ROWS; k++) {
    fixed_sum other = {totals[k], flags[k]};
    sum = add_sums(sum, other);
  }
  store_sum(score, fixed, i * a.c + e, fixed_value(sum), s, a);
}
