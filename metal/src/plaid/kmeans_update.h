// kmeans_update, variant segmented.
//
// Operation: sum[c] = sum over the tokens with code c of each component as a count of steps 2^-shift, rounded half to
// even; count[c] = how many there are. Code -1 and, reported, other codes outside [0, k) leave a token out; a component
// that is not finite, or of 2^62 steps or more, is reported and counts 0.
// Axes: n tokens, d components, k centroids; all row-major and dense.
// Stages: clear the counts; count the tokens of each code; starts of each code's segment; place the tokens in their
// segments; then this. Integers add up to the same in any order, so places within a segment do not matter.
// Scratch: k counts, k places, n token numbers, as uint.
// Geometry: clear, count, place: one thread an element, threadgroups of 256. starts: one threadgroup of 256. The sums: a
// threadgroup of 256 threads a centroid.
// Threadgroup memory: starts 128 bytes, the sums 2048. Requirements: simdgroup reductions.
// Variant: Metal has no 64-bit atomics, so no two threadgroups add to one sum; threads share the components of a row,
// and short rows are read several at a time.
#pragma once
#include "args/kmeans_update_args.h"
#include "msl/reduce.h"
#include "msl/status.h"
#include "plaid/fixed.h"

enum { KMEANS_THREADS = 256 };

template <typename T>
[[kernel]] void kmeans_update_clear(device uint *count [[buffer(KMEANS_UPDATE_BUFFER_SCRATCH)]], constant kmeans_update_args &a [[buffer(KMEANS_UPDATE_BUFFER_ARGS)]],
                                    uint c [[thread_position_in_grid]]) {
  if (c < a.k) count[c] = 0;
}

template <typename T>
[[kernel]] void kmeans_update_count(device const int *code [[buffer(KMEANS_UPDATE_CODE)]], device atomic_uint *count [[buffer(KMEANS_UPDATE_BUFFER_SCRATCH)]],
                                    device atomic_uint *status [[buffer(KMEANS_UPDATE_BUFFER_STATUS)]],
                                    constant kmeans_update_args &a [[buffer(KMEANS_UPDATE_BUFFER_ARGS)]], uint i [[thread_position_in_grid]]) {
  if (i >= a.n) return; // no barrier follows
  long c = code[i];
  if (c < -1 || c >= a.k) report(status, a.tag, 1, KMEANS_UPDATE_CODE, i);
  else if (c >= 0) atomic_fetch_add_explicit(count + c, 1u, memory_order_relaxed);
}

template <typename T>
[[kernel]] void kmeans_update_starts(device uint *scratch [[buffer(KMEANS_UPDATE_BUFFER_SCRATCH)]], device long *count [[buffer(KMEANS_UPDATE_COUNT)]],
                                     constant kmeans_update_args &a [[buffer(KMEANS_UPDATE_BUFFER_ARGS)]], uint index [[thread_index_in_threadgroup]],
                                     uint lane [[thread_index_in_simdgroup]], uint group [[simdgroup_index_in_threadgroup]],
                                     uint groups [[simdgroups_per_threadgroup]]) {
  threadgroup uint part[MAX_SIMDGROUPS];
  lanes l = {index, KMEANS_THREADS, lane, group, groups};
  uint start = 0;
  for (long base = 0; base < a.k; base += KMEANS_THREADS) {
    long c = base + index;
    uint here = c < a.k ? scratch[c] : 0, all;
    uint before = group_prefix(here, l, part, all);
    if (c < a.k) {
      scratch[a.k + c] = start + before;
      count[c] = here;
    }
    start += all;
  }
}

template <typename T>
[[kernel]] void kmeans_update_place(device const int *code [[buffer(KMEANS_UPDATE_CODE)]], device uint *scratch [[buffer(KMEANS_UPDATE_BUFFER_SCRATCH)]],
                                    constant kmeans_update_args &a [[buffer(KMEANS_UPDATE_BUFFER_ARGS)]], uint i [[thread_position_in_grid]]) {
  if (i >= a.n) return; // no barrier follows
  long c = code[i];
  if (c < 0 || c >= a.k) return;
  uint at = atomic_fetch_add_explicit((device atomic_uint *)(scratch + a.k + c), 1u, memory_order_relaxed);
  scratch[2 * a.k + at] = i;
}

// component_sum adds every step-th token of a segment from s on.
template <typename T>
static inline long component_sum(device const T *token, device const uint *tokens, uint s, uint end, uint step, long j, device atomic_uint *status,
                                 constant kmeans_update_args &a) {
  int shift = steps_shift(a.shift);
  ulong total = 0; // wraps, where a signed sum would be undefined
  for (; s < end; s += step) {
    long at = long(tokens[s]) * a.d + j, steps = 0;
    float x = load(token + at);
    if (!is_finite(x) || !to_steps(x, shift, steps)) report(status, a.tag, 2, KMEANS_UPDATE_TOKEN, at);
    total += ulong(steps);
  }
  return long(total);
}

template <typename T>
[[kernel]] void kmeans_update_segmented(device const T *token [[buffer(KMEANS_UPDATE_TOKEN)]], device long *sum [[buffer(KMEANS_UPDATE_SUM)]],
                                        device const uint *scratch [[buffer(KMEANS_UPDATE_BUFFER_SCRATCH)]],
                                        device atomic_uint *status [[buffer(KMEANS_UPDATE_BUFFER_STATUS)]],
                                        constant kmeans_update_args &a [[buffer(KMEANS_UPDATE_BUFFER_ARGS)]], uint c [[threadgroup_position_in_grid]],
                                        uint index [[thread_index_in_threadgroup]]) {
  threadgroup long part[KMEANS_THREADS];
  uint width = 1; // threads along a row
  while (width < a.d && width < KMEANS_THREADS) width *= 2;
  uint end = scratch[a.k + c], start = end - scratch[c], rows = KMEANS_THREADS / width;
  for (long base = 0; base < a.d; base += width) {
    long j = base + index % width;
    part[index] = j < a.d ? component_sum(token, scratch + 2 * a.k, start + index / width, end, rows, j, status, a) : 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (index < width && j < a.d) {
      ulong total = 0;
      for (uint r = 0; r < rows; r++) total += ulong(part[r * width + index]);
      sum[long(c) * a.d + j] = long(total);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup); // part is written again
  }
}
