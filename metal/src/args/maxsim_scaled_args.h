// Code generated from the declaration of maxsim_scaled. DO NOT EDIT.
#ifndef MAXSIM_SCALED_ARGS_H
#define MAXSIM_SCALED_ARGS_H
struct maxsim_scaled_args {
  ulong query; // in [tq,d]
  ulong query_scale; // in [tq]
  ulong query_off; // in [nq+1]
  ulong doc; // in [td,d]
  ulong doc_scale; // in [td]
  ulong doc_off; // in [nd+1]
  ulong query_mask; // in [tq], 0 = absent
  ulong doc_mask; // in [td], 0 = absent
  ulong score; // out [nq,nd]
  ulong winner; // out [tq,nd], 0 = absent
  long tq;
  long d;
  long nq;
  long td;
  long nd;
  long empty_zero;
  ulong scratch; // address of the workspace
  ulong scratch_bytes;
  ulong status; // address of the stream's status word
  ulong tag; // number of this binding in status words
};
#define MAXSIM_SCALED_QUERY 0
#define MAXSIM_SCALED_QUERY_SCALE 1
#define MAXSIM_SCALED_QUERY_OFF 2
#define MAXSIM_SCALED_DOC 3
#define MAXSIM_SCALED_DOC_SCALE 4
#define MAXSIM_SCALED_DOC_OFF 5
#define MAXSIM_SCALED_QUERY_MASK 6
#define MAXSIM_SCALED_DOC_MASK 7
#define MAXSIM_SCALED_SCORE 8
#define MAXSIM_SCALED_WINNER 9
#define MAXSIM_SCALED_BUFFER_SCRATCH 10
#define MAXSIM_SCALED_BUFFER_STATUS 11
#define MAXSIM_SCALED_BUFFER_ARGS 12
#endif
