// Code generated from the declaration of rms_norm. DO NOT EDIT.
#ifndef RMS_NORM_ARGS_H
#define RMS_NORM_ARGS_H
struct rms_norm_args {
  ulong x; // in [rows,n]
  ulong weight; // in [n], 0 = absent
  ulong y; // out [rows,n]
  ulong rstd; // out [rows]
  long rows;
  long n;
  long x_stride; // elements between rows
  float eps; uint eps_pad;
  float offset; uint offset_pad;
  long casting;
  ulong scratch; // address of the workspace
  ulong scratch_bytes;
  ulong status; // address of the stream's status word
  ulong tag; // number of this binding in status words
};
#define RMS_NORM_X 0
#define RMS_NORM_WEIGHT 1
#define RMS_NORM_Y 2
#define RMS_NORM_RSTD 3
#define RMS_NORM_BUFFER_SCRATCH 4
#define RMS_NORM_BUFFER_STATUS 5
#define RMS_NORM_BUFFER_ARGS 6
#endif
