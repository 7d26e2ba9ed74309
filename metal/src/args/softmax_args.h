// Code generated from the declaration of softmax. DO NOT EDIT.
#ifndef SOFTMAX_ARGS_H
#define SOFTMAX_ARGS_H
struct softmax_args {
  ulong x; // in [rows,n]
  ulong y; // out [rows,n]
  long rows;
  long n;
  long x_stride; // elements between rows
  ulong scratch; // address of the workspace
  ulong scratch_bytes;
  ulong status; // address of the stream's status word
  ulong tag; // number of this binding in status words
};
#define SOFTMAX_X 0
#define SOFTMAX_Y 1
#define SOFTMAX_BUFFER_SCRATCH 2
#define SOFTMAX_BUFFER_STATUS 3
#define SOFTMAX_BUFFER_ARGS 4
#endif
