// plaid_approx, variants naive and simdgroup.
//
// Operation: per candidate the sum over query tokens of the largest score of a centroid of the document's tokens, or of
// those in live cells, and no less than the token's floor, the last of its row of Floor; in fixed point (fixed.h). Entries without a document, and
// documents without tokens, score -inf; otherwise a query without tokens scores 0. Codes outside the centroids are
// reported and left out.
// Axes: k centroids, tq query tokens, nq queries, td document tokens, nd documents, c places for candidates, kw words of
// cells, p floors a token; rows of CentroidScore may have a stride.
// Stages: offsets (listing.h), then this.
// Scratch: nq+1 query offsets, nd+1 document offsets, as uint.
// Geometry: naive: a thread a candidate, threadgroups of 32 over c x nq. simdgroup: a threadgroup of 32 threads a candidate.
// Threadgroup memory: none. Requirements: simdgroup reductions.
// Variant: naive does everything serially; simdgroup gives each lane a query token, so that a row of scores is read by
// neighbours, and adds the lanes' sums.
#pragma once
#include "args/plaid_approx_args.h"
#include "plaid/fixed.h"
#include "plaid/listing.h"

enum { APPROX_LANES = 32 };

template <typename T, int VARIANT>
[[kernel]] void plaid_approx_offsets(device const long *query_off [[buffer(PLAID_APPROX_QUERY_OFF)]], device const long *doc_off [[buffer(PLAID_APPROX_DOC_OFF)]],
                                     device uint *trusted [[buffer(PLAID_APPROX_BUFFER_SCRATCH)]], device atomic_uint *status [[buffer(PLAID_APPROX_BUFFER_STATUS)]],
                                     constant plaid_approx_args &a [[buffer(PLAID_APPROX_BUFFER_ARGS)]], uint side [[threadgroup_position_in_grid]],
                                     uint index [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                                     uint group [[simdgroup_index_in_threadgroup]], uint groups [[simdgroups_per_threadgroup]]) {
  threadgroup uint part[MAX_SIMDGROUPS];
  lanes l = {index, OFFSETS_THREADS, lane, group, groups};
  trust_listing(side, query_off, a.nq, a.tq, PLAID_APPROX_QUERY_OFF, doc_off, a.nd, a.td, PLAID_APPROX_DOC_OFF, trusted, l, part, status, a.tag);
}

// approx_sum adds the maxima of every step-th token of a query from first on.
static inline fixed_sum approx_sum(device const float *score, device const int *code, device const uint *live, bool pruned, device const float *floor,
                                   bool floored, segment q, segment t, uint first, uint step, int shift, long i, device atomic_uint *status,
                                   constant plaid_approx_args &a) {
  fixed_sum sum = no_sum();
  for (long r = q.begin + first; r < q.end; r += step) {
    float best = floored ? floor[r * a.p + a.p - 1] : -INFINITY;
    for (long u = t.begin; u < t.end; u++) {
      long c = cell_of(code, u, a.k);
      if (c < 0 || (pruned && (live[c / 32] >> (c % 32) & 1) == 0)) continue;
      best = maximum(best, score[c * a.centroid_score_stride + r]);
    }
    if (!add_fixed(sum, best, shift)) report(status, a.tag, 3, PLAID_APPROX_SHIFT, i);
  }
  return sum;
}

template <typename T>
[[kernel]] void plaid_approx_naive(
    device const T *score [[buffer(PLAID_APPROX_CENTROID_SCORE)]], device const int *code [[buffer(PLAID_APPROX_CODE)]],
    device const int *candidate [[buffer(PLAID_APPROX_CANDIDATE)]], device const long *count [[buffer(PLAID_APPROX_COUNT)]],
    device const uint *live [[buffer(PLAID_APPROX_LIVE)]], device const float *floor [[buffer(PLAID_APPROX_FLOOR)]],
    device const int *shift [[buffer(PLAID_APPROX_SHIFT)]], device float *out [[buffer(PLAID_APPROX_SCORE)]],
    device const uint *trusted [[buffer(PLAID_APPROX_BUFFER_SCRATCH)]], device atomic_uint *status [[buffer(PLAID_APPROX_BUFFER_STATUS)]],
    constant plaid_approx_args &a [[buffer(PLAID_APPROX_BUFFER_ARGS)]], uint2 p [[thread_position_in_grid]]) {
  long e = p.x, i = p.y;
  if (e >= a.c) return; // no barrier follows
  segment t = candidate_tokens(candidate, a.c, i, e, count, a.count != 0, trusted + a.nq + 1, a.nd, status, a.tag, PLAID_APPROX_CANDIDATE);
  if (t.begin == t.end) {
    out[i * a.c + e] = -INFINITY;
    return;
  }
  report_codes(code, t, a.k, 0, 1, status, a.tag, PLAID_APPROX_CODE);
  int s = steps_shift(shift[i]);
  fixed_sum sum = approx_sum(score, code, live + i * a.kw, a.live != 0, floor, a.floor != 0, segment_at(trusted, i), t, 0, 1, s, i, status, a);
  out[i * a.c + e] = fixed_score(fixed_value(sum), s);
}

template <typename T>
[[kernel]] void plaid_approx_simdgroup(
    device const T *score [[buffer(PLAID_APPROX_CENTROID_SCORE)]], device const int *code [[buffer(PLAID_APPROX_CODE)]],
    device const int *candidate [[buffer(PLAID_APPROX_CANDIDATE)]], device const long *count [[buffer(PLAID_APPROX_COUNT)]],
    device const uint *live [[buffer(PLAID_APPROX_LIVE)]], device const float *floor [[buffer(PLAID_APPROX_FLOOR)]],
    device const int *shift [[buffer(PLAID_APPROX_SHIFT)]], device float *out [[buffer(PLAID_APPROX_SCORE)]],
    device const uint *trusted [[buffer(PLAID_APPROX_BUFFER_SCRATCH)]], device atomic_uint *status [[buffer(PLAID_APPROX_BUFFER_STATUS)]],
    constant plaid_approx_args &a [[buffer(PLAID_APPROX_BUFFER_ARGS)]], uint2 g [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  long e = g.x, i = g.y;
  segment t = candidate_tokens(candidate, a.c, i, e, count, a.count != 0, trusted + a.nq + 1, a.nd, status, a.tag, PLAID_APPROX_CANDIDATE);
  if (t.begin == t.end) { // the whole simdgroup
    if (lane == 0) out[i * a.c + e] = -INFINITY;
    return;
  }
  report_codes(code, t, a.k, lane, APPROX_LANES, status, a.tag, PLAID_APPROX_CODE);
  int s = steps_shift(shift[i]);
  fixed_sum sum = simd_add(
      approx_sum(score, code, live + i * a.kw, a.live != 0, floor, a.floor != 0, segment_at(trusted, i), t, lane, APPROX_LANES, s, i, status, a));
  if (lane == 0) out[i * a.c + e] = fixed_score(fixed_value(sum), s);
}
