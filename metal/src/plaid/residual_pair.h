// One query with one document that is kept as codes and residuals: the maximum of each query token over the document's
// tokens, by a single thread or by a threadgroup. Both make a dot product by the same chain, so their bits are equal.
#pragma once
#include "plaid/listing.h"
#include "plaid/residual.h"

// residual_rows are tokens of documents as they are kept.
struct residual_rows {
  device const int *code;
  device const uchar *packed;
  device const float *inverse; // inverse norms
  bool inverted;               // whether there are any
  uint bits;
  long k, d, rb;
};

// vector_pair multiplies decoded vectors. T is what they are rounded to.
template <typename T> struct vector_pair {
  typedef float part; // what dot products are made of
  residual_rows x;
  device const T *query, *centroid;
  device const float *weight;
  bool normalize;

  // factor is what token u with code c is multiplied by.
  float factor(long u, long c) const {
    if (x.inverted) return x.inverse[u];
    return normalize ? decoded_inverse_norm(centroid + c * x.d, x.packed + u * x.rb, weight, x.d, x.bits) : 1.0f;
  }
  float query_part(long r, long j) const { return load(query + r * x.d + j); }
  float token_part(long u, long c, float factor, long j) const {
    return element<T>::rounded(decoded(centroid + c * x.d, x.packed + u * x.rb, weight, j, x.bits) * factor);
  }
  float value(float dot, long, long, float) const { return dot; }
};

// int8_pair multiplies integers and takes the centroid's part from its score.
template <typename S> struct int8_pair {
  typedef int part;
  residual_rows x;
  device const int8_t *query, *table;
  device const float *unit;
  device const S *score;
  long stride; // of score

  float factor(long u, long) const { return x.inverted ? x.inverse[u] : 1.0f; }
  int query_part(long r, long j) const { return query[r * x.d + j]; }
  int token_part(long u, long, float, long j) const { return table[bucket_at(x.packed + u * x.rb, j, x.bits)]; }
  float value(int dot, long r, long c, float factor) const { return fma(float(dot), unit[r], load(score + c * stride + r)) * factor; }
};

// serial_best is the maximum of query token r over segment t: -inf where no token has a cell.
template <typename P> static inline float serial_best(thread const P &p, long r, segment t) {
  float best = -INFINITY;
  for (long u = t.begin; u < t.end; u++) {
    long c = cell_of(p.x.code, u, p.x.k);
    if (c < 0) continue;
    float factor = p.factor(u, c);
    typename P::part dot = 0;
    for (long j = 0; j < p.x.d; j++) dot = chain(p.query_part(r, j), p.token_part(u, c, factor, j), dot);
    best = maximum(best, p.value(dot, r, c, factor));
  }
  return best;
}

enum {
  PAIR_TILE = 32,          // query tokens, document tokens and components of a tile
  PAIR_LD = PAIR_TILE + 1, // odd, so that a column does not fall into one bank
  PAIR_THREADS = 128,
  PAIR_COLUMNS = 8,                          // threads along a row of the tile: neighbours of a simdgroup
  PAIR_ROWS = PAIR_THREADS / PAIR_COLUMNS,   // 16
  PAIR_EACH_ROW = PAIR_TILE / PAIR_ROWS,     // query tokens of a thread: every 16th
  PAIR_EACH_COLUMN = PAIR_TILE / PAIR_COLUMNS, // document tokens of a thread: every 8th
};

template <typename A> struct pair_memory {
  A query[PAIR_TILE * PAIR_LD];
  A token[PAIR_TILE * PAIR_LD];
  int cell[PAIR_TILE]; // -1 = the token does not count
  float factor[PAIR_TILE];
};

// row_maxima are the maxima of query tokens index/8 and index/8+16 of a tile.
struct row_maxima {
  float best[PAIR_EACH_ROW];
};

// stage_pair loads components from on; what does not exist or does not count is 0.
template <typename P>
static inline void stage_pair(threadgroup pair_memory<typename P::part> &m, thread const P &p, long r0, segment q, long u0, long from, uint index) {
  for (uint e = index; e < PAIR_TILE * PAIR_TILE; e += PAIR_THREADS) {
    uint row = e / PAIR_TILE, column = e % PAIR_TILE;
    long j = from + column, c = m.cell[row];
    m.query[row * PAIR_LD + column] = r0 + row < q.end && j < p.x.d ? p.query_part(r0 + row, j) : 0;
    m.token[row * PAIR_LD + column] = c >= 0 && j < p.x.d ? p.token_part(u0 + row, c, m.factor[row], j) : 0;
  }
}

// pair_tile takes document tokens [u0, u0+32) into the maxima of query tokens [r0, r0+32). Every thread calls it.
template <typename P>
static inline row_maxima pair_tile(threadgroup pair_memory<typename P::part> &m, thread const P &p, row_maxima w, long r0, segment q, long u0, segment t,
                                   uint index) {
  if (index < PAIR_TILE) {
    long c = u0 + index < t.end ? cell_of(p.x.code, u0 + index, p.x.k) : -1;
    m.cell[index] = int(c);
    m.factor[index] = c >= 0 ? p.factor(u0 + index, c) : 0.0f;
  }
  typename P::part dot[PAIR_EACH_ROW][PAIR_EACH_COLUMN];
  for (uint i = 0; i < PAIR_EACH_ROW; i++)
    for (uint j = 0; j < PAIR_EACH_COLUMN; j++) dot[i][j] = 0;
  uint row = index / PAIR_COLUMNS, column = index % PAIR_COLUMNS;
  for (long from = 0; from < p.x.d; from += PAIR_TILE) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    stage_pair(m, p, r0, q, u0, from, index);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < PAIR_TILE && from + k < p.x.d; k++)
      for (uint i = 0; i < PAIR_EACH_ROW; i++)
        for (uint j = 0; j < PAIR_EACH_COLUMN; j++)
          dot[i][j] = chain(m.query[(row + i * PAIR_ROWS) * PAIR_LD + k], m.token[(column + j * PAIR_COLUMNS) * PAIR_LD + k], dot[i][j]);
  }
  for (uint i = 0; i < PAIR_EACH_ROW; i++)
    for (uint j = 0; j < PAIR_EACH_COLUMN; j++) {
      long r = r0 + row + i * PAIR_ROWS, c = m.cell[column + j * PAIR_COLUMNS];
      if (r < q.end && c >= 0) w.best[i] = maximum(w.best[i], p.value(dot[i][j], r, c, m.factor[column + j * PAIR_COLUMNS]));
    }
  threadgroup_barrier(mem_flags::mem_threadgroup); // the next tile overwrites what others still read
  return w;
}

// tiled_best is the maxima over segment t, the same in all threads of a row.
template <typename P>
static inline row_maxima tiled_best(threadgroup pair_memory<typename P::part> &m, thread const P &p, long r0, segment q, segment t, uint index) {
  row_maxima w;
  for (uint i = 0; i < PAIR_EACH_ROW; i++) w.best[i] = -INFINITY;
  for (long u = t.begin; u < t.end; u += PAIR_TILE) w = pair_tile(m, p, w, r0, q, u, t, index);
  for (uint i = 0; i < PAIR_EACH_ROW; i++)
    for (ushort k = 1; k < PAIR_COLUMNS; k *= 2) w.best[i] = maximum(w.best[i], simd_shuffle_xor(w.best[i], k));
  return w;
}
