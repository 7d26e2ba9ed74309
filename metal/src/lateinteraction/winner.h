// The running maximum of one query token over the tokens of a document, with the rules of docs/semantics.md: the
// lowest token of equals wins, -0 equals +0, a NaN beats everything and the lowest NaN stays.
#pragma once
#include "msl/element.h"
#include "msl/offsets.h"

struct winner {
  float best;
  int at; // relative to the document's start; -1 = none yet
};

static inline winner no_winner() {
  winner w;
  w.best = -INFINITY;
  w.at = -1;
  return w;
}

// better says whether candidate (x, at) replaces w. Candidates may come in any order.
static inline bool better(winner w, float x, int at) {
  if (at < 0) return false;
  if (w.at < 0) return true;
  if (is_nan(w.best) || is_nan(x)) return is_nan(x) && (!is_nan(w.best) || at < w.at);
  return x > w.best || (x == w.best && at < w.at);
}

static inline winner merge(winner w, float x, int at) {
  if (better(w, x, at)) {
    w.best = x;
    w.at = at;
  }
  return w;
}

// token_score is what a query token adds to the score.
static inline float token_score(winner w, bool empty_zero) {
  if (w.at < 0) return empty_zero ? 0.0f : -INFINITY;
  return w.best;
}

static inline bool counts(device const uchar *mask, bool present, long token) { return !present || mask[token] != 0; }

static inline float inverse_norm(float square) {
  return 1 / precise::sqrt(square > 1e-12f || is_nan(square) ? square : 1e-12f);
}

// pair_shape is what every thread knows of the launch.
struct pair_shape {
  long d, nd;
  bool normalize, empty_zero, winners;
};

// query_segment reads the rows of query i. Rows of no query, before the first and after the last, are spare: their
// winners for document j are none. With nq = 0 all rows are. Threads that share a pair write every step-th row from lead.
static inline segment query_segment(device const uint *trusted, long nq, long tq, long i, long j, pair_shape s, device int *winners, uint lead,
                                    uint step) {
  segment q = {0, 0};
  if (i < nq) q = segment_at(trusted, i);
  if (!s.winners) return q;
  if (i == 0)
    for (long r = lead; r < q.begin; r += step) winners[r * s.nd + j] = -1;
  if (i + 1 >= nq)
    for (long r = q.end + lead; r < tq; r += step) winners[r * s.nd + j] = -1;
  return q;
}
