// Code generated from the declaration of softmax_backward. DO NOT EDIT.
#ifndef SOFTMAX_BACKWARD_ARGS_H
#define SOFTMAX_BACKWARD_ARGS_H
struct softmax_backward_args {
  ulong y; // in [rows,n]
  ulong dy; // in [rows,n]
  ulong dx; // out [rows,n]
  long rows;
  long n;
  ulong scratch; // address of the workspace
  ulong scratch_bytes;
  ulong status; // address of the stream's status word
  ulong tag; // number of this binding in status words
};
#define SOFTMAX_BACKWARD_Y 0
#define SOFTMAX_BACKWARD_DY 1
#define SOFTMAX_BACKWARD_DX 2
#define SOFTMAX_BACKWARD_BUFFER_SCRATCH 3
#define SOFTMAX_BACKWARD_BUFFER_STATUS 4
#define SOFTMAX_BACKWARD_BUFFER_ARGS 5
#endif
