// Code generated from the declaration of nearest_centroid. DO NOT EDIT.
#ifndef NEAREST_CENTROID_ARGS_H
#define NEAREST_CENTROID_ARGS_H
struct nearest_centroid_args {
  ulong token; // in [n,d]
  ulong centroid; // in [k,d]
  ulong code; // out [n]
  ulong score; // out [n], 0 = absent
  long n;
  long d;
  long k;
  ulong scratch; // address of the workspace
  ulong scratch_bytes;
  ulong status; // address of the stream's status word
  ulong tag; // number of this binding in status words
};
#define NEAREST_CENTROID_TOKEN 0
#define NEAREST_CENTROID_CENTROID 1
#define NEAREST_CENTROID_CODE 2
#define NEAREST_CENTROID_SCORE 3
#define NEAREST_CENTROID_BUFFER_SCRATCH 4
#define NEAREST_CENTROID_BUFFER_STATUS 5
#define NEAREST_CENTROID_BUFFER_ARGS 6
#endif
