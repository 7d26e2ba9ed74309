// Code generated from the declaration of residual_encode. DO NOT EDIT.
#ifndef RESIDUAL_ENCODE_ARGS_H
#define RESIDUAL_ENCODE_ARGS_H
struct residual_encode_args {
  unsigned long long token; // in [n,d]
  unsigned long long code; // in [n]
  unsigned long long centroid; // in [k,d]
  unsigned long long cutoff; // in [cut]
  unsigned long long weight; // in [w]
  unsigned long long packed; // out [n,rb]
  unsigned long long inv_norm; // out [n], 0 = absent
  long long n;
  long long d;
  long long k;
  long long cut;
  long long w;
  long long rb;
  long long bits;
  unsigned long long scratch; // address of the workspace
  unsigned long long scratch_bytes;
  unsigned long long status; // address of the stream's status word
  unsigned long long tag; // number of this binding in status words
};
#endif
