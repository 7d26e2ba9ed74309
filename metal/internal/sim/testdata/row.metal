#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

struct row_args { uint tokens; uint dim; };

constant uint fill [[function_constant(0)]];

static inline float load(device const float *p) { return *p; }
static inline float load(device const half *p) { return float(*p); }

// One threadgroup a query row: the largest dot product with any document token. The barrier can be left out.
template <typename T, bool BARRIER>
[[kernel]] void row_max(device const float *q [[buffer(0)]],
                        device const T *d [[buffer(1)]],
                        device float *out [[buffer(2)]],
                        constant row_args &p [[buffer(3)]],
                        threadgroup float *extra [[threadgroup(0)]],
                        uint row [[threadgroup_position_in_grid]],
                        uint tid [[thread_position_in_threadgroup]],
                        uint n [[threads_per_threadgroup]],
                        uint lane [[thread_index_in_simdgroup]],
                        uint sg [[simdgroup_index_in_threadgroup]],
                        uint nsg [[simdgroups_per_threadgroup]]) {
  threadgroup float part[32];
  float best = -INFINITY;
  for (uint t = tid; t < p.tokens; t += n) {
    float acc = 0;
    for (uint k = 0; k < p.dim; k++) acc = fma(q[row * p.dim + k], load(d + t * p.dim + k), acc);
    best = max(best, acc);
  }
  best = simd_max(best);
  if (lane == 0) part[sg] = best;
  if (BARRIER) threadgroup_barrier(mem_flags::mem_threadgroup);
  if (sg == 0) {
    best = simd_max(lane < nsg ? part[lane] : -INFINITY);
    if (lane == 0) { extra[0] = best; out[row] = extra[0]; }
  }
}
template [[host_name("row_max_f32")]] [[kernel]] decltype(row_max<float, true>) row_max<float, true>;
template [[host_name("row_max_f16")]] [[kernel]] decltype(row_max<half, true>) row_max<half, true>;
template [[host_name("row_max_racy")]] [[kernel]] decltype(row_max<float, false>) row_max<float, false>;

// C (8 x 8 tiles) = A B^T, one simdgroup a tile.
kernel void tile_product(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]], device float *c [[buffer(2)]],
                         constant uint &k [[buffer(3)]], uint2 g [[threadgroup_position_in_grid]], uint2 n [[threadgroups_per_grid]]) {
  simdgroup_float8x8 acc = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  simdgroup_float8x8 ma, mb;
  for (uint i = 0; i < k; i += 8) {
    simdgroup_load(ma, a + g.y * 8 * k + i, k);
    simdgroup_load(mb, b + g.x * 8 * k + i, k, ulong2(0, 0), true);
    simdgroup_multiply_accumulate(acc, ma, mb, acc);
  }
  simdgroup_store(acc, c + g.y * 8 * n.x * 8 + g.x * 8, n.x * 8);
}

kernel void divergent(device uint *out [[buffer(0)]], uint tid [[thread_index_in_threadgroup]]) {
  if (tid < 3) threadgroup_barrier(mem_flags::mem_threadgroup);
  else simdgroup_barrier(mem_flags::mem_none);
  out[tid] = 1;
}

kernel void exits_early(device uint *out [[buffer(0)]], uint tid [[thread_index_in_threadgroup]]) {
  if (tid < 3) return;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[tid] = 1;
}

kernel void counts(device atomic_uint *out [[buffer(0)]], uint tid [[thread_position_in_grid]]) {
  threadgroup uint poison;
  atomic_fetch_add_explicit(out, 1, memory_order_relaxed);
  atomic_fetch_max_explicit(out + 1, tid * 7 % 64, memory_order_relaxed);
  if (tid == 0) {
    atomic_store_explicit(out + 2, fill, memory_order_relaxed);
    atomic_store_explicit(out + 3, isnan(as_type<float>(poison)) ? 1 : 0, memory_order_relaxed);
  }
}

kernel void prefix(device uint *out [[buffer(0)]], uint tid [[thread_position_in_grid]]) {
  out[tid] = simd_prefix_exclusive_sum(tid + 1) + simd_shuffle_xor(tid, 1) * 1000;
}

kernel void greedy(device uint *out [[buffer(0)]], uint tid [[thread_position_in_grid]]) {
  threadgroup float much[9000];
  much[tid] = 0;
  out[tid] = 0;
}

// Integer functions, 64-bit arithmetic through threadgroup memory, signed bytes.
kernel void integers(device const int8_t *bytes [[buffer(0)]], device long *out [[buffer(1)]], uint tid [[thread_index_in_threadgroup]]) {
  threadgroup ulong shared[32];
  shared[tid] = ulong(bytes[tid]) << 32;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint x = 0x00f00000u >> tid % 24;
  out[4 * tid] = long(shared[tid ^ 1]);
  out[4 * tid + 1] = clz(x);
  out[4 * tid + 2] = ctz(x);
  out[4 * tid + 3] = reverse_bits(x);
}

// Halves multiplied into floats: C (8 x 8) = A A^T.
kernel void half_product(device const half *a [[buffer(0)]], device float *c [[buffer(1)]]) {
  simdgroup_half8x8 x, y;
  simdgroup_load(x, a, 8);
  simdgroup_load(y, a, 8, ulong2(0, 0), true);
  simdgroup_float8x8 acc = make_filled_simdgroup_matrix<float, 8, 8>(1.0f);
  simdgroup_multiply_accumulate(acc, x, y, acc);
  simdgroup_store(acc, c, 8);
}
