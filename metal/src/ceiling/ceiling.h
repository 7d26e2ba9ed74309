// What the device can do at most: loops on registers, and bytes moved. They stand beside results as shares of a bound
// and are no kernels of the contract, so their arguments are declared here (mirrored in ceilings.go).
//
// Geometry: 256 threads a threadgroup. Rate loops: every thread repeats chains of independent operations. Memory: each
// thread moves 8 vectors of 16 bytes, neighbours of neighbours.
// Every loop ends in a test that never holds, so that no compiler can drop it.
#pragma once
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

struct ceiling_args {
  long n;      // vectors of 16 bytes
  long repeat; // passes of a rate loop
};

enum { CEILING_THREADS = 256, CEILING_CHAINS = 16, CEILING_MATRICES = 8, CEILING_VECTORS = 8 };

static inline void keep(float sum, device float *out) {
  if (sum == -1.5f) out[0] = sum;
}

[[kernel]] void ceiling_fma_f32(device float *out [[buffer(1)]], constant ceiling_args &a [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  float x[CEILING_CHAINS], sum = 0, scale = 0.999f - float(i) * 1e-12f;
  for (uint k = 0; k < CEILING_CHAINS; k++) x[k] = float(i + k) * 1e-6f;
  for (long r = 0; r < a.repeat; r++)
    for (uint k = 0; k < CEILING_CHAINS; k++) x[k] = fma(x[k], scale, 0.001f);
  for (uint k = 0; k < CEILING_CHAINS; k++) sum += x[k];
  keep(sum, out);
}

[[kernel]] void ceiling_max_f32(device float *out [[buffer(1)]], constant ceiling_args &a [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  float x[CEILING_CHAINS], sum = 0;
  for (uint k = 0; k < CEILING_CHAINS; k++) x[k] = float(i + k) * 1e-7f;
  for (long r = 0; r < a.repeat; r++)
    for (uint k = 0; k < CEILING_CHAINS; k++) x[k] = max(x[k], x[(k + 1) % CEILING_CHAINS]); // a neighbour, or it could be hoisted
  for (uint k = 0; k < CEILING_CHAINS; k++) sum += x[k];
  keep(sum, out);
}

[[kernel]] void ceiling_matrix_f32(device float *out [[buffer(1)]], constant ceiling_args &a [[buffer(2)]], uint index [[thread_index_in_threadgroup]],
                                   uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float tile[64];
  simdgroup_float8x8 x = make_filled_simdgroup_matrix<float, 8, 8>(float(a.repeat) * 1e-9f);
  simdgroup_float8x8 acc[CEILING_MATRICES];
  for (uint k = 0; k < CEILING_MATRICES; k++) acc[k] = make_filled_simdgroup_matrix<float, 8, 8>(float(k) * 1e-6f);
  for (long r = 0; r < a.repeat; r++)
    for (uint k = 0; k < CEILING_MATRICES; k++) simdgroup_multiply_accumulate(acc[k], x, x, acc[k]);
  float sum = 0;
  for (uint k = 0; k < CEILING_MATRICES; k++) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (index < 32) simdgroup_store(acc[k], tile, 8); // the first simdgroup, whole
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum += tile[lane];
  }
  keep(sum, out);
}

[[kernel]] void ceiling_read(device const float4 *in [[buffer(0)]], device float *out [[buffer(1)]], constant ceiling_args &a [[buffer(2)]],
                             uint group [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]]) {
  float4 sum = float4(0.0f);
  long from = long(group) * (CEILING_THREADS * CEILING_VECTORS) + index;
  for (uint k = 0; k < CEILING_VECTORS; k++)
    if (from + k * CEILING_THREADS < a.n) sum += in[from + k * CEILING_THREADS];
  keep(sum.x + sum.y + sum.z + sum.w, out);
}

[[kernel]] void ceiling_copy(device const float4 *in [[buffer(0)]], device float4 *out [[buffer(1)]], constant ceiling_args &a [[buffer(2)]],
                             uint group [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]]) {
  long from = long(group) * (CEILING_THREADS * CEILING_VECTORS) + index;
  for (uint k = 0; k < CEILING_VECTORS; k++)
    if (from + k * CEILING_THREADS < a.n) out[from + k * CEILING_THREADS] = in[from + k * CEILING_THREADS];
}

[[kernel]] void ceiling_nothing(device float *out [[buffer(1)]], constant ceiling_args &a [[buffer(2)]]) {
  if (a.n < 0) out[0] = 0;
}
