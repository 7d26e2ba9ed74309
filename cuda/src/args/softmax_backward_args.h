// Code generated from the declaration of softmax_backward. DO NOT EDIT.
#pragma once

struct softmax_backward_args {
  unsigned long long y; // address, 0 = absent
  unsigned long long dy; // address, 0 = absent
  unsigned long long dx; // address, 0 = absent
  long long rows;
  long long n;
  unsigned long long scratch, scratch_bytes, status, tag;
};
