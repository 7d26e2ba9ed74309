// Code generated from the declaration of maxsim_scaled. DO NOT EDIT.
#ifndef MAXSIM_SCALED_ARGS_H
#define MAXSIM_SCALED_ARGS_H
struct maxsim_scaled_args {
  unsigned long long query; // in [tq,d]
  unsigned long long query_scale; // in [tq]
  unsigned long long query_off; // in [nq+1]
  unsigned long long doc; // in [td,d]
  unsigned long long doc_scale; // in [td]
  unsigned long long doc_off; // in [nd+1]
  unsigned long long query_mask; // in [tq], 0 = absent
  unsigned long long doc_mask; // in [td], 0 = absent
  unsigned long long score; // out [nq,nd]
  unsigned long long winner; // out [tq,nd], 0 = absent
  long long tq;
  long long d;
  long long nq;
  long long td;
  long long nd;
  long long empty_zero;
  unsigned long long scratch; // address of the workspace
  unsigned long long scratch_bytes;
  unsigned long long status; // address of the stream's status word
  unsigned long long tag; // number of this binding in status words
};
#endif
