// Code generated from the declaration of centroid_scores. DO NOT EDIT.
#ifndef CENTROID_SCORES_ARGS_H
#define CENTROID_SCORES_ARGS_H
struct centroid_scores_args {
  ulong query; // in [tq,d]
  ulong centroid; // in [k,d]
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
#define CENTROID_SCORES_QUERY 0
#define CENTROID_SCORES_CENTROID 1
#define CENTROID_SCORES_SCORE 2
#define CENTROID_SCORES_SCORE_HALF 3
#define CENTROID_SCORES_CELL 4
#define CENTROID_SCORES_CELL_SCORE 5
#define CENTROID_SCORES_BUFFER_SCRATCH 6
#define CENTROID_SCORES_BUFFER_STATUS 7
#define CENTROID_SCORES_BUFFER_ARGS 8
#endif
