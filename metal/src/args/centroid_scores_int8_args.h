// Code generated from the declaration of centroid_scores_int8. DO NOT EDIT.
#ifndef CENTROID_SCORES_INT8_ARGS_H
#define CENTROID_SCORES_INT8_ARGS_H
struct centroid_scores_int8_args {
  ulong query; // in [tq,d]
  ulong query_scale; // in [tq]
  ulong centroid; // in [k,d]
  ulong centroid_scale; // in [k]
  ulong score; // out [k,tq], 0 = absent
  ulong score_half; // out [k,tq], 0 = absent
  ulong cell; // out [tq,p], 0 = absent
  ulong cell_score; // out [tq,p], 0 = absent
  long tq;
  long d;
  long k;
  long p;
  long score_stride; // elements between rows
  long score_half_stride; // elements between rows
  ulong scratch; // address of the workspace
  ulong scratch_bytes;
  ulong status; // address of the stream's status word
  ulong tag; // number of this binding in status words
};
#define CENTROID_SCORES_INT8_QUERY 0
#define CENTROID_SCORES_INT8_QUERY_SCALE 1
#define CENTROID_SCORES_INT8_CENTROID 2
#define CENTROID_SCORES_INT8_CENTROID_SCALE 3
#define CENTROID_SCORES_INT8_SCORE 4
#define CENTROID_SCORES_INT8_SCORE_HALF 5
#define CENTROID_SCORES_INT8_CELL 6
#define CENTROID_SCORES_INT8_CELL_SCORE 7
#define CENTROID_SCORES_INT8_BUFFER_SCRATCH 8
#define CENTROID_SCORES_INT8_BUFFER_STATUS 9
#define CENTROID_SCORES_INT8_BUFFER_ARGS 10
#endif
