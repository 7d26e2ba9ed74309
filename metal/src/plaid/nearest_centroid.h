// nearest_centroid, variants naive and tiled.
//
// Operation: each token's centroid of the largest canonical dot product, the lowest on ties, -0 equal to +0, and that
// product. A token with a NaN product has code -1 and score NaN and is reported. The n x k matrix is never stored.
// Axes: n tokens, k centroids (at least one), d components; all row-major and dense.
// Geometry: naive: one thread a token, threadgroups of 32. tiled: a threadgroup of 256 threads for 64 tokens.
// Threadgroup memory: tiled: 16,896 bytes. Requirements: none.
// Variant: naive walks through the centroids alone; tiled goes through them 64 at a time (tile.h), each thread keeping
// the best of its columns, which are merged at the end.
#pragma once
#include "args/nearest_centroid_args.h"
#include "msl/status.h"
#include "plaid/tile.h"

// nearest is the best centroid so far.
struct nearest {
  float best;
  int at; // -1 = none yet
};

static inline nearest no_nearest() {
  nearest w = {0, -1};
  return w;
}

// nearer takes centroid at with product x; NaN wins and stays. Candidates may come in any order.
static inline nearest nearer(nearest w, float x, int at) {
  if (at < 0 || is_nan(w.best)) return w;
  nearest c = {x, at};
  return w.at < 0 || is_nan(x) || x > w.best || (x == w.best && at < w.at) ? c : w;
}

static inline void store_nearest(nearest w, long token, device int *code, device float *score, device atomic_uint *status, constant nearest_centroid_args &a) {
  if (is_nan(w.best)) {
    report(status, a.tag, 1, NEAREST_CENTROID_TOKEN, token);
    w.at = -1;
  }
  code[token] = w.at;
  if (a.score != 0) score[token] = canonical(w.best);
}

template <typename T>
[[kernel]] void nearest_centroid_naive(device const T *token [[buffer(NEAREST_CENTROID_TOKEN)]], device const T *centroid [[buffer(NEAREST_CENTROID_CENTROID)]],
                                       device int *code [[buffer(NEAREST_CENTROID_CODE)]], device float *score [[buffer(NEAREST_CENTROID_SCORE)]],
                                       device atomic_uint *status [[buffer(NEAREST_CENTROID_BUFFER_STATUS)]],
                                       constant nearest_centroid_args &a [[buffer(NEAREST_CENTROID_BUFFER_ARGS)]], uint p [[thread_position_in_grid]]) {
  long i = p;
  if (i >= a.n) return; // no barrier follows
  nearest w = no_nearest();
  for (long c = 0; c < a.k; c++) {
    float x = 0;
    for (long j = 0; j < a.d; j++) x = chain(token[i * a.d + j], centroid[c * a.d + j], x);
    w = nearer(w, x, int(c));
  }
  store_nearest(w, i, code, score, status, a);
}

struct nearest_memory {
  dot_memory<float> dot;
  float best[DOT_ROWS * DOT_SIDE];
  int at[DOT_ROWS * DOT_SIDE];
};

template <typename T>
[[kernel]] void nearest_centroid_tiled(device const T *token [[buffer(NEAREST_CENTROID_TOKEN)]], device const T *centroid [[buffer(NEAREST_CENTROID_CENTROID)]],
                                       device int *code [[buffer(NEAREST_CENTROID_CODE)]], device float *score [[buffer(NEAREST_CENTROID_SCORE)]],
                                       device atomic_uint *status [[buffer(NEAREST_CENTROID_BUFFER_STATUS)]],
                                       constant nearest_centroid_args &a [[buffer(NEAREST_CENTROID_BUFFER_ARGS)]],
                                       uint group [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]]) {
  threadgroup nearest_memory m;
  long first = long(group) * DOT_ROWS;
  uint row = index / DOT_SIDE, column = index % DOT_SIDE;
  nearest w[DOT_EACH];
  for (uint i = 0; i < DOT_EACH; i++) w[i] = no_nearest();
  for (long c = 0; c < a.k; c += DOT_COLUMNS) {
    dot_chains<float> x = dot_tile(m.dot, token, first, a.n, centroid, c, a.k, a.d, index);
    for (uint i = 0; i < DOT_EACH; i++)
      for (uint j = 0; j < DOT_EACH; j++) {
        long at = c + column + j * DOT_SIDE;
        if (at < a.k) w[i] = nearer(w[i], x.at[i][j], int(at));
      }
  }
  for (uint i = 0; i < DOT_EACH; i++) {
    uint slot = (row + i * DOT_SIDE) * DOT_SIDE + column;
    m.best[slot] = w[i].best;
    m.at[slot] = w[i].at;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (index >= DOT_ROWS || first + index >= a.n) return;
  nearest all = no_nearest();
  for (uint s = index * DOT_SIDE; s < (index + 1) * DOT_SIDE; s++) all = nearer(all, m.best[s], m.at[s]);
  store_nearest(all, first + index, code, score, status, a);
}
