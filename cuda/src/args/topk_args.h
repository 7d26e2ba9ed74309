// Code generated from the declaration of topk. DO NOT EDIT.
#ifndef TOPK_ARGS_H
#define TOPK_ARGS_H
struct topk_args {
  unsigned long long score; // in [b,n]
  unsigned long long live; // in [b], 0 = absent
  unsigned long long label; // in [b,n], 0 = absent
  unsigned long long value; // out [b,k]
  unsigned long long index; // out [b,k]
  long long b;
  long long n;
  long long k;
  long long score_stride; // elements between rows
  unsigned long long scratch; // address of the workspace
  unsigned long long scratch_bytes;
  unsigned long long status; // address of the stream's status word
  unsigned long long tag; // number of this binding in status words
};
#endif
