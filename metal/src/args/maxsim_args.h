// Code generated from the declaration of maxsim. DO NOT EDIT.
#ifndef MAXSIM_ARGS_H
#define MAXSIM_ARGS_H
struct maxsim_args {
  ulong query; // in [tq,d]
  ulong query_off; // in [nq+1]
  ulong doc; // in [td,d]
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
  long normalize;
  long empty_zero;
  ulong scratch; // address of the workspace
  ulong scratch_bytes;
  ulong status; // address of the stream's status word
  ulong tag; // number of this binding in status words
};
#define MAXSIM_QUERY 0
#define MAXSIM_QUERY_OFF 1
#define MAXSIM_DOC 2
#define MAXSIM_DOC_OFF 3
#define MAXSIM_QUERY_MASK 4
#define MAXSIM_DOC_MASK 5
#define MAXSIM_SCORE 6
#define MAXSIM_WINNER 7
#define MAXSIM_BUFFER_SCRATCH 8
#define MAXSIM_BUFFER_STATUS 9
#define MAXSIM_BUFFER_ARGS 10
#endif
