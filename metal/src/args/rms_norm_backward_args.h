// Code generated from the declaration of rms_norm_backward. DO NOT EDIT.
#ifndef RMS_NORM_BACKWARD_ARGS_H
#define RMS_NORM_BACKWARD_ARGS_H
struct rms_norm_backward_args {
  ulong dy; // in [rows,n]
  ulong x; // in [rows,n]
  ulong weight; // in [n], 0 = absent
  ulong rstd; // in [rows]
  ulong dx; // out [rows,n]
  ulong dw; // out [n], 0 = absent
  long rows;
  long n;
  float offset; uint offset_pad;
  long casting;
  ulong scratch; // address of the workspace
  ulong scratch_bytes;
  ulong status; // address of the stream's status word
  ulong tag; // number of this binding in status words
};
#define RMS_NORM_BACKWARD_DY 0
#define RMS_NORM_BACKWARD_X 1
#define RMS_NORM_BACKWARD_WEIGHT 2
#define RMS_NORM_BACKWARD_RSTD 3
#define RMS_NORM_BACKWARD_DX 4
#define RMS_NORM_BACKWARD_DW 5
#define RMS_NORM_BACKWARD_BUFFER_SCRATCH 6
#define RMS_NORM_BACKWARD_BUFFER_STATUS 7
#define RMS_NORM_BACKWARD_BUFFER_ARGS 8
#endif
