// Canonical dot products of two sets of rows, 64 by 64 at a time, for 256 threads: components pass through threadgroup
// memory 16 at a time, and each thread carries 4 by 4 chains, so a chain is the one that a single thread would make.
#pragma once
#include "plaid/exact.h"

enum {
  DOT_ROWS = 64,
  DOT_COLUMNS = 64,
  DOT_DEPTH = 16,
  DOT_LD = DOT_DEPTH + 1, // odd, so that a column does not fall into one bank
  DOT_SIDE = 16,          // threads along either side of a tile
  DOT_EACH = 4,           // rows, and columns, of a thread: every 16th
  DOT_THREADS = DOT_SIDE * DOT_SIDE,
};

// dot_type is what chains of products of T are made of.
template <typename T> struct dot_type;
template <> struct dot_type<float> { typedef float type; };
template <> struct dot_type<int8_t> { typedef int type; };

template <typename A> struct dot_memory {
  A row[DOT_ROWS * DOT_LD];
  A column[DOT_COLUMNS * DOT_LD];
};

template <typename A> struct dot_chains {
  A at[DOT_EACH][DOT_EACH]; // row, column
};

// stage_rows copies components [from, from+16) of rows [first, first+64) and fills with 0 what is outside.
template <typename T, typename A>
static inline void stage_rows(threadgroup A *to, device const T *x, long first, long rows, long from, long d, uint index) {
  for (uint e = index; e < DOT_ROWS * DOT_DEPTH; e += DOT_THREADS) {
    uint r = e / DOT_DEPTH, c = e % DOT_DEPTH;
    to[r * DOT_LD + c] = first + r < rows && from + c < d ? A(x[(first + r) * d + from + c]) : A(0);
  }
}

// dot_tile makes the chains of rows row0+index/16+16i with columns column0+index%16+16j. Every thread calls it; the
// memory may be reused at once.
template <typename T, typename A>
static inline dot_chains<A> dot_tile(threadgroup dot_memory<A> &m, device const T *row, long row0, long rows, device const T *column, long column0,
                                     long columns, long d, uint index) {
  dot_chains<A> c;
  for (uint i = 0; i < DOT_EACH; i++)
    for (uint j = 0; j < DOT_EACH; j++) c.at[i][j] = 0;
  for (long from = 0; from < d; from += DOT_DEPTH) {
    stage_rows(m.row, row, row0, rows, from, d, index);
    stage_rows(m.column, column, column0, columns, from, d, index);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < DOT_DEPTH && from + k < d; k++) {
      A x[DOT_EACH], y[DOT_EACH];
      for (uint i = 0; i < DOT_EACH; i++) {
        x[i] = m.row[(index / DOT_SIDE + i * DOT_SIDE) * DOT_LD + k];
        y[i] = m.column[(index % DOT_SIDE + i * DOT_SIDE) * DOT_LD + k];
      }
      for (uint i = 0; i < DOT_EACH; i++)
        for (uint j = 0; j < DOT_EACH; j++) c.at[i][j] = chain(x[i], y[j], c.at[i][j]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  return c;
}
