// Code generated from the declaration of residual_maxsim. DO NOT EDIT.
#ifndef RESIDUAL_MAXSIM_ARGS_H
#define RESIDUAL_MAXSIM_ARGS_H
struct residual_maxsim_args {
  ulong query; // in [tq,d]
  ulong query_off; // in [nq+1]
  ulong code; // in [td]
  ulong packed; // in [td,rb]
  ulong doc_off; // in [nd+1]
  ulong centroid; // in [k,d]
  ulong weight; // in [w]
  ulong inv_norm; // in [td], 0 = absent
  ulong candidate; // in [nq,c]
  ulong count; // in [nq], 0 = absent
  ulong shift; // in [nq]
  ulong score; // out [nq,c]
  ulong fixed; // out [nq,c], 0 = absent
  long tq;
  long d;
  long nq;
  long td;
  long rb;
  long nd;
  long k;
  long w;
  long c;
  long bits;
  long normalize;
  ulong scratch; // address of the workspace
  ulong scratch_bytes;
  ulong status; // address of the stream's status word
  ulong tag; // number of this binding in status words
};
#define RESIDUAL_MAXSIM_QUERY 0
#define RESIDUAL_MAXSIM_QUERY_OFF 1
#define RESIDUAL_MAXSIM_CODE 2
#define RESIDUAL_MAXSIM_PACKED 3
#define RESIDUAL_MAXSIM_DOC_OFF 4
#define RESIDUAL_MAXSIM_CENTROID 5
#define RESIDUAL_MAXSIM_WEIGHT 6
#define RESIDUAL_MAXSIM_INV_NORM 7
#define RESIDUAL_MAXSIM_CANDIDATE 8
#define RESIDUAL_MAXSIM_COUNT 9
#define RESIDUAL_MAXSIM_SHIFT 10
#define RESIDUAL_MAXSIM_SCORE 11
#define RESIDUAL_MAXSIM_FIXED 12
#define RESIDUAL_MAXSIM_BUFFER_SCRATCH 13
#define RESIDUAL_MAXSIM_BUFFER_STATUS 14
#define RESIDUAL_MAXSIM_BUFFER_ARGS 15
#endif
