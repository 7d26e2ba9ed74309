// Code generated from the declaration of rbf_matmul. DO NOT EDIT.
#pragma once

struct rbf_matmul_args {
  unsigned long long x; // address, 0 = absent
  unsigned long long y; // address, 0 = absent
  unsigned long long v; // address, 0 = absent
  unsigned long long o; // address, 0 = absent
  long long n;
  long long d;
  long long m;
  long long c;
  double gamma;
  unsigned long long scratch, scratch_bytes, status, tag;
};
