// Code generated from the declaration of take. DO NOT EDIT.
#ifndef TAKE_ARGS_H
#define TAKE_ARGS_H
struct take_args {
  ulong value; // in [b,n]
  ulong index; // in [b,k]
  ulong out; // out [b,k]
  long b;
  long n;
  long k;
  ulong scratch; // address of the workspace
  ulong scratch_bytes;
  ulong status; // address of the stream's status word
  ulong tag; // number of this binding in status words
};
#define TAKE_VALUE 0
#define TAKE_INDEX 1
#define TAKE_OUT 2
#define TAKE_BUFFER_SCRATCH 3
#define TAKE_BUFFER_STATUS 4
#define TAKE_BUFFER_ARGS 5
#endif
