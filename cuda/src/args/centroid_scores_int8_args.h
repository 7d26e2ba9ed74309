// Code generated from the declaration of centroid_scores_int8. DO NOT EDIT.
#ifndef CENTROID_SCORES_INT8_ARGS_H
#define CENTROID_SCORES_INT8_ARGS_H
struct centroid_scores_int8_args {
  unsigned long long query; // in [tq,d]
  unsigned long long query_scale; // in [tq]
  unsigned long long centroid; // in [k,d]
  unsigned long long centroid_scale; // in [k]
  unsigned long long score; // out [k,tq], 0 = absent
  unsigned long long score_half; // out [k,tq], 0 = absent
  unsigned long long cell; // out [tq,p], 0 = absent
  unsigned long long cell_score; // out [tq,p], 0 = absent
  long long tq;
  long long d;
  long long k;
  long long p;
  long long score_stride; // elements between rows
  long long score_half_stride; // elements between rows
  unsigned long long scratch; // address of the workspace
  unsigned long long scratch_bytes;
  unsigned long long status; // address of the stream's status word
  unsigned long long tag; // number of this binding in status words
};
#endif
