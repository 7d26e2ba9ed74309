// Code generated from the declaration of plaid_candidates. DO NOT EDIT.
#ifndef PLAID_CANDIDATES_ARGS_H
#define PLAID_CANDIDATES_ARGS_H
struct plaid_candidates_args {
  unsigned long long cell; // in [tq,p]
  unsigned long long query_off; // in [nq+1]
  unsigned long long list_off; // in [k+1]
  unsigned long long list_doc; // in [l]
  unsigned long long allowed; // in [w], 0 = absent
  unsigned long long live; // out [nq,kw], 0 = absent
  unsigned long long candidate; // out [nq,c]
  unsigned long long count; // out [nq]
  long long tq;
  long long p;
  long long nq;
  long long k;
  long long l;
  long long w;
  long long kw;
  long long c;
  long long documents;
  unsigned long long scratch; // address of the workspace
  unsigned long long scratch_bytes;
  unsigned long long status; // address of the stream's status word
  unsigned long long tag; // number of this binding in status words
};
#endif
