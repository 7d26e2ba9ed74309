// residual_maxsim, variant mma, for f16: warp-level products, 2 and 4 bits a component.
//
// Axes and operands as residual_maxsim_naive.cu, without Fixed; d up to 128, a multiple of 16 (2 bits) or 8 (4 bits); query and
// centroid 16-byte aligned, packed 4-byte; queries of up to 256 tokens. Stages are the same kernel for the packed words of a
// lane; a launch runs one of them.
// Geometry: 128 threads; a block takes consecutive places for the queries of a pass, grid (any, any). Dynamic shared memory:
// 8,192 bytes for each chunk of 32 query tokens in a pass, up to eight. Requires sm_80.
// Over naive: products on matrix units, tokens decoded once for all queries that have the document at the same place, weights
// looked up in registers by byte permutations.
//
// dynamic: residual_maxsim_f16_mma_b2w1 65536
// dynamic: residual_maxsim_f16_mma_b2w2 65536
// dynamic: residual_maxsim_f16_mma_b4w2 65536
// dynamic: residual_maxsim_f16_mma_b4w4 65536
#include "plaid/residual_maxsim_mma.cuh"

#define ENTRY(bits, words)                                                                             \
  extern "C" __global__ void __launch_bounds__(plaid::kHalfThreads, 3)                                 \
      residual_maxsim_f16_mma_b##bits##w##words(const __grid_constant__ residual_maxsim_args a) {      \
    extern __shared__ __align__(256) unsigned char dynamic[];                                          \
    __shared__ plaid::HalfState s;                                                                     \
    plaid::halfScreen<plaid::HalfPack##bits, words>(a, sharedAddress(dynamic), s);                     \
  }

ENTRY(2, 1)
ENTRY(2, 2)
ENTRY(4, 2)
ENTRY(4, 4)
