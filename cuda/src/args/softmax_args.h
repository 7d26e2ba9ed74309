// Code generated from the declaration of softmax. DO NOT EDIT.
#pragma once

struct softmax_args {
  unsigned long long x; // address, 0 = absent
  unsigned long long y; // address, 0 = absent
  long long rows;
  long long n;
  long long x_stride; // elements between rows
  unsigned long long scratch, scratch_bytes, status, tag;
};
