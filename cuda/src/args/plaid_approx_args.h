// Code generated from the declaration of plaid_approx. DO NOT EDIT.
#ifndef PLAID_APPROX_ARGS_H
#define PLAID_APPROX_ARGS_H
struct plaid_approx_args {
  unsigned long long centroid_score; // in [k,tq]
  unsigned long long query_off; // in [nq+1]
  unsigned long long code; // in [td]
  unsigned long long doc_off; // in [nd+1]
  unsigned long long candidate; // in [nq,c]
  unsigned long long count; // in [nq], 0 = absent
  unsigned long long live; // in [nq,kw], 0 = absent
  unsigned long long floor; // in [tq,p], 0 = absent
  unsigned long long shift; // in [nq]
  unsigned long long score; // out [nq,c]
  long long k;
  long long tq;
  long long nq;
  long long td;
  long long nd;
  long long c;
  long long kw;
  long long p;
  long long centroid_score_stride; // elements between rows
  unsigned long long scratch; // address of the workspace
  unsigned long long scratch_bytes;
  unsigned long long status; // address of the stream's status word
  unsigned long long tag; // number of this binding in status words
};
#endif
