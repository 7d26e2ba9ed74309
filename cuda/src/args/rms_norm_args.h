// Code generated from the declaration of rms_norm. DO NOT EDIT.
#pragma once

struct rms_norm_args {
  unsigned long long x; // address, 0 = absent
  unsigned long long weight; // address, 0 = absent
  unsigned long long y; // address, 0 = absent
  unsigned long long rstd; // address, 0 = absent
  long long rows;
  long long n;
  long long x_stride; // elements between rows
  double eps;
  double offset;
  long long casting;
  unsigned long long scratch, scratch_bytes, status, tag;
};
