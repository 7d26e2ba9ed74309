// Code generated from the declaration of residual_encode. DO NOT EDIT.
#ifndef RESIDUAL_ENCODE_ARGS_H
#define RESIDUAL_ENCODE_ARGS_H
struct residual_encode_args {
  ulong token; // in [n,d]
  ulong code; // in [n]
  ulong centroid; // in [k,d]
  ulong cutoff; // in [cut]
  ulong weight; // in [w]
  ulong packed; // out [n,rb]
  ulong inv_norm; // out [n], 0 = absent
  long n;
  long d;
  long k;
  long cut;
  long w;
  long rb;
  long bits;
  ulong scratch; // address of the workspace
  ulong scratch_bytes;
  ulong status; // address of the stream's status word
  ulong tag; // number of this binding in status words
};
#define RESIDUAL_ENCODE_TOKEN 0
#define RESIDUAL_ENCODE_CODE 1
#define RESIDUAL_ENCODE_CENTROID 2
#define RESIDUAL_ENCODE_CUTOFF 3
#define RESIDUAL_ENCODE_WEIGHT 4
#define RESIDUAL_ENCODE_PACKED 5
#define RESIDUAL_ENCODE_INV_NORM 6
#define RESIDUAL_ENCODE_BUFFER_SCRATCH 7
#define RESIDUAL_ENCODE_BUFFER_STATUS 8
#define RESIDUAL_ENCODE_BUFFER_ARGS 9
#endif
