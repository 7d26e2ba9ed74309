// residual_encode, variants naive and simdgroup.
//
// Operation: per component the number of cut points below token - centroid, packed (residual.h), and the inverse norm of
// the decoded vector. A code outside [0, k) is reported; its row is zeros and its inverse norm 0.
// Axes: n tokens, d components, k centroids, cut cut points (2^bits - 1), w weights (2^bits), rb bytes a row.
// Geometry: naive: one thread a token, threadgroups of 32. simdgroup: a threadgroup of 32 threads a token.
// Threadgroup memory: simdgroup: 1024 bytes. Requirements: none.
// Variant: naive packs byte by byte and reads its row back for the norm; simdgroup gives each thread a byte at a time,
// and one thread adds the squares, whose sum has one order.
#pragma once
#include "args/residual_encode_args.h"
#include "msl/status.h"
#include "plaid/residual.h"

enum { ENCODE_LANES = 32 };

// encoded_byte packs the buckets of a byte's components, j and the next.
template <typename T>
static inline uint encoded_byte(device const T *token, device const T *centroid, device const float *cutoff, uint cuts, long j, uint bits) {
  uint b = 0;
  for (uint k = 0; k < 8 / bits; k++) b |= bucket_of(load(token + j + k) - load(centroid + j + k), cutoff, cuts) << (k * bits);
  return reversed_byte(b);
}

template <typename T>
[[kernel]] void residual_encode_naive(device const T *token [[buffer(RESIDUAL_ENCODE_TOKEN)]], device const int *code [[buffer(RESIDUAL_ENCODE_CODE)]],
                                      device const T *centroid [[buffer(RESIDUAL_ENCODE_CENTROID)]], device const float *cutoff [[buffer(RESIDUAL_ENCODE_CUTOFF)]],
                                      device const float *weight [[buffer(RESIDUAL_ENCODE_WEIGHT)]], device uchar *packed [[buffer(RESIDUAL_ENCODE_PACKED)]],
                                      device float *inverse [[buffer(RESIDUAL_ENCODE_INV_NORM)]], device atomic_uint *status [[buffer(RESIDUAL_ENCODE_BUFFER_STATUS)]],
                                      constant residual_encode_args &a [[buffer(RESIDUAL_ENCODE_BUFFER_ARGS)]], uint p [[thread_position_in_grid]]) {
  long i = p, c;
  if (i >= a.n) return; // no barrier follows
  device uchar *row = packed + i * a.rb;
  c = code[i];
  if (c < 0 || c >= a.k) {
    report(status, a.tag, 1, RESIDUAL_ENCODE_CODE, i);
    for (long b = 0; b < a.rb; b++) row[b] = 0;
    if (a.inv_norm != 0) inverse[i] = 0;
    return;
  }
  uint bits = uint(a.bits);
  for (long b = 0; b < a.rb; b++) row[b] = uchar(encoded_byte(token + i * a.d, centroid + c * a.d, cutoff, uint(a.cut), b * (8 / bits), bits));
  if (a.inv_norm != 0) inverse[i] = decoded_inverse_norm(centroid + c * a.d, row, weight, a.d, bits);
}

template <typename T>
[[kernel]] void residual_encode_simdgroup(device const T *token [[buffer(RESIDUAL_ENCODE_TOKEN)]], device const int *code [[buffer(RESIDUAL_ENCODE_CODE)]],
                                          device const T *centroid [[buffer(RESIDUAL_ENCODE_CENTROID)]], device const float *cutoff [[buffer(RESIDUAL_ENCODE_CUTOFF)]],
                                          device const float *weight [[buffer(RESIDUAL_ENCODE_WEIGHT)]], device uchar *packed [[buffer(RESIDUAL_ENCODE_PACKED)]],
                                          device float *inverse [[buffer(RESIDUAL_ENCODE_INV_NORM)]], device atomic_uint *status [[buffer(RESIDUAL_ENCODE_BUFFER_STATUS)]],
                                          constant residual_encode_args &a [[buffer(RESIDUAL_ENCODE_BUFFER_ARGS)]], uint i [[threadgroup_position_in_grid]],
                                          uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float value[ENCODE_LANES * 8];
  long c = code[i];
  bool valid = c >= 0 && c < a.k;
  uint bits = uint(a.bits), per = 8 / bits;
  device const T *x = token + long(i) * a.d, *y = centroid + (valid ? c * a.d : 0);
  device uchar *row = packed + long(i) * a.rb;
  if (!valid && lane == 0) report(status, a.tag, 1, RESIDUAL_ENCODE_CODE, i);
  float s = 0;
  for (long base = 0; base < a.rb; base += ENCODE_LANES) {
    long at = base + lane;
    if (at < a.rb) {
      uint b = valid ? encoded_byte(x, y, cutoff, uint(a.cut), at * per, bits) : 0u;
      row[at] = uchar(b);
      for (uint k = 0; k < per; k++) value[lane * per + k] = load(y + at * per + k) + weight[reversed_byte(b) >> (k * bits) & ((1u << bits) - 1)];
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    if (lane == 0)
      for (uint k = 0; k < ENCODE_LANES * per && base * per + k < a.d; k++) s = add_square(s, value[k]);
    simdgroup_barrier(mem_flags::mem_threadgroup); // value is written again
  }
  if (lane == 0 && a.inv_norm != 0) inverse[i] = valid ? inverse_norm(s) : 0.0f;
}
