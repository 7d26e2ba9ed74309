// Code generated from the declaration of rbf_matmul. DO NOT EDIT.
#ifndef RBF_MATMUL_ARGS_H
#define RBF_MATMUL_ARGS_H
struct rbf_matmul_args {
  ulong x; // in [n,d]
  ulong y; // in [m,d]
  ulong v; // in [m,c]
  ulong o; // out [n,c]
  long n;
  long d;
  long m;
  long c;
  float gamma; uint gamma_pad;
  ulong scratch; // address of the workspace
  ulong scratch_bytes;
  ulong status; // address of the stream's status word
  ulong tag; // number of this binding in status words
};
#define RBF_MATMUL_X 0
#define RBF_MATMUL_Y 1
#define RBF_MATMUL_V 2
#define RBF_MATMUL_O 3
#define RBF_MATMUL_BUFFER_SCRATCH 4
#define RBF_MATMUL_BUFFER_STATUS 5
#define RBF_MATMUL_BUFFER_ARGS 6
#endif
