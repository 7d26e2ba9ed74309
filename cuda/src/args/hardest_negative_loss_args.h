// Code generated from the declaration of hardest_negative_loss. DO NOT EDIT.
#pragma once

struct hardest_negative_loss_args {
  unsigned long long score; // address, 0 = absent
  unsigned long long loss; // address, 0 = absent
  unsigned long long negative; // address, 0 = absent
  long long rows;
  long long cols;
  long long o;
  long long score_stride; // elements between rows
  double temperature;
  long long offset;
  long long reduction;
  unsigned long long scratch, scratch_bytes, status, tag;
};
