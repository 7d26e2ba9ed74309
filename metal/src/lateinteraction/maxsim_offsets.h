// The first stage of maxsim and maxsim_scaled, in every variant: offsets that the next stage can trust (msl/offsets.h).
//
// Scratch: nq+1 query offsets, then nd+1 document offsets, as uint.
// Geometry: two threadgroups of 256 threads, one a ragged axis. Threadgroup memory: 128 bytes.
#pragma once
#include "args/maxsim_args.h"
#include "args/maxsim_scaled_args.h"
#include "msl/offsets.h"

// VARIANT only makes instances differ: an explicit instance has one host name.
template <typename T, int VARIANT>
[[kernel]] void maxsim_offsets(device const long *query_off [[buffer(MAXSIM_QUERY_OFF)]], device const long *doc_off [[buffer(MAXSIM_DOC_OFF)]],
                               device uint *trusted [[buffer(MAXSIM_BUFFER_SCRATCH)]], device atomic_uint *status [[buffer(MAXSIM_BUFFER_STATUS)]],
                               constant maxsim_args &a [[buffer(MAXSIM_BUFFER_ARGS)]], uint side [[threadgroup_position_in_grid]],
                               uint index [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                               uint group [[simdgroup_index_in_threadgroup]], uint groups [[simdgroups_per_threadgroup]]) {
  threadgroup uint part[MAX_SIMDGROUPS];
  lanes l = {index, OFFSETS_THREADS, lane, group, groups};
  if (side == 0) trust_offsets(query_off, a.nq, a.tq, trusted, l, part, status, a.tag, MAXSIM_QUERY_OFF);
  else trust_offsets(doc_off, a.nd, a.td, trusted + a.nq + 1, l, part, status, a.tag, MAXSIM_DOC_OFF);
}

template <typename T, int VARIANT>
[[kernel]] void maxsim_scaled_offsets(device const long *query_off [[buffer(MAXSIM_SCALED_QUERY_OFF)]],
                                      device const long *doc_off [[buffer(MAXSIM_SCALED_DOC_OFF)]],
                                      device uint *trusted [[buffer(MAXSIM_SCALED_BUFFER_SCRATCH)]],
                                      device atomic_uint *status [[buffer(MAXSIM_SCALED_BUFFER_STATUS)]],
                                      constant maxsim_scaled_args &a [[buffer(MAXSIM_SCALED_BUFFER_ARGS)]], uint side [[threadgroup_position_in_grid]],
                                      uint index [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                                      uint group [[simdgroup_index_in_threadgroup]], uint groups [[simdgroups_per_threadgroup]]) {
  threadgroup uint part[MAX_SIMDGROUPS];
  lanes l = {index, OFFSETS_THREADS, lane, group, groups};
  if (side == 0) trust_offsets(query_off, a.nq, a.tq, trusted, l, part, status, a.tag, MAXSIM_SCALED_QUERY_OFF);
  else trust_offsets(doc_off, a.nd, a.td, trusted + a.nq + 1, l, part, status, a.tag, MAXSIM_SCALED_DOC_OFF);
}
