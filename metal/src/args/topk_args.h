// Code generated from the declaration of topk. DO NOT EDIT.
#ifndef TOPK_ARGS_H
#define TOPK_ARGS_H
struct topk_args {
  ulong score; // in [b,n]
  ulong live; // in [b], 0 = absent
  ulong label; // in [b,n], 0 = absent
  ulong value; // out [b,k]
  ulong index; // out [b,k]
  long b;
  long n;
  long k;
  long score_stride; // elements between rows
  ulong scratch; // address of the workspace
  ulong scratch_bytes;
  ulong status; // address of the stream's status word
  ulong tag; // number of this binding in status words
};
#define TOPK_SCORE 0
#define TOPK_LIVE 1
#define TOPK_LABEL 2
#define TOPK_VALUE 3
#define TOPK_INDEX 4
#define TOPK_BUFFER_SCRATCH 5
#define TOPK_BUFFER_STATUS 6
#define TOPK_BUFFER_ARGS 7
#endif
