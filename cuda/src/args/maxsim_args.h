// Code generated from the declaration of maxsim. DO NOT EDIT.
#pragma once

struct maxsim_args {
  unsigned long long query; // address, 0 = absent
  unsigned long long query_off; // address, 0 = absent
  unsigned long long doc; // address, 0 = absent
  unsigned long long doc_off; // address, 0 = absent
  unsigned long long query_mask; // address, 0 = absent
  unsigned long long doc_mask; // address, 0 = absent
  unsigned long long score; // address, 0 = absent
  unsigned long long winner; // address, 0 = absent
  long long tq;
  long long d;
  long long nq;
  long long td;
  long long nd;
  long long normalize;
  long long empty_zero;
  unsigned long long scratch, scratch_bytes, status, tag;
};
