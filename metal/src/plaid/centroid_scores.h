// centroid_scores, variants naive and tiled.
//
// Operation: canonical dot products;
// a row of Score, and of Half, for each centroid, and the p best cells of each token: score descending, index ascending,
// NaN last. Any output may be absent.
// Axes: tq query tokens, d components, k centroids, p cells to a token; rows of Score and Half may have a stride.
// Stages: scores, then cells (cells.h says what is in scratch).
// Geometry: naive: a thread a score in threadgroups of 32 over tq x k, then a thread a token. tiled: threadgroups of 256
// for 64 centroids by 64 tokens (tile.h), then a threadgroup of 256 a token.
// Threadgroup memory: tiled: scores 8704 bytes, cells 17,576. Requirements: tiled: simdgroup reductions.
// Variant: naive keeps the best cells by insertion, tiled selects them as topk does.
#pragma once
#include "plaid/cells.h"
#include "args/centroid_scores_args.h"

template <typename T>
[[kernel]] void centroid_scores_naive_scores(
    device const T *query [[buffer(CENTROID_SCORES_QUERY)]], device const T *centroid [[buffer(CENTROID_SCORES_CENTROID)]],
    device float *score [[buffer(CENTROID_SCORES_SCORE)]], device half *rounded [[buffer(CENTROID_SCORES_SCORE_HALF)]],
    device float *scratch [[buffer(CENTROID_SCORES_BUFFER_SCRATCH)]], constant centroid_scores_args &a [[buffer(CENTROID_SCORES_BUFFER_ARGS)]],
    uint2 p [[thread_position_in_grid]]) {
  if (p.x >= a.tq) return; // no barrier follows
  no_scale scale;
  score_cell(query, centroid, scale, outputs_of(a, score, rounded, scratch), p.x, p.y, a.d);
}

template <typename T>
[[kernel]] void centroid_scores_naive_cells(device int *cell [[buffer(CENTROID_SCORES_CELL)]], device float *score [[buffer(CENTROID_SCORES_CELL_SCORE)]],
                                   device float *scratch [[buffer(CENTROID_SCORES_BUFFER_SCRATCH)]], constant centroid_scores_args &a [[buffer(CENTROID_SCORES_BUFFER_ARGS)]],
                                   uint t [[thread_position_in_grid]]) {
  if (t >= a.tq) return; // no barrier follows
  insert_cells(row_of(a, scratch, cell, score, t), a.k, a.p);
}

template <typename T>
[[kernel]] void centroid_scores_tiled_scores(
    device const T *query [[buffer(CENTROID_SCORES_QUERY)]], device const T *centroid [[buffer(CENTROID_SCORES_CENTROID)]],
    device float *score [[buffer(CENTROID_SCORES_SCORE)]], device half *rounded [[buffer(CENTROID_SCORES_SCORE_HALF)]],
    device float *scratch [[buffer(CENTROID_SCORES_BUFFER_SCRATCH)]], constant centroid_scores_args &a [[buffer(CENTROID_SCORES_BUFFER_ARGS)]],
    uint2 g [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]]) {
  threadgroup dot_memory<float> m;
  no_scale scale;
  score_cells(m, query, centroid, scale, outputs_of(a, score, rounded, scratch), long(g.y) * DOT_COLUMNS, a.tq, long(g.x) * DOT_ROWS, a.d, index);
}

template <typename T>
[[kernel]] void centroid_scores_tiled_cells(device int *cell [[buffer(CENTROID_SCORES_CELL)]], device float *score [[buffer(CENTROID_SCORES_CELL_SCORE)]],
                                   device float *scratch [[buffer(CENTROID_SCORES_BUFFER_SCRATCH)]], constant centroid_scores_args &a [[buffer(CENTROID_SCORES_BUFFER_ARGS)]],
                                   uint t [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]],
                                   uint lane [[thread_index_in_simdgroup]], uint group [[simdgroup_index_in_threadgroup]],
                                   uint groups [[simdgroups_per_threadgroup]]) {
  threadgroup radix_memory m;
  lanes l = {index, RADIX_THREADS, lane, group, groups};
  select_cells(m, a, scratch, row_of(a, scratch, cell, score, t), t, l);
}
