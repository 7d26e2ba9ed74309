// residual_maxsim_int8, variant mma: warp-level int8 products, 2 and 4 bits a component.
//
// Axes and operands as residual_maxsim_int8_naive.cu; d up to 128, a multiple of 16 (2 bits) or 8 (4 bits); query 16-byte
// aligned, packed 4-byte. Stages are the same kernel for the packed words of a lane; a launch runs one of them.
// Geometry: 128 threads; a block takes consecutive places of a query, grid (any, min(nq, any)). Rows of centroid scores and
// packed words pass through rings of slots in shared memory, one and two rounds of 64 tokens ahead.
// Requires sm_80. Over naive: products on matrix units from registers, buckets looked up by byte permutations.
//
// dynamic: residual_maxsim_int8_f16_mma_b2w1 16384
// dynamic: residual_maxsim_int8_f16_mma_b2w2 20480
// dynamic: residual_maxsim_int8_f16_mma_b4w2 20480
// dynamic: residual_maxsim_int8_f16_mma_b4w4 28672
// dynamic: residual_maxsim_int8_f32_mma_b2w1 24576
// dynamic: residual_maxsim_int8_f32_mma_b2w2 28672
// dynamic: residual_maxsim_int8_f32_mma_b4w2 28672
// dynamic: residual_maxsim_int8_f32_mma_b4w4 36864
#include "plaid/residual_maxsim_int8_mma.cuh"

#define ENTRY(type, element, bits, words, shared, blocks)                                                   \
  extern "C" __global__ void __launch_bounds__(plaid::kScreenThreads, blocks)                               \
      residual_maxsim_int8_##type##_mma_b##bits##w##words(const __grid_constant__ residual_maxsim_int8_args a) { \
    extern __shared__ __align__(256) unsigned char dynamic[];                                               \
    __shared__ plaid::Int8State s;                                                                          \
    static_assert(plaid::Int8Screen<element, plaid::Pack##bits, words>::kShared == shared, "dynamic");      \
    plaid::int8Screen<element, plaid::Pack##bits, words>(a, sharedAddress(dynamic), s);                     \
  }

ENTRY(f16, F16, 2, 1, 16384, 4)
ENTRY(f16, F16, 2, 2, 20480, 4)
ENTRY(f16, F16, 4, 2, 20480, 4)
ENTRY(f16, F16, 4, 4, 28672, 3)
ENTRY(f32, F32, 2, 1, 24576, 4)
ENTRY(f32, F32, 2, 2, 28672, 4)
ENTRY(f32, F32, 4, 2, 28672, 4)
ENTRY(f32, F32, 4, 4, 36864, 3)
