// residual_maxsim_int8, variants naive and tiled.
//
// Operation: per candidate the float sum, over query tokens in ascending order from +0, of the largest value among the
// document's tokens: fma(float(integer dot of query and table values), unit, score of the token's centroid), times the
// inverse norm where given. Entries without a document, and documents without tokens, score -inf; otherwise a query
// without tokens scores 0. Codes outside the centroids are reported and left out.
// Axes: k centroids, tq query tokens, d components, nq queries, td document tokens, rb bytes of a token, nd documents, w
// table values, c places for candidates; rows of CentroidScore may have a stride.
// Stages, scratch, geometry: as residual_maxsim.h.
// Threadgroup memory: offsets 128 bytes; tiled 8832. Requirements: simdgroup reductions.
// Variant: as residual_maxsim.h; one thread adds the maxima.
#pragma once
#include "args/residual_maxsim_int8_args.h"
#include "plaid/residual_pair.h"

// VARIANT only makes instances differ: an explicit instance has one host name.
template <typename T, int VARIANT>
[[kernel]] void residual_maxsim_int8_offsets(device const long *query_off [[buffer(RESIDUAL_MAXSIM_INT8_QUERY_OFF)]], device const long *doc_off [[buffer(RESIDUAL_MAXSIM_INT8_DOC_OFF)]],
                                             device uint *trusted [[buffer(RESIDUAL_MAXSIM_INT8_BUFFER_SCRATCH)]], device atomic_uint *status [[buffer(RESIDUAL_MAXSIM_INT8_BUFFER_STATUS)]],
                                             constant residual_maxsim_int8_args &a [[buffer(RESIDUAL_MAXSIM_INT8_BUFFER_ARGS)]], uint side [[threadgroup_position_in_grid]],
                                             uint index [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                                             uint group [[simdgroup_index_in_threadgroup]], uint groups [[simdgroups_per_threadgroup]]) {
  threadgroup uint part[MAX_SIMDGROUPS];
  lanes l = {index, OFFSETS_THREADS, lane, group, groups};
  trust_listing(side, query_off, a.nq, a.tq, RESIDUAL_MAXSIM_INT8_QUERY_OFF, doc_off, a.nd, a.td, RESIDUAL_MAXSIM_INT8_DOC_OFF, trusted, l, part, status, a.tag);
}

template <typename T>
static inline int8_pair<T> integers_of(device const T *centroid_score, device const int8_t *query, device const float *unit, device const int *code,
                                       device const uchar *packed, device const int8_t *table, device const float *inverse,
                                       constant residual_maxsim_int8_args &a) {
  int8_pair<T> p = {{code, packed, inverse, a.inv_norm != 0, uint(a.bits), a.k, a.d, a.rb}, query, table, unit, centroid_score, a.centroid_score_stride};
  return p;
}

template <typename T>
[[kernel]] void residual_maxsim_int8_naive(
    device const T *centroid_score [[buffer(RESIDUAL_MAXSIM_INT8_CENTROID_SCORE)]], device const int8_t *query [[buffer(RESIDUAL_MAXSIM_INT8_QUERY)]],
    device const float *unit [[buffer(RESIDUAL_MAXSIM_INT8_UNIT)]], device const int *code [[buffer(RESIDUAL_MAXSIM_INT8_CODE)]],
    device const uchar *packed [[buffer(RESIDUAL_MAXSIM_INT8_PACKED)]], device const int8_t *table [[buffer(RESIDUAL_MAXSIM_INT8_TABLE)]],
    device const float *inverse [[buffer(RESIDUAL_MAXSIM_INT8_INV_NORM)]], device const int *candidate [[buffer(RESIDUAL_MAXSIM_INT8_CANDIDATE)]],
    device const long *count [[buffer(RESIDUAL_MAXSIM_INT8_COUNT)]], device float *score [[buffer(RESIDUAL_MAXSIM_INT8_SCORE)]],
    device const uint *trusted [[buffer(RESIDUAL_MAXSIM_INT8_BUFFER_SCRATCH)]], device atomic_uint *status [[buffer(RESIDUAL_MAXSIM_INT8_BUFFER_STATUS)]],
    constant residual_maxsim_int8_args &a [[buffer(RESIDUAL_MAXSIM_INT8_BUFFER_ARGS)]],
    uint2 g [[thread_position_in_grid]]) {
  long e = g.x, i = g.y;
  if (e >= a.c) return; // no barrier follows
  segment q = segment_at(trusted, i);
  segment t = candidate_tokens(candidate, a.c, i, e, count, a.count != 0, trusted + a.nq + 1, a.nd, status, a.tag, RESIDUAL_MAXSIM_INT8_CANDIDATE);
  if (t.begin == t.end) {
    score[i * a.c + e] = -INFINITY;
    return;
  }
  report_codes(code, t, a.k, 0, 1, status, a.tag, RESIDUAL_MAXSIM_INT8_CODE);
  int8_pair<T> p = integers_of(centroid_score, query, unit, code, packed, table, inverse, a);
  float sum = 0;
  for (long r = q.begin; r < q.end; r++) sum += serial_best(p, r, t);
  score[i * a.c + e] = canonical(sum);
}

template <typename T>
[[kernel]] void residual_maxsim_int8_tiled(
    device const T *centroid_score [[buffer(RESIDUAL_MAXSIM_INT8_CENTROID_SCORE)]], device const int8_t *query [[buffer(RESIDUAL_MAXSIM_INT8_QUERY)]],
    device const float *unit [[buffer(RESIDUAL_MAXSIM_INT8_UNIT)]], device const int *code [[buffer(RESIDUAL_MAXSIM_INT8_CODE)]],
    device const uchar *packed [[buffer(RESIDUAL_MAXSIM_INT8_PACKED)]], device const int8_t *table [[buffer(RESIDUAL_MAXSIM_INT8_TABLE)]],
    device const float *inverse [[buffer(RESIDUAL_MAXSIM_INT8_INV_NORM)]], device const int *candidate [[buffer(RESIDUAL_MAXSIM_INT8_CANDIDATE)]],
    device const long *count [[buffer(RESIDUAL_MAXSIM_INT8_COUNT)]], device float *score [[buffer(RESIDUAL_MAXSIM_INT8_SCORE)]],
    device const uint *trusted [[buffer(RESIDUAL_MAXSIM_INT8_BUFFER_SCRATCH)]], device atomic_uint *status [[buffer(RESIDUAL_MAXSIM_INT8_BUFFER_STATUS)]],
    constant residual_maxsim_int8_args &a [[buffer(RESIDUAL_MAXSIM_INT8_BUFFER_ARGS)]],
    uint2 g [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]]) {
  threadgroup pair_memory<int> m;
  threadgroup float maxima[PAIR_TILE];
  long e = g.x, i = g.y;
  segment q = segment_at(trusted, i);
  segment t = candidate_tokens(candidate, a.c, i, e, count, a.count != 0, trusted + a.nq + 1, a.nd, status, a.tag, RESIDUAL_MAXSIM_INT8_CANDIDATE);
  if (t.begin == t.end) { // the whole threadgroup
    if (index == 0) score[i * a.c + e] = -INFINITY;
    return;
  }
  report_codes(code, t, a.k, index, PAIR_THREADS, status, a.tag, RESIDUAL_MAXSIM_INT8_CODE);
  int8_pair<T> p = integers_of(centroid_score, query, unit, code, packed, table, inverse, a);
  float sum = 0; // of thread 0
  for (long first = q.begin; first < q.end; first += PAIR_TILE) {
    row_maxima w = tiled_best(m, p, first, q, t, index);
    if (index % PAIR_COLUMNS == 0)
      for (uint k = 0; k < PAIR_EACH_ROW; k++) maxima[index / PAIR_COLUMNS + k * PAIR_ROWS] = w.best[k];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (index == 0)
      for (uint k = 0; k < PAIR_TILE && first + k < q.end; k++) sum += maxima[k];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (index == 0) score[i * a.c + e] = canonical(sum);
}
