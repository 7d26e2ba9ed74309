// Code generated from the declaration of softmax. DO NOT EDIT.
#ifndef SOFTMAX_ARGS_H
#define SOFTMAX_ARGS_H
struct softmax_args {
  unsigned long long x; // in [rows,n]
  unsigned long long y; // out [rows,n]
  long long rows;
  long long n;
  long long x_stride; // elements between rows
  unsigned long long scratch; // address of the workspace
  unsigned long long scratch_bytes;
  unsigned long long status; // address of the stream's status word
  unsigned long long tag; // number of this binding in status words
};
#endif
