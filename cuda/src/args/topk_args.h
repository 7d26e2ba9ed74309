// Code generated from the declaration of topk. DO NOT EDIT.
#pragma once

struct topk_args {
  unsigned long long score; // address, 0 = absent
  unsigned long long live; // address, 0 = absent
  unsigned long long value; // address, 0 = absent
  unsigned long long index; // address, 0 = absent
  long long b;
  long long n;
  long long k;
  long long score_stride; // elements between rows
  unsigned long long scratch, scratch_bytes, status, tag;
};
