// Code generated from the declaration of take. DO NOT EDIT.
#ifndef TAKE_ARGS_H
#define TAKE_ARGS_H
struct take_args {
  unsigned long long value; // in [b,n]
  unsigned long long index; // in [b,k]
  unsigned long long out; // out [b,k]
  long long b;
  long long n;
  long long k;
  unsigned long long scratch; // address of the workspace
  unsigned long long scratch_bytes;
  unsigned long long status; // address of the stream's status word
  unsigned long long tag; // number of this binding in status words
};
#endif
