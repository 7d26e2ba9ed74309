// Code generated from the declaration of hardest_negative_loss_backward. DO NOT EDIT.
#ifndef HARDEST_NEGATIVE_LOSS_BACKWARD_ARGS_H
#define HARDEST_NEGATIVE_LOSS_BACKWARD_ARGS_H
struct hardest_negative_loss_backward_args {
  ulong score; // in [rows,cols]
  ulong dloss; // in [o]
  ulong dscore; // out [rows,cols]
  long rows;
  long cols;
  long o;
  long score_stride; // elements between rows
  float temperature; uint temperature_pad;
  long offset;
  long reduction;
  long tie;
  ulong scratch; // address of the workspace
  ulong scratch_bytes;
  ulong status; // address of the stream's status word
  ulong tag; // number of this binding in status words
};
#define HARDEST_NEGATIVE_LOSS_BACKWARD_SCORE 0
#define HARDEST_NEGATIVE_LOSS_BACKWARD_DLOSS 1
#define HARDEST_NEGATIVE_LOSS_BACKWARD_DSCORE 2
#define HARDEST_NEGATIVE_LOSS_BACKWARD_BUFFER_SCRATCH 3
#define HARDEST_NEGATIVE_LOSS_BACKWARD_BUFFER_STATUS 4
#define HARDEST_NEGATIVE_LOSS_BACKWARD_BUFFER_ARGS 5
#endif
