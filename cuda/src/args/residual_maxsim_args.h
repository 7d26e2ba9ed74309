// Code generated from the declaration of residual_maxsim. DO NOT EDIT.
#ifndef RESIDUAL_MAXSIM_ARGS_H
#define RESIDUAL_MAXSIM_ARGS_H
struct residual_maxsim_args {
  unsigned long long query; // in [tq,d]
  unsigned long long query_off; // in [nq+1]
  unsigned long long code; // in [td]
  unsigned long long packed; // in [td,rb]
  unsigned long long doc_off; // in [nd+1]
  unsigned long long centroid; // in [k,d]
  unsigned long long weight; // in [w]
  unsigned long long inv_norm; // in [td], 0 = absent
  unsigned long long candidate; // in [nq,c]
  unsigned long long count; // in [nq], 0 = absent
  unsigned long long shift; // in [nq]
  unsigned long long score; // out [nq,c]
  unsigned long long fixed; // out [nq,c], 0 = absent
  long long tq;
  long long d;
  long long nq;
  long long td;
  long long rb;
  long long nd;
  long long k;
  long long w;
  long long c;
  long long bits;
  long long normalize;
  unsigned long long scratch; // address of the workspace
  unsigned long long scratch_bytes;
  unsigned long long status; // address of the stream's status word
  unsigned long long tag; // number of this binding in status words
};
#endif
