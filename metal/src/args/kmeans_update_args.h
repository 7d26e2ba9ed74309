// Code generated from the declaration of kmeans_update. DO NOT EDIT.
#ifndef KMEANS_UPDATE_ARGS_H
#define KMEANS_UPDATE_ARGS_H
struct kmeans_update_args {
  ulong token; // in [n,d]
  ulong code; // in [n]
  ulong sum; // out [k,d]
  ulong count; // out [k]
  long n;
  long d;
  long k;
  long shift;
  ulong scratch; // address of the workspace
  ulong scratch_bytes;
  ulong status; // address of the stream's status word
  ulong tag; // number of this binding in status words
};
#define KMEANS_UPDATE_TOKEN 0
#define KMEANS_UPDATE_CODE 1
#define KMEANS_UPDATE_SUM 2
#define KMEANS_UPDATE_COUNT 3
#define KMEANS_UPDATE_BUFFER_SCRATCH 4
#define KMEANS_UPDATE_BUFFER_STATUS 5
#define KMEANS_UPDATE_BUFFER_ARGS 6
#endif
