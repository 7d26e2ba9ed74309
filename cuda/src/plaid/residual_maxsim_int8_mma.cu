// residual_maxsim_int8, variant mma: warp-level int8 products, 2 and 4 bits a component.
//
// Axes and operands as residual_maxsim_int8_naive.cu; d up to 128, a multiple of 16 (2 bits) or 8 (4 bits); query 16-byte
// aligned, packed 4-byte. Stages are the same kernel for the packed words of a lane, and for places where all queries of a group
// have the same documents (_shared) or not; a launch runs the two for its words, with one query of at most 32 tokens the one
// without _shared, or with _whole, for many places, whose rows of packed words fill the lanes.
// Geometry: 256 threads; blocks of equal y take a group of up to eight queries, grid (any, any), the same for both.
// Requires sm_80. Over naive: products on matrix units from registers, buckets looked up by byte permutations, once for
// queries that have the same documents.
//
// dynamic: residual_maxsim_int8_f16_mma_b2w1 33792
// dynamic: residual_maxsim_int8_f16_mma_b2w1_shared 53760
// dynamic: residual_maxsim_int8_f16_mma_b2w2 33792
// dynamic: residual_maxsim_int8_f16_mma_b2w2_shared 70144
// dynamic: residual_maxsim_int8_f16_mma_b2w2_whole 64896
// dynamic: residual_maxsim_int8_f16_mma_b4w2 33792
// dynamic: residual_maxsim_int8_f16_mma_b4w2_shared 53760
// dynamic: residual_maxsim_int8_f16_mma_b4w4 33792
// dynamic: residual_maxsim_int8_f16_mma_b4w4_shared 70144
// dynamic: residual_maxsim_int8_f32_mma_b2w1 33792
// dynamic: residual_maxsim_int8_f32_mma_b2w1_shared 53760
// dynamic: residual_maxsim_int8_f32_mma_b2w2 33792
// dynamic: residual_maxsim_int8_f32_mma_b2w2_shared 70144
// dynamic: residual_maxsim_int8_f32_mma_b4w2 33792
// dynamic: residual_maxsim_int8_f32_mma_b4w2_shared 53760
// dynamic: residual_maxsim_int8_f32_mma_b4w4 33792
// dynamic: residual_maxsim_int8_f32_mma_b4w4_shared 70144
#include "plaid/residual_maxsim_int8_mma.cuh"

#define ENTRY(type, element, bits, words, suffix, share, whole, shared)                                                 \
  extern "C" __global__ void __launch_bounds__(plaid::kInt8Threads, 2)                                                   \
      residual_maxsim_int8_##type##_mma_b##bits##w##words##suffix(const __grid_constant__ residual_maxsim_int8_args a) { \
    extern __shared__ __align__(256) unsigned char dynamic[];                                                            \
    __shared__ plaid::Int8State s;                                                                                       \
    using Body = plaid::Int8Body<element, plaid::Pack##bits, words>;                                                     \
    static_assert(plaid::Tiles<Body, residual_maxsim_int8_args, share, whole>::kShared == shared, "dynamic");             \
    plaid::int8Screen<element, plaid::Pack##bits, words, share, whole>(a, dynamic, s);                                   \
  }
#define ENTRIES(type, element, bits, words, shared)        \
  ENTRY(type, element, bits, words, , false, false, 33792) \
  ENTRY(type, element, bits, words, _shared, true, false, shared)

ENTRIES(f16, F16, 2, 1, 53760)
ENTRIES(f16, F16, 2, 2, 70144)
ENTRIES(f16, F16, 4, 2, 53760)
ENTRIES(f16, F16, 4, 4, 70144)
ENTRIES(f32, F32, 2, 1, 53760)
ENTRIES(f32, F32, 2, 2, 70144)
ENTRIES(f32, F32, 4, 2, 53760)
ENTRIES(f32, F32, 4, 4, 70144)
ENTRY(f16, F16, 2, 2, _whole, false, true, 64896)
