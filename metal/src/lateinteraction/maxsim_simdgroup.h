// maxsim and maxsim_scaled, variant simdgroup.
//
// Stages, operation, axes: as maxsim_naive.h.
// Geometry: one threadgroup of 128 threads (4 simdgroups of 32) a (document, query) pair, over nd x max(nq, 1).
// Threadgroup memory: 13,184 bytes. Requirements: simdgroup matrices (family Apple7), simdgroups of 32.
// Variant: 32 query tokens by 32 document tokens at a time, as 8x8 matrix products of widened components; a simdgroup
// owns 8 query rows and takes their maxima from the product in threadgroup memory. A dot product depends on its two
// tokens alone, a maximum is exact, and the query's maxima are added in ascending order by one thread, so a score does
// not depend on its neighbours.
#pragma once
#include <metal_simdgroup_matrix>
#include "lateinteraction/maxsim_naive.h"

enum {
  TILE = 32,           // query tokens, document tokens and components of a tile
  TILE_LD = TILE + 1,  // leading dimension: odd, so that a column does not fall into one bank
  TILE_THREADS = 128,
  TILE_ROWS = 8,       // query rows of a simdgroup
  TILE_PARTS = 4,      // threads that share a row: lanes of the reduction, and loaders
};

// tile_memory is the threadgroup's memory.
struct tile_memory {
  float query[TILE * TILE_LD];
  float doc[TILE * TILE_LD];
  float dot[TILE * TILE_LD];
  float query_factor[TILE]; // inverse norm or scale
  float doc_factor[TILE];
  uint doc_valid[TILE];
};

// place is a thread's part of a tile: it loads components part, part+4, ... of row, and reduces columns
// 8*part ... 8*part+7 of row.
struct place {
  uint row, part, lane, group;
};

static inline place place_of(uint thread_index, uint lane, uint group) {
  place p;
  p.row = thread_index / TILE_PARTS;
  p.part = thread_index % TILE_PARTS;
  p.lane = lane;
  p.group = group;
  return p;
}

// row_factor gives every thread of a row its factor: the scale, the inverse norm, or 1. Inactive rows have 0.
template <typename T, bool SCALED>
static inline float row_factor(thread const tokens<T> &side, long token, bool active, long d, bool normalize, place p) {
  float s = 0;
  if (!SCALED && normalize) {
    if (active)
      for (long k = p.part; k < d; k += TILE_PARTS) {
        float v = load(side.rows + token * d + k);
        s = fma(v, v, s);
      }
    s += simd_shuffle_xor(s, 1);
    s += simd_shuffle_xor(s, 2);
  }
  if (!active) return 0;
  if (SCALED) return side.scale[token];
  return normalize ? inverse_norm(s) : 1;
}

// load_rows widens a tile's components; what does not exist or does not count is 0, so that it cannot be NaN.
template <typename T, bool SCALED>
static inline void load_rows(threadgroup float *tile, thread const tokens<T> &side, long token, bool active, float factor, long from, long d, place p) {
  for (uint k = p.part; k < TILE; k += TILE_PARTS) {
    float v = 0;
    if (active && from + k < d) {
      v = load(side.rows + token * d + from + k);
      if (!SCALED) v *= factor;
    }
    tile[p.row * TILE_LD + k] = v;
  }
}

// tile_product leaves the 32 x 32 dot products in m.dot. Every thread calls it.
template <typename T, bool SCALED>
static inline void tile_product(threadgroup tile_memory &m, thread const tokens<T> &query, thread const tokens<T> &doc, long q, bool q_active, float q_factor,
                                long t, bool t_active, float t_factor, long d, place p) {
  simdgroup_float8x8 acc[TILE / 8];
  for (uint n = 0; n < TILE / 8; n++) acc[n] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  for (long from = 0; from < d; from += TILE) {
    load_rows<T, SCALED>(m.query, query, q, q_active, q_factor, from, d, p);
    load_rows<T, SCALED>(m.doc, doc, t, t_active, t_factor, from, d, p);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < TILE && from + k < d; k += 8) {
      simdgroup_float8x8 x, y;
      simdgroup_load(x, m.query + p.group * TILE_ROWS * TILE_LD + k, TILE_LD);
      for (uint n = 0; n < TILE / 8; n++) {
        simdgroup_load(y, m.doc + n * 8 * TILE_LD + k, TILE_LD, ulong2(0, 0), true);
        simdgroup_multiply_accumulate(acc[n], x, y, acc[n]);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (uint n = 0; n < TILE / 8; n++) simdgroup_store(acc[n], m.dot + p.group * TILE_ROWS * TILE_LD + n * 8, TILE_LD);
  simdgroup_barrier(mem_flags::mem_threadgroup); // the rows of m.dot that a simdgroup reads are its own
}

// row_winner takes a row's maximum over the tile into w; all four threads of the row return the same.
template <bool SCALED>
static inline winner row_winner(threadgroup tile_memory &m, winner w, long first, place p) {
  winner mine = no_winner();
  for (uint c = p.part * 8; c < p.part * 8 + 8; c++) {
    if (m.doc_valid[c] == 0) continue;
    float x = m.dot[p.row * TILE_LD + c];
    if (SCALED) x = x * m.query_factor[p.row] * m.doc_factor[c];
    mine = merge(mine, x, int(first) + int(c));
  }
  for (ushort k = 1; k < TILE_PARTS; k *= 2) {
    float x = simd_shuffle_xor(mine.best, k);
    int at = simd_shuffle_xor(mine.at, k);
    mine = merge(mine, x, at);
  }
  return merge(w, mine.best, mine.at);
}

// query_tile is the maxima of up to 32 query rows over the whole document.
template <typename T, bool SCALED>
static inline winner query_tile(threadgroup tile_memory &m, thread const tokens<T> &query, thread const tokens<T> &doc, long q, bool q_active, segment t,
                                pair_shape s, place p) {
  float q_factor = row_factor<T, SCALED>(query, q, q_active, s.d, s.normalize, p);
  if (p.part == 0) m.query_factor[p.row] = q_factor;
  winner w = no_winner();
  for (long first = t.begin; first < t.end; first += TILE) {
    long u = first + p.row;
    bool active = u < t.end && counts(doc.mask, doc.masked, u);
    float t_factor = row_factor<T, SCALED>(doc, u, active, s.d, s.normalize, p);
    if (p.part == 0) {
      m.doc_factor[p.row] = t_factor;
      m.doc_valid[p.row] = active ? 1 : 0;
    }
    tile_product<T, SCALED>(m, query, doc, q, q_active, q_factor, u, active, t_factor, s.d, p); // has the barrier, since d >= 1
    w = row_winner<SCALED>(m, w, first - t.begin, p);
    threadgroup_barrier(mem_flags::mem_threadgroup); // the next tile overwrites what others still read
  }
  return w;
}

// tiled_pair is the work of one threadgroup.
template <typename T, bool SCALED>
static inline void tiled_pair(threadgroup tile_memory &m, threadgroup float *part, thread const tokens<T> &query, thread const tokens<T> &doc, segment q,
                              segment t, pair_shape s, device float *score, device int *winners, long i, long j, place p) {
  float sum = 0; // of thread 0
  for (long first = q.begin; first < q.end; first += TILE) {
    long r = first + p.row;
    bool inside = r < q.end, active = inside && counts(query.mask, query.masked, r);
    winner w = query_tile<T, SCALED>(m, query, doc, r, active, t, s, p);
    if (p.part == 0) {
      part[p.row] = active ? token_score(w, s.empty_zero) : 0.0f;
      if (inside && s.winners) winners[r * s.nd + j] = active ? w.at : -1;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (p.row == 0 && p.part == 0)
      for (uint k = 0; k < TILE; k++) sum += part[k];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (p.row == 0 && p.part == 0) score[i * s.nd + j] = sum;
}

template <typename T>
[[kernel]] void maxsim_simdgroup(device const T *query [[buffer(MAXSIM_QUERY)]], device const uint *trusted [[buffer(MAXSIM_BUFFER_SCRATCH)]],
                                 device const T *doc [[buffer(MAXSIM_DOC)]],
                                 device const uchar *query_mask [[buffer(MAXSIM_QUERY_MASK)]], device const uchar *doc_mask [[buffer(MAXSIM_DOC_MASK)]],
                                 device float *score [[buffer(MAXSIM_SCORE)]], device int *winners [[buffer(MAXSIM_WINNER)]],
                                 constant maxsim_args &a [[buffer(MAXSIM_BUFFER_ARGS)]],
                                 uint2 g [[threadgroup_position_in_grid]], uint thread_index [[thread_index_in_threadgroup]],
                                 uint lane [[thread_index_in_simdgroup]], uint group [[simdgroup_index_in_threadgroup]]) {
  threadgroup tile_memory m;
  threadgroup float part[TILE];
  long i = g.y, j = g.x;
  pair_shape s = {a.d, a.nd, a.normalize != 0, a.empty_zero != 0, a.winner != 0};
  segment q = query_segment(trusted, a.nq, a.tq, i, j, s, winners, thread_index, TILE_THREADS);
  if (i >= a.nq) return; // the whole threadgroup
  segment t = segment_at(trusted + a.nq + 1, j);
  tokens<T> x = {query, nullptr, query_mask, a.query_mask != 0}, y = {doc, nullptr, doc_mask, a.doc_mask != 0};
  tiled_pair<T, false>(m, part, x, y, q, t, s, score, winners, i, j, place_of(thread_index, lane, group));
}

template <typename T>
[[kernel]] void maxsim_scaled_simdgroup(
    device const T *query [[buffer(MAXSIM_SCALED_QUERY)]], device const float *query_scale [[buffer(MAXSIM_SCALED_QUERY_SCALE)]],
    device const uint *trusted [[buffer(MAXSIM_SCALED_BUFFER_SCRATCH)]], device const T *doc [[buffer(MAXSIM_SCALED_DOC)]],
    device const float *doc_scale [[buffer(MAXSIM_SCALED_DOC_SCALE)]],
    device const uchar *query_mask [[buffer(MAXSIM_SCALED_QUERY_MASK)]], device const uchar *doc_mask [[buffer(MAXSIM_SCALED_DOC_MASK)]],
    device float *score [[buffer(MAXSIM_SCALED_SCORE)]], device int *winners [[buffer(MAXSIM_SCALED_WINNER)]],
    constant maxsim_scaled_args &a [[buffer(MAXSIM_SCALED_BUFFER_ARGS)]],
    uint2 g [[threadgroup_position_in_grid]], uint thread_index [[thread_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]], uint group [[simdgroup_index_in_threadgroup]]) {
  threadgroup tile_memory m;
  threadgroup float part[TILE];
  long i = g.y, j = g.x;
  pair_shape s = {a.d, a.nd, false, a.empty_zero != 0, a.winner != 0};
  segment q = query_segment(trusted, a.nq, a.tq, i, j, s, winners, thread_index, TILE_THREADS);
  if (i >= a.nq) return; // the whole threadgroup
  segment t = segment_at(trusted + a.nq + 1, j);
  tokens<T> x = {query, query_scale, query_mask, a.query_mask != 0}, y = {doc, doc_scale, doc_mask, a.doc_mask != 0};
  tiled_pair<T, true>(m, part, x, y, q, t, s, score, winners, i, j, place_of(thread_index, lane, group));
}
