// maxsim, variant mma: warp-level matrix products, query rows in registers, documents streamed by asynchronous
// copies.
//
// Axes and layout as maxsim_naive.cu; d a multiple of 8; query and doc 16-byte aligned. Winners, masks and
// normalisation (inverse norms found in f32 beside the products). Stages are the same kernel for d up to 64 and
// 128 and any d, 32 or 128 query rows a block, without and with winners; a launch runs one of them.
// Geometry: 128 threads; blocks share the documents evenly, three or so to a multiprocessor. Dynamic shared
// memory as stated below. Requires sm_80. Over naive: matrix units, tiles, documents packed without gaps.
//
// dynamic: maxsim_bf16_mma_d64r32 24576
// dynamic: maxsim_bf16_mma_d64r32w 24576
// dynamic: maxsim_bf16_mma_d128r32 49152
// dynamic: maxsim_bf16_mma_d128r32w 49152
// dynamic: maxsim_bf16_mma_wider32 36864
// dynamic: maxsim_bf16_mma_wider32w 36864
// dynamic: maxsim_bf16_mma_d64r128 16384
// dynamic: maxsim_bf16_mma_d64r128w 16384
// dynamic: maxsim_bf16_mma_d128r128 32768
// dynamic: maxsim_bf16_mma_d128r128w 32768
// dynamic: maxsim_bf16_mma_wider128 81920
// dynamic: maxsim_bf16_mma_wider128w 81920
#include "args/maxsim_args.h"
#include "lateinteraction/maxsim_mma.cuh"

namespace maxsim {
struct MmaBF16 : BF16 {
  static constexpr int kBytes = 2;
  static constexpr bool kScaled = false;
  static __device__ __forceinline__ void mma(float* c, const unsigned* a, unsigned b0, unsigned b1) { mmaBF16(c, a, b0, b1); }
};
}  // namespace maxsim

#define ENTRY(name, steps, warps, winner, shared)                                                              \
  extern "C" __global__ void __launch_bounds__(maxsim::kMmaThreads, steps == 8 ? 3 : 4)                        \
      maxsim_bf16_mma_##name(const __grid_constant__ maxsim_args a) {                                          \
    static_assert(maxsim::kMmaStages<false, steps, warps> * maxsim::kMmaStage<false, steps, warps> == shared, #name); \
    maxsim::tiles<maxsim::MmaBF16, steps, warps, winner, 1, 3>(a, a.normalize != 0);                           \
  }

ENTRY(d64r32, 4, 1, false, 24576)
ENTRY(d64r32w, 4, 1, true, 24576)
ENTRY(d128r32, 8, 1, false, 49152)
ENTRY(d128r32w, 8, 1, true, 49152)
ENTRY(wider32, 0, 1, false, 36864)
ENTRY(wider32w, 0, 1, true, 36864)
ENTRY(d64r128, 4, 4, false, 16384)
ENTRY(d64r128w, 4, 4, true, 16384)
ENTRY(d128r128, 8, 4, false, 32768)
ENTRY(d128r128w, 8, 4, true, 32768)
ENTRY(wider128, 0, 4, false, 81920)
ENTRY(wider128w, 0, 4, true, 81920)
