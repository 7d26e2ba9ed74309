// Code generated from the declaration of kmeans_update. DO NOT EDIT.
#ifndef KMEANS_UPDATE_ARGS_H
#define KMEANS_UPDATE_ARGS_H
struct kmeans_update_args {
  unsigned long long token; // in [n,d]
  unsigned long long code; // in [n]
  unsigned long long sum; // out [k,d]
  unsigned long long count; // out [k]
  long long n;
  long long d;
  long long k;
  long long shift;
  unsigned long long scratch; // address of the workspace
  unsigned long long scratch_bytes;
  unsigned long long status; // address of the stream's status word
  unsigned long long tag; // number of this binding in status words
};
#endif
