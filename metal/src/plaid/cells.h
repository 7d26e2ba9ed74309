// What centroid_scores and centroid_scores_int8 share: scores in the forms asked for, and each token's best cells.
//
// Scratch: tq rows of k scores as float, where cells are wanted; tq rows of p words, where one of the two cell operands
// is absent; pairs of words for the sort of selection/topk_radix.h, where they do not fit its threadgroup memory.
#pragma once
#include "plaid/tile.h"
#include "selection/topk_radix.h"

// cell_outputs is where scores go. A null pointer is an absent operand, and bound to something all the same.
struct cell_outputs {
  device float *score;
  device half *rounded;
  device float *by_token; // scratch: a row of k a token
  bool scores, halves, cells;
  long score_stride, half_stride, k;
};

static inline void store_cell(cell_outputs o, long c, long t, float x) {
  x = canonical(x);
  if (o.scores) o.score[c * o.score_stride + t] = x;
  if (o.halves) o.rounded[c * o.half_stride + t] = half(x);
  if (o.cells) o.by_token[t * o.k + c] = x;
}

template <typename A> static inline cell_outputs outputs_of(constant A &a, device float *score, device half *rounded, device float *by_token) {
  cell_outputs o = {score, rounded, by_token, a.score != 0, a.score_half != 0, (a.cell != 0 || a.cell_score != 0) && a.p > 0, a.score_stride, a.score_half_stride, a.k};
  return o;
}

// scale_of is what a dot product is multiplied by; canonical ones are not.
struct no_scale {
  float scaled(float dot, long, long) const { return dot; }
};
struct int8_scale {
  device const float *query, *centroid;
  float scaled(int dot, long t, long c) const {
    float s = query[t] * centroid[c];
    return float(dot) * s;
  }
};

// score_cell is the work of one thread.
template <typename T, typename S>
static inline void score_cell(device const T *query, device const T *centroid, S scale, cell_outputs o, long t, long c, long d) {
  typename dot_type<T>::type x = 0;
  for (long j = 0; j < d; j++) x = chain(typename dot_type<T>::type(query[t * d + j]), typename dot_type<T>::type(centroid[c * d + j]), x);
  store_cell(o, c, t, scale.scaled(x, t, c));
}

// score_cells is the work of a threadgroup: 64 centroids by 64 tokens.
template <typename T, typename S, typename A>
static inline void score_cells(threadgroup dot_memory<A> &m, device const T *query, device const T *centroid, S scale, cell_outputs o, long t0, long tq, long c0,
                               long d, uint index) {
  dot_chains<A> x = dot_tile(m, centroid, c0, o.k, query, t0, tq, d, index);
  for (uint i = 0; i < DOT_EACH; i++)
    for (uint j = 0; j < DOT_EACH; j++) {
      long c = c0 + index / DOT_SIDE + i * DOT_SIDE, t = t0 + index % DOT_SIDE + j * DOT_SIDE;
      if (c < o.k && t < tq) store_cell(o, c, t, scale.scaled(x.at[i][j], t, c));
    }
}

// cell_row is where the cells of token t go; what is absent goes to scratch.
struct cell_row {
  device const float *x;
  device int *cell;
  device float *score;
};

template <typename A> static inline cell_row row_of(constant A &a, device float *scratch, device int *cell, device float *score, long t) {
  device float *spare = scratch + a.tq * a.k + t * a.p;
  cell_row r = {scratch + t * a.k, a.cell != 0 ? cell + t * a.p : (device int *)spare, a.cell_score != 0 ? score + t * a.p : spare};
  return r;
}

// insert_cells keeps the p best of k scores by insertion: a later score goes behind its equals.
static inline void insert_cells(cell_row r, long k, long p) {
  long kept = 0;
  for (long c = 0; c < k; c++) {
    uint key = rank_key(r.x[c]);
    if (kept == p && key >= rank_key(r.score[p - 1])) continue;
    long at = kept < p ? kept++ : p - 1;
    for (; at > 0 && key < rank_key(r.score[at - 1]); at--) {
      r.score[at] = r.score[at - 1];
      r.cell[at] = r.cell[at - 1];
    }
    r.score[at] = r.x[c];
    r.cell[at] = int(c);
  }
}

// select_cells does the same with a threadgroup of RADIX_THREADS.
template <typename A>
static inline void select_cells(threadgroup radix_memory &m, constant A &a, device float *scratch, cell_row r, long t, lanes l) {
  uint p = uint(a.p), size = 2;
  while (size < p) size *= 2;
  if (size <= RADIX_LOCAL) {
    radix_row(m, r.x, a.k, p, size, &m.keys[0], &m.at[0], nullptr, r.score, r.cell, l);
  } else {
    bool spare = a.cell == 0 || a.cell_score == 0;
    device uint *mine = (device uint *)scratch + a.tq * (a.k + (spare ? a.p : 0)) + t * 2 * size;
    radix_row(m, r.x, a.k, p, size, mine, mine + size, nullptr, r.score, r.cell, l);
  }
}
