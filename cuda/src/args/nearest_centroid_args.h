// Code generated from the declaration of nearest_centroid. DO NOT EDIT.
#ifndef NEAREST_CENTROID_ARGS_H
#define NEAREST_CENTROID_ARGS_H
struct nearest_centroid_args {
  unsigned long long token; // in [n,d]
  unsigned long long centroid; // in [k,d]
  unsigned long long code; // out [n]
  unsigned long long score; // out [n], 0 = absent
  long long n;
  long long d;
  long long k;
  unsigned long long scratch; // address of the workspace
  unsigned long long scratch_bytes;
  unsigned long long status; // address of the stream's status word
  unsigned long long tag; // number of this binding in status words
};
#endif
