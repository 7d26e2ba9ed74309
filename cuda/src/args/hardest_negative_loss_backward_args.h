// Code generated from the declaration of hardest_negative_loss_backward. DO NOT EDIT.
#pragma once

struct hardest_negative_loss_backward_args {
  unsigned long long score; // address, 0 = absent
  unsigned long long dloss; // address, 0 = absent
  unsigned long long dscore; // address, 0 = absent
  long long rows;
  long long cols;
  long long o;
  long long score_stride; // elements between rows
  double temperature;
  long long offset;
  long long reduction;
  long long tie;
  unsigned long long scratch, scratch_bytes, status, tag;
};
