// Code generated from the declaration of rms_norm_backward. DO NOT EDIT.
#ifndef RMS_NORM_BACKWARD_ARGS_H
#define RMS_NORM_BACKWARD_ARGS_H
struct rms_norm_backward_args {
  unsigned long long dy; // in [rows,n]
  unsigned long long x; // in [rows,n]
  unsigned long long weight; // in [n], 0 = absent
  unsigned long long rstd; // in [rows]
  unsigned long long dx; // out [rows,n]
  unsigned long long dw; // out [n], 0 = absent
  long long rows;
  long long n;
  double offset;
  long long casting;
  unsigned long long scratch; // address of the workspace
  unsigned long long scratch_bytes;
  unsigned long long status; // address of the stream's status word
  unsigned long long tag; // number of this binding in status words
};
#endif
