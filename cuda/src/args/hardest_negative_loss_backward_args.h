// Code generated from the declaration of hardest_negative_loss_backward. DO NOT EDIT.
#ifndef HARDEST_NEGATIVE_LOSS_BACKWARD_ARGS_H
#define HARDEST_NEGATIVE_LOSS_BACKWARD_ARGS_H
struct hardest_negative_loss_backward_args {
  unsigned long long score; // in [rows,cols]
  unsigned long long dloss; // in [o]
  unsigned long long dscore; // out [rows,cols]
  long long rows;
  long long cols;
  long long o;
  long long score_stride; // elements between rows
  double temperature;
  long long offset;
  long long reduction;
  long long tie;
  unsigned long long scratch; // address of the workspace
  unsigned long long scratch_bytes;
  unsigned long long status; // address of the stream's status word
  unsigned long long tag; // number of this binding in status words
};
#endif
