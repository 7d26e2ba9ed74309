// residual_maxsim for f16, variant simdgroup.
//
// Operation, axes, stages, scratch: as residual_maxsim.h.
// Geometry: a threadgroup of 128 threads (4 simdgroups of 32) a candidate, over c x nq.
// Threadgroup memory: 9984 bytes. Requirements: simdgroup matrices (family Apple7), simdgroups of 32.
// Variant: 32 query tokens by 32 document tokens at a time, as 8x8 matrix products of halves added up in float; a
// simdgroup owns 8 query rows and takes their maxima from the products in threadgroup memory. A dot product depends on
// its two tokens alone, a maximum is exact, and the sum is one of integers.
#pragma once
#include <metal_simdgroup_matrix>
#include "plaid/residual_maxsim.h"

enum {
  MATRIX_LD = 40,    // halves from row to row: 20 banks, so that 8 rows fall into different ones
  MATRIX_PARTS = 4,  // threads that share a query row
  MATRIX_SIDE = 8,   // of a matrix; query rows of a simdgroup
};

struct matrix_memory {
  half query[PAIR_TILE * MATRIX_LD];
  half token[PAIR_TILE * MATRIX_LD];
  float dot[PAIR_TILE * PAIR_LD];
  int cell[PAIR_TILE]; // -1 = the token does not count
  float factor[PAIR_TILE];
};

// stage_matrices loads components from on; what does not exist or does not count is 0.
static inline void stage_matrices(threadgroup matrix_memory &m, thread const vector_pair<half> &p, long r0, segment q, long u0, long from, uint index) {
  for (uint e = index; e < PAIR_TILE * PAIR_TILE; e += PAIR_THREADS) {
    uint row = e / PAIR_TILE, column = e % PAIR_TILE;
    long j = from + column, c = m.cell[row];
    m.query[row * MATRIX_LD + column] = half(r0 + row < q.end && j < p.x.d ? p.query_part(r0 + row, j) : 0.0f);
    m.token[row * MATRIX_LD + column] = half(c >= 0 && j < p.x.d ? p.token_part(u0 + row, c, m.factor[row], j) : 0.0f);
  }
}

// matrix_products leaves the 32 x 32 dot products in m.dot. Every thread calls it.
static inline void matrix_products(threadgroup matrix_memory &m, thread const vector_pair<half> &p, long r0, segment q, long u0, uint index, uint group) {
  simdgroup_float8x8 acc[PAIR_TILE / MATRIX_SIDE];
  for (uint n = 0; n < PAIR_TILE / MATRIX_SIDE; n++) acc[n] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  for (long from = 0; from < p.x.d; from += PAIR_TILE) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    stage_matrices(m, p, r0, q, u0, from, index);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < PAIR_TILE && from + k < p.x.d; k += MATRIX_SIDE) {
      simdgroup_half8x8 x, y;
      simdgroup_load(x, m.query + group * MATRIX_SIDE * MATRIX_LD + k, MATRIX_LD);
      for (uint n = 0; n < PAIR_TILE / MATRIX_SIDE; n++) {
        simdgroup_load(y, m.token + n * MATRIX_SIDE * MATRIX_LD + k, MATRIX_LD, ulong2(0, 0), true);
        simdgroup_multiply_accumulate(acc[n], x, y, acc[n]);
      }
    }
  }
  for (uint n = 0; n < PAIR_TILE / MATRIX_SIDE; n++) simdgroup_store(acc[n], m.dot + group * MATRIX_SIDE * PAIR_LD + n * MATRIX_SIDE, PAIR_LD);
  simdgroup_barrier(mem_flags::mem_threadgroup); // the rows of m.dot that a simdgroup reads are its own
}

// matrix_best is the maximum of query token r0 + index/4 over segment t, the same in the four threads of the row.
static inline float matrix_best(threadgroup matrix_memory &m, thread const vector_pair<half> &p, long r0, segment q, segment t, uint index, uint group) {
  float best = -INFINITY;
  for (long u0 = t.begin; u0 < t.end; u0 += PAIR_TILE) {
    if (index < PAIR_TILE) {
      long c = u0 + index < t.end ? cell_of(p.x.code, u0 + index, p.x.k) : -1;
      m.cell[index] = int(c);
      m.factor[index] = c >= 0 ? p.factor(u0 + index, c) : 0.0f;
    }
    matrix_products(m, p, r0, q, u0, index, group); // has the barrier, since d >= 1
    for (uint j = 0; j < PAIR_TILE / MATRIX_PARTS; j++) {
      uint column = index % MATRIX_PARTS + j * MATRIX_PARTS;
      if (m.cell[column] >= 0) best = maximum(best, m.dot[index / MATRIX_PARTS * PAIR_LD + column]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup); // the next tile overwrites what others still read
  }
  for (ushort k = 1; k < MATRIX_PARTS; k *= 2) best = maximum(best, simd_shuffle_xor(best, k));
  return best;
}

template <typename T>
[[kernel]] void residual_maxsim_simdgroup(
    device const T *query [[buffer(RESIDUAL_MAXSIM_QUERY)]], device const int *code [[buffer(RESIDUAL_MAXSIM_CODE)]],
    device const uchar *packed [[buffer(RESIDUAL_MAXSIM_PACKED)]], device const T *centroid [[buffer(RESIDUAL_MAXSIM_CENTROID)]],
    device const float *weight [[buffer(RESIDUAL_MAXSIM_WEIGHT)]], device const float *inverse [[buffer(RESIDUAL_MAXSIM_INV_NORM)]],
    device const int *candidate [[buffer(RESIDUAL_MAXSIM_CANDIDATE)]], device const long *count [[buffer(RESIDUAL_MAXSIM_COUNT)]],
    device const int *shift [[buffer(RESIDUAL_MAXSIM_SHIFT)]], device float *score [[buffer(RESIDUAL_MAXSIM_SCORE)]],
    device const uint *trusted [[buffer(RESIDUAL_MAXSIM_BUFFER_SCRATCH)]], device atomic_uint *status [[buffer(RESIDUAL_MAXSIM_BUFFER_STATUS)]],
    constant residual_maxsim_args &a [[buffer(RESIDUAL_MAXSIM_BUFFER_ARGS)]], uint2 g [[threadgroup_position_in_grid]],
    uint index [[thread_index_in_threadgroup]], uint group [[simdgroup_index_in_threadgroup]]) {
  threadgroup matrix_memory m;
  threadgroup ulong totals[PAIR_TILE];
  threadgroup uint flags[PAIR_TILE];
  long e = g.x, i = g.y;
  segment q = segment_at(trusted, i);
  segment t = candidate_tokens(candidate, a.c, i, e, count, a.count != 0, trusted + a.nq + 1, a.nd, status, a.tag, RESIDUAL_MAXSIM_CANDIDATE);
  if (t.begin == t.end) { // the whole threadgroup
    if (index == 0) score[i * a.c + e] = -INFINITY;
    return;
  }
  report_codes(code, t, a.k, index, PAIR_THREADS, status, a.tag, RESIDUAL_MAXSIM_CODE);
  vector_pair<T> p = vectors_of(query, code, packed, centroid, weight, inverse, a);
  int s = steps_shift(shift[i]);
  fixed_sum sum = no_sum(); // of this thread's row, if it is the first of it
  for (long first = q.begin; first < q.end; first += PAIR_TILE) {
    float best = matrix_best(m, p, first, q, t, index, group);
    bool mine = index % MATRIX_PARTS == 0 && first + index / MATRIX_PARTS < q.end;
    if (mine && !add_fixed(sum, best, s)) report(status, a.tag, 3, RESIDUAL_MAXSIM_SHIFT, i);
  }
  if (index % MATRIX_PARTS == 0) {
    totals[index / MATRIX_PARTS] = sum.total;
    flags[index / MATRIX_PARTS] = sum.flags;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (index != 0) return;
  for (uint k = 1; k < PAIR_TILE; k++) {
    fixed_sum other = {totals[k], flags[k]};
    sum = add_sums(sum, other);
  }
  score[i * a.c + e] = fixed_score(fixed_value(sum), s);
}
