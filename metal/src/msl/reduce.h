// Reductions over a threadgroup: simdgroups first, then their results through threadgroup memory. The order is fixed
// by the number of threads, so the same launch gives the same bits.
#pragma once
#include <metal_stdlib>
using namespace metal;

enum { MAX_SIMDGROUPS = 32 }; // 1024 threads of simdgroups of 32; Metal has no narrower ones on the GPUs we take

// lanes is what a body must know of its place.
struct lanes {
  uint thread_index, threads; // in the threadgroup
  uint lane, group, groups;   // in the simdgroup; index and number of simdgroups
};

// group_sum returns the sum in every thread. part has MAX_SIMDGROUPS floats and may be reused at once.
static inline float group_sum(float v, lanes l, threadgroup float *part) {
  v = simd_sum(v);
  if (l.groups == 1) return v;
  threadgroup_barrier(mem_flags::mem_threadgroup); // part may still be read from a reduction before
  if (l.lane == 0) part[l.group] = v;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float s = 0;
  for (uint g = 0; g < l.groups; g++) s += part[g];
  return s;
}

// group_max ignores NaN only if the caller passes none.
static inline float group_max(float v, lanes l, threadgroup float *part) {
  v = simd_max(v);
  if (l.groups == 1) return v;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (l.lane == 0) part[l.group] = v;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float m = part[0];
  for (uint g = 1; g < l.groups; g++) m = max(m, part[g]);
  return m;
}

static inline uint group_min(uint v, lanes l, threadgroup uint *part) {
  v = simd_min(v);
  if (l.groups == 1) return v;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (l.lane == 0) part[l.group] = v;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint m = part[0];
  for (uint g = 1; g < l.groups; g++) m = min(m, part[g]);
  return m;
}

static inline uint group_sum(uint v, lanes l, threadgroup uint *part) {
  v = simd_sum(v);
  if (l.groups == 1) return v;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (l.lane == 0) part[l.group] = v;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint s = 0;
  for (uint g = 0; g < l.groups; g++) s += part[g];
  return s;
}

// group_prefix gives each thread the sum of v over the threads before it, and all of them the total.
static inline uint group_prefix(uint v, lanes l, threadgroup uint *part, thread uint &total) {
  uint before = simd_prefix_exclusive_sum(v), all = simd_sum(v);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (l.lane == 0) part[l.group] = all;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  total = 0;
  for (uint g = 0; g < l.groups; g++) {
    if (g < l.group) before += part[g];
    total += part[g];
  }
  return before;
}

// group_prefix_max gives each thread the largest v of the threads before it, 0 for the first, and all of them the total.
static inline uint group_prefix_max(uint v, lanes l, threadgroup uint *part, thread uint &total) {
  uint upto = v;
  for (ushort d = 1; d < l.threads / l.groups; d *= 2) {
    uint below = simd_shuffle_up(upto, d);
    if (l.lane >= d) upto = max(upto, below);
  }
  uint before = simd_shuffle_up(upto, 1), all = simd_max(v);
  if (l.lane == 0) before = 0;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (l.lane == 0) part[l.group] = all;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  total = 0;
  for (uint g = 0; g < l.groups; g++) {
    if (g < l.group) before = max(before, part[g]);
    total = max(total, part[g]);
  }
  return before;
}
