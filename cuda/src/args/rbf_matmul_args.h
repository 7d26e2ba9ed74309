// Code generated from the declaration of rbf_matmul. DO NOT EDIT.
#ifndef RBF_MATMUL_ARGS_H
#define RBF_MATMUL_ARGS_H
struct rbf_matmul_args {
  unsigned long long x; // in [n,d]
  unsigned long long y; // in [m,d]
  unsigned long long v; // in [m,c]
  unsigned long long o; // out [n,c]
  long long n;
  long long d;
  long long m;
  long long c;
  double gamma;
  unsigned long long scratch; // address of the workspace
  unsigned long long scratch_bytes;
  unsigned long long status; // address of the stream's status word
  unsigned long long tag; // number of this binding in status words
};
#endif
