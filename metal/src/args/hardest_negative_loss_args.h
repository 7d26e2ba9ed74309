// Code generated from the declaration of hardest_negative_loss. DO NOT EDIT.
#ifndef HARDEST_NEGATIVE_LOSS_ARGS_H
#define HARDEST_NEGATIVE_LOSS_ARGS_H
struct hardest_negative_loss_args {
  ulong score; // in [rows,cols]
  ulong loss; // out [o]
  ulong negative; // out [rows], 0 = absent
  long rows;
  long cols;
  long o;
  long score_stride; // elements between rows
  float temperature; uint temperature_pad;
  long offset;
  long reduction;
  ulong scratch; // address of the workspace
  ulong scratch_bytes;
  ulong status; // address of the stream's status word
  ulong tag; // number of this binding in status words
};
#define HARDEST_NEGATIVE_LOSS_SCORE 0
#define HARDEST_NEGATIVE_LOSS_LOSS 1
#define HARDEST_NEGATIVE_LOSS_NEGATIVE 2
#define HARDEST_NEGATIVE_LOSS_BUFFER_SCRATCH 3
#define HARDEST_NEGATIVE_LOSS_BUFFER_STATUS 4
#define HARDEST_NEGATIVE_LOSS_BUFFER_ARGS 5
#endif
