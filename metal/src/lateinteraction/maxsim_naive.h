// maxsim and maxsim_scaled, variant naive.
//
// Stages: offsets (maxsim_offsets.h), then this.
// Operation: score[i,j] = sum over active tokens t of query i of max over valid tokens u of document j of <q_t, d_u>.
// Axes: tq query tokens, nq queries, td document tokens, nd documents, d components; all row-major.
// Geometry: one thread a (document, query) pair; threadgroups of 32 x 1 threads over nd x max(nq, 1).
// Threadgroup memory: none. Requirements: none.
// Variant: everything serial in one thread. A dot product is one chain of fused multiply-adds in ascending order.
#pragma once
#include "lateinteraction/maxsim_offsets.h"
#include "lateinteraction/winner.h"

// tokens is one side of the product: rows of d components with what may accompany them.
template <typename T> struct tokens {
  device const T *rows;
  device const float *scale; // read by maxsim_scaled only
  device const uchar *mask;
  bool masked;
};

// token_factor is what a token's components are multiplied by: 1, or 1/sqrt(max(|x|^2, 1e-12)).
template <typename T>
static inline float token_factor(device const T *x, long d, bool normalize) {
  if (!normalize) return 1;
  float s = 0;
  for (long k = 0; k < d; k++) {
    float v = load(x + k);
    s = fma(v, v, s);
  }
  return inverse_norm(s);
}

template <typename T, bool SCALED>
static inline winner token_winner(thread const tokens<T> &query, thread const tokens<T> &doc, long i, segment t, long d, bool normalize) {
  device const T *x = query.rows + i * d;
  float fx = token_factor(x, d, normalize);
  winner w = no_winner();
  for (long u = t.begin; u < t.end; u++) {
    if (!counts(doc.mask, doc.masked, u)) continue;
    device const T *y = doc.rows + u * d;
    float fy = token_factor(y, d, normalize), dot = 0;
    if (normalize) {
      for (long k = 0; k < d; k++) dot = fma(load(x + k) * fx, load(y + k) * fy, dot);
    } else {
      for (long k = 0; k < d; k++) dot = fma(load(x + k), load(y + k), dot);
    }
    if (SCALED) dot = dot * query.scale[i] * doc.scale[u];
    w = merge(w, dot, int(u - t.begin));
  }
  return w;
}

// naive_pair is the work of one thread. Query row i = nq = 0 has spare rows of winners only.
template <typename T, bool SCALED>
static inline void naive_pair(thread const tokens<T> &query, thread const tokens<T> &doc, segment q, segment t, pair_shape s,
                              device float *score, device int *winners, long i, long j) {
  float sum = 0;
  for (long r = q.begin; r < q.end; r++) {
    winner w = no_winner();
    if (counts(query.mask, query.masked, r)) {
      w = token_winner<T, SCALED>(query, doc, r, t, s.d, s.normalize);
      sum += token_score(w, s.empty_zero);
    }
    if (s.winners) winners[r * s.nd + j] = w.at;
  }
  score[i * s.nd + j] = sum;
}

template <typename T>
[[kernel]] void maxsim_naive(device const T *query [[buffer(MAXSIM_QUERY)]], device const uint *trusted [[buffer(MAXSIM_BUFFER_SCRATCH)]],
                             device const T *doc [[buffer(MAXSIM_DOC)]],
                             device const uchar *query_mask [[buffer(MAXSIM_QUERY_MASK)]], device const uchar *doc_mask [[buffer(MAXSIM_DOC_MASK)]],
                             device float *score [[buffer(MAXSIM_SCORE)]], device int *winners [[buffer(MAXSIM_WINNER)]],
                             constant maxsim_args &a [[buffer(MAXSIM_BUFFER_ARGS)]],
                             uint2 p [[thread_position_in_grid]]) {
  long i = p.y, j = p.x;
  if (j >= a.nd) return; // no barrier follows
  pair_shape s = {a.d, a.nd, a.normalize != 0, a.empty_zero != 0, a.winner != 0};
  segment q = query_segment(trusted, a.nq, a.tq, i, j, s, winners, 0, 1);
  if (i >= a.nq) return;
  segment t = segment_at(trusted + a.nq + 1, j);
  tokens<T> x = {query, nullptr, query_mask, a.query_mask != 0}, y = {doc, nullptr, doc_mask, a.doc_mask != 0};
  naive_pair<T, false>(x, y, q, t, s, score, winners, i, j);
}

template <typename T>
[[kernel]] void maxsim_scaled_naive(
    device const T *query [[buffer(MAXSIM_SCALED_QUERY)]], device const float *query_scale [[buffer(MAXSIM_SCALED_QUERY_SCALE)]],
    device const uint *trusted [[buffer(MAXSIM_SCALED_BUFFER_SCRATCH)]], device const T *doc [[buffer(MAXSIM_SCALED_DOC)]],
    device const float *doc_scale [[buffer(MAXSIM_SCALED_DOC_SCALE)]],
    device const uchar *query_mask [[buffer(MAXSIM_SCALED_QUERY_MASK)]], device const uchar *doc_mask [[buffer(MAXSIM_SCALED_DOC_MASK)]],
    device float *score [[buffer(MAXSIM_SCALED_SCORE)]], device int *winners [[buffer(MAXSIM_SCALED_WINNER)]],
    constant maxsim_scaled_args &a [[buffer(MAXSIM_SCALED_BUFFER_ARGS)]],
    uint2 p [[thread_position_in_grid]]) {
  long i = p.y, j = p.x;
  if (j >= a.nd) return; // no barrier follows
  pair_shape s = {a.d, a.nd, false, a.empty_zero != 0, a.winner != 0};
  segment q = query_segment(trusted, a.nq, a.tq, i, j, s, winners, 0, 1);
  if (i >= a.nq) return;
  segment t = segment_at(trusted + a.nq + 1, j);
  tokens<T> x = {query, query_scale, query_mask, a.query_mask != 0}, y = {doc, doc_scale, doc_mask, a.doc_mask != 0};
  naive_pair<T, true>(x, y, q, t, s, score, winners, i, j);
}
