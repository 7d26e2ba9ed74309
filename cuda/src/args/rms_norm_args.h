// Code generated from the declaration of rms_norm. DO NOT EDIT.
#ifndef RMS_NORM_ARGS_H
#define RMS_NORM_ARGS_H
struct rms_norm_args {
  unsigned long long x; // in [rows,n]
  unsigned long long weight; // in [n], 0 = absent
  unsigned long long y; // out [rows,n]
  unsigned long long rstd; // out [rows]
  long long rows;
  long long n;
  long long x_stride; // elements between rows
  double eps;
  double offset;
  long long casting;
  unsigned long long scratch; // address of the workspace
  unsigned long long scratch_bytes;
  unsigned long long status; // address of the stream's status word
  unsigned long long tag; // number of this binding in status words
};
#endif
