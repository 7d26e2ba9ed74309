// The residual codec: buckets of 1, 2, 4 or 8 bits, each bucket's bits least significant first from the high end of a
// byte. With its bits reversed, a byte holds its buckets from the low end on.
#pragma once
#include "plaid/exact.h"

static inline uint reversed_byte(uint b) { return reverse_bits(b) >> 24; }

// bucket_at is bucket j of a row.
static inline uint bucket_at(device const uchar *row, long j, uint bits) {
  uint per = 8 / bits;
  return reversed_byte(row[j / per]) >> (uint(j % per) * bits) & ((1u << bits) - 1);
}

// bucket_of is the number of ascending cut points below x; NaN has none below it.
static inline uint bucket_of(float x, device const float *cutoff, uint cuts) {
  uint low = 0, high = cuts; // cut points before low are below x, those from high on are not
  while (low < high) {
    uint middle = (low + high) / 2;
    if (cutoff[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

// decoded is component j of a token before it is scaled.
template <typename T>
static inline float decoded(device const T *centroid, device const uchar *row, device const float *weight, long j, uint bits) {
  return load(centroid + j) + weight[bucket_at(row, j, bits)];
}

// decoded_inverse_norm is 1/max(|v|, 1e-12) of the decoded vector, squares in ascending order.
template <typename T>
static inline float decoded_inverse_norm(device const T *centroid, device const uchar *row, device const float *weight, long d, uint bits) {
  float s = 0;
  for (long j = 0; j < d; j++) s = add_square(s, decoded(centroid, row, weight, j, bits));
  return inverse_norm(s);
}
