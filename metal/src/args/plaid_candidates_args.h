// Code generated from the declaration of plaid_candidates. DO NOT EDIT.
#ifndef PLAID_CANDIDATES_ARGS_H
#define PLAID_CANDIDATES_ARGS_H
struct plaid_candidates_args {
  ulong cell; // in [tq,p]
  ulong query_off; // in [nq+1]
  ulong list_off; // in [k+1]
  ulong list_doc; // in [l]
  ulong allowed; // in [w], 0 = absent
  ulong live; // out [nq,kw], 0 = absent
  ulong candidate; // out [nq,c]
  ulong count; // out [nq]
  long tq;
  long p;
  long nq;
  long k;
  long l;
  long w;
  long kw;
  long c;
  long documents;
  ulong scratch; // address of the workspace
  ulong scratch_bytes;
  ulong status; // address of the stream's status word
  ulong tag; // number of this binding in status words
};
#define PLAID_CANDIDATES_CELL 0
#define PLAID_CANDIDATES_QUERY_OFF 1
#define PLAID_CANDIDATES_LIST_OFF 2
#define PLAID_CANDIDATES_LIST_DOC 3
#define PLAID_CANDIDATES_ALLOWED 4
#define PLAID_CANDIDATES_LIVE 5
#define PLAID_CANDIDATES_CANDIDATE 6
#define PLAID_CANDIDATES_COUNT 7
#define PLAID_CANDIDATES_BUFFER_SCRATCH 8
#define PLAID_CANDIDATES_BUFFER_STATUS 9
#define PLAID_CANDIDATES_BUFFER_ARGS 10
#endif
