// Code generated from the declaration of plaid_approx. DO NOT EDIT.
#ifndef PLAID_APPROX_ARGS_H
#define PLAID_APPROX_ARGS_H
struct plaid_approx_args {
  ulong centroid_score; // in [k,tq]
  ulong query_off; // in [nq+1]
  ulong code; // in [td]
  ulong doc_off; // in [nd+1]
  ulong candidate; // in [nq,c]
  ulong count; // in [nq], 0 = absent
  ulong live; // in [nq,kw], 0 = absent
  ulong floor; // in [tq,p], 0 = absent
  ulong shift; // in [nq]
  ulong score; // out [nq,c]
  long k;
  long tq;
  long nq;
  long td;
  long nd;
  long c;
  long kw;
  long p;
  long centroid_score_stride; // elements between rows
  ulong scratch; // address of the workspace
  ulong scratch_bytes;
  ulong status; // address of the stream's status word
  ulong tag; // number of this binding in status words
};
#define PLAID_APPROX_CENTROID_SCORE 0
#define PLAID_APPROX_QUERY_OFF 1
#define PLAID_APPROX_CODE 2
#define PLAID_APPROX_DOC_OFF 3
#define PLAID_APPROX_CANDIDATE 4
#define PLAID_APPROX_COUNT 5
#define PLAID_APPROX_LIVE 6
#define PLAID_APPROX_FLOOR 7
#define PLAID_APPROX_SHIFT 8
#define PLAID_APPROX_SCORE 9
#define PLAID_APPROX_BUFFER_SCRATCH 10
#define PLAID_APPROX_BUFFER_STATUS 11
#define PLAID_APPROX_BUFFER_ARGS 12
#endif
