// Code generated from the declaration of rms_norm_backward. DO NOT EDIT.
#pragma once

struct rms_norm_backward_args {
  unsigned long long dy; // address, 0 = absent
  unsigned long long x; // address, 0 = absent
  unsigned long long weight; // address, 0 = absent
  unsigned long long rstd; // address, 0 = absent
  unsigned long long dx; // address, 0 = absent
  unsigned long long dw; // address, 0 = absent
  long long rows;
  long long n;
  double offset;
  long long casting;
  unsigned long long scratch, scratch_bytes, status, tag;
};
