// Code generated from the declaration of residual_maxsim_int8. DO NOT EDIT.
#ifndef RESIDUAL_MAXSIM_INT8_ARGS_H
#define RESIDUAL_MAXSIM_INT8_ARGS_H
struct residual_maxsim_int8_args {
  ulong centroid_score; // in [k,tq]
  ulong query; // in [tq,d]
  ulong unit; // in [tq]
  ulong query_off; // in [nq+1]
  ulong code; // in [td]
  ulong packed; // in [td,rb]
  ulong doc_off; // in [nd+1]
  ulong table; // in [w]
  ulong inv_norm; // in [td], 0 = absent
  ulong candidate; // in [nq,c]
  ulong count; // in [nq], 0 = absent
  ulong score; // out [nq,c]
  long k;
  long tq;
  long d;
  long nq;
  long td;
  long rb;
  long nd;
  long w;
  long c;
  long centroid_score_stride; // elements between rows
  long bits;
  ulong scratch; // address of the workspace
  ulong scratch_bytes;
  ulong status; // address of the stream's status word
  ulong tag; // number of this binding in status words
};
#define RESIDUAL_MAXSIM_INT8_CENTROID_SCORE 0
#define RESIDUAL_MAXSIM_INT8_QUERY 1
#define RESIDUAL_MAXSIM_INT8_UNIT 2
#define RESIDUAL_MAXSIM_INT8_QUERY_OFF 3
#define RESIDUAL_MAXSIM_INT8_CODE 4
#define RESIDUAL_MAXSIM_INT8_PACKED 5
#define RESIDUAL_MAXSIM_INT8_DOC_OFF 6
#define RESIDUAL_MAXSIM_INT8_TABLE 7
#define RESIDUAL_MAXSIM_INT8_INV_NORM 8
#define RESIDUAL_MAXSIM_INT8_CANDIDATE 9
#define RESIDUAL_MAXSIM_INT8_COUNT 10
#define RESIDUAL_MAXSIM_INT8_SCORE 11
#define RESIDUAL_MAXSIM_INT8_BUFFER_SCRATCH 12
#define RESIDUAL_MAXSIM_INT8_BUFFER_STATUS 13
#define RESIDUAL_MAXSIM_INT8_BUFFER_ARGS 14
#endif
