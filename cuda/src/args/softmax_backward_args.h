// Code generated from the declaration of softmax_backward. DO NOT EDIT.
#ifndef SOFTMAX_BACKWARD_ARGS_H
#define SOFTMAX_BACKWARD_ARGS_H
struct softmax_backward_args {
  unsigned long long y; // in [rows,n]
  unsigned long long dy; // in [rows,n]
  unsigned long long dx; // out [rows,n]
  long long rows;
  long long n;
  unsigned long long scratch; // address of the workspace
  unsigned long long scratch_bytes;
  unsigned long long status; // address of the stream's status word
  unsigned long long tag; // number of this binding in status words
};
#endif
