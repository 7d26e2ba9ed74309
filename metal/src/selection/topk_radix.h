// topk, variant radix.
//
// Operation, axes: as topk_naive.h.
// Geometry: one threadgroup of 256 threads a row.
// Threadgroup memory: 17,576 bytes. Scratch: 8 bytes a row and result, results rounded up to a power of two, where that
// is more than 2048; else none. Requirements: simdgroup reductions.
// Variant: four passes of 256 bins over the bits of the key find the key of the last result and how many of its equals
// belong to the results; one pass collects the results, equals in index order; a bitonic network sorts them by key and
// index. Any k up to n.
#pragma once
#include "args/topk_args.h"
#include "msl/reduce.h"
#include "selection/order.h"

#include <metal_atomic>

enum { RADIX_THREADS = 256, RADIX_BINS = 256, RADIX_LOCAL = 2048 };

struct radix_memory {
  atomic_uint bins[RADIX_BINS];
  uint part[MAX_SIMDGROUPS];
  uint chosen[2]; // digit; how many are still wanted among the scores with it
  uint keys[RADIX_LOCAL];
  uint at[RADIX_LOCAL];
};

// threshold is the key of the last result and how many scores of that key are results.
struct threshold {
  uint key, equals;
};

// find_threshold selects the want-th smallest key, want >= 1. Every thread calls it and returns the same.
template <typename T>
static inline threshold find_threshold(threadgroup radix_memory &m, device const T *x, long count, uint want, lanes l) {
  threshold t = {0, want};
  for (uint shift = 24; shift < 32; shift -= 8) { // ends by wrapping below 0
    atomic_store_explicit(&m.bins[l.thread_index], 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint known = shift == 24 ? 0u : 0xffffffffu << (shift + 8);
    for (long i = l.thread_index; i < count; i += RADIX_THREADS) {
      uint key = rank_key(load(x + i));
      if ((key & known) == t.key) atomic_fetch_add_explicit(&m.bins[key >> shift & (RADIX_BINS - 1)], 1u, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint here = atomic_load_explicit(&m.bins[l.thread_index], memory_order_relaxed), total;
    uint before = group_prefix(here, l, m.part, total);
    if (before < t.equals && t.equals <= before + here) { // one thread
      m.chosen[0] = l.thread_index;
      m.chosen[1] = t.equals - before;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    t.key |= m.chosen[0] << shift;
    t.equals = m.chosen[1];
  }
  return t;
}

// collect writes keys and indices of the results, in index order of their own kind: before the threshold, or equal.
template <typename T, typename P>
static inline void collect(threadgroup radix_memory &m, device const T *x, long count, threshold t, P keys, P at, lanes l) {
  uint less = 0, equal = 0; // so far
  for (long base = 0; base < count; base += RADIX_THREADS) {
    long i = base + l.thread_index;
    uint key = i < count ? rank_key(load(x + i)) : 0xffffffffu;
    bool is_less = i < count && key < t.key, is_equal = i < count && key == t.key;
    uint total, before = group_prefix(uint(is_less) | uint(is_equal) << 16, l, m.part, total); // each at most 256
    uint equals_before = equal + (before >> 16);
    if (is_less || (is_equal && equals_before < t.equals)) {
      uint place = less + (before & 0xffff) + min(equals_before, t.equals);
      keys[place] = key;
      at[place] = uint(i);
    }
    less += total & 0xffff;
    equal += total >> 16;
  }
}

// sort_pairs sorts size pairs, a power of two, by key and then index.
template <typename P>
static inline void sort_pairs(P keys, P at, uint size, lanes l) {
  for (uint block = 2; block <= size; block *= 2)
    for (uint gap = block / 2; gap > 0; gap /= 2) {
      threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
      for (uint p = l.thread_index; p < size / 2; p += RADIX_THREADS) {
        uint i = p / gap * (2 * gap) + p % gap, j = i + gap;
        bool up = (i & block) == 0;
        bool wrong = keys[i] > keys[j] || (keys[i] == keys[j] && at[i] > at[j]);
        if (wrong != up) continue;
        uint k = keys[i], a = at[i];
        keys[i] = keys[j], at[i] = at[j];
        keys[j] = k, at[j] = a;
      }
    }
  threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
}

// radix_row does one row in memory keys and at; label is null where results go by their positions.
template <typename T, typename P>
static inline void radix_row(threadgroup radix_memory &m, device const T *x, long count, uint k, uint size, P keys, P at, device const int *label,
                             device float *value, device int *index, lanes l) {
  uint want = count < long(k) ? uint(count) : k;
  if (want > 0) {
    threshold t = find_threshold(m, x, count, want, l);
    collect(m, x, count, t, keys, at, l);
    for (uint i = want + l.thread_index; i < size; i += RADIX_THREADS) {
      keys[i] = 0xffffffffu;
      at[i] = 0xffffffffu; // behind a NaN, whose index fits 31 bits
    }
    sort_pairs(keys, at, size, l);
  }
  for (uint i = l.thread_index; i < k; i += RADIX_THREADS) {
    value[i] = i < want ? load(x + at[i]) : -INFINITY;
    index[i] = i >= want ? -1 : label ? label[at[i]] : int(at[i]);
  }
}

template <typename T>
[[kernel]] void topk_radix(device const T *score [[buffer(TOPK_SCORE)]], device const long *live [[buffer(TOPK_LIVE)]],
                           device const int *label [[buffer(TOPK_LABEL)]], device float *value [[buffer(TOPK_VALUE)]], device int *index [[buffer(TOPK_INDEX)]],
                           device uint *scratch [[buffer(TOPK_BUFFER_SCRATCH)]], constant topk_args &a [[buffer(TOPK_BUFFER_ARGS)]],
                           uint row [[threadgroup_position_in_grid]], uint thread_index [[thread_index_in_threadgroup]],
                           uint lane [[thread_index_in_simdgroup]], uint group [[simdgroup_index_in_threadgroup]],
                           uint groups [[simdgroups_per_threadgroup]]) {
  threadgroup radix_memory m;
  lanes l = {thread_index, RADIX_THREADS, lane, group, groups};
  uint k = uint(a.k), size = 2;
  while (size < k) size *= 2;
  device const T *x = score + long(row) * a.score_stride;
  long count = live_scores(live, a.live != 0, row, a.n);
  device const int *names = a.label != 0 ? label + long(row) * a.n : nullptr;
  device float *v = value + long(row) * a.k;
  device int *at = index + long(row) * a.k;
  if (size <= RADIX_LOCAL) {
    radix_row(m, x, count, k, size, &m.keys[0], &m.at[0], names, v, at, l);
  } else {
    device uint *mine = scratch + long(row) * 2 * size;
    radix_row(m, x, count, k, size, mine, mine + size, names, v, at, l);
  }
}
