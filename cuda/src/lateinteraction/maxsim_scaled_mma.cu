// maxsim_scaled, variant mma: maxsim_mma.cu for e4m3 tokens with one f32 factor per token on each side. The
// similarity is (dot * doc_scale) * query_scale, before the maximum.
//
// Axes and layout as maxsim_scaled_naive.cu; d a multiple of 16; query and doc 16-byte aligned. Winners and masks.
// Stages, geometry and rows as maxsim_mma.cu; d up to 128 and 256 and any d. Requires FP8 (sm_89); on sm_90 the
// assembler emulates the product by two f16 ones.
//
// targets: sm_89 sm_90a compute_89
// dynamic: maxsim_scaled_f8e4m3_mma_d128r32 25344
// dynamic: maxsim_scaled_f8e4m3_mma_d128r32w 25344
// dynamic: maxsim_scaled_f8e4m3_mma_d256r32 49920
// dynamic: maxsim_scaled_f8e4m3_mma_d256r32w 49920
// dynamic: maxsim_scaled_f8e4m3_mma_wider32 37632
// dynamic: maxsim_scaled_f8e4m3_mma_wider32w 37632
// dynamic: maxsim_scaled_f8e4m3_mma_d128r128 17408
// dynamic: maxsim_scaled_f8e4m3_mma_d128r128w 17408
// dynamic: maxsim_scaled_f8e4m3_mma_d256r128 33792
// dynamic: maxsim_scaled_f8e4m3_mma_d256r128w 33792
// dynamic: maxsim_scaled_f8e4m3_mma_wider128 82944
// dynamic: maxsim_scaled_f8e4m3_mma_wider128w 82944
#include "args/maxsim_scaled_args.h"
#include "lateinteraction/maxsim_mma.cuh"

namespace maxsim {
struct MmaF8E4M3 : F8E4M3 {
  static constexpr int kBytes = 1;
  static constexpr bool kScaled = true;
  static __device__ __forceinline__ void mma(float* c, const unsigned* a, unsigned b0, unsigned b1) { mmaF8E4M3(c, a, b0, b1); }
};
}  // namespace maxsim

#define ENTRY(name, steps, warps, winner, shared)                                                             \
  extern "C" __global__ void __launch_bounds__(maxsim::kMmaThreads, steps == 8 ? 3 : 4)                       \
      maxsim_scaled_f8e4m3_mma_##name(const __grid_constant__ maxsim_scaled_args a) {                         \
    static_assert(maxsim::kMmaStages<true, steps, warps> * maxsim::kMmaStage<true, steps, warps> == shared, #name); \
    maxsim::tiles<maxsim::MmaF8E4M3, steps, warps, winner, 2, 5>(a, false);                                   \
  }

ENTRY(d128r32, 4, 1, false, 25344)
ENTRY(d128r32w, 4, 1, true, 25344)
ENTRY(d256r32, 8, 1, false, 49920)
ENTRY(d256r32w, 8, 1, true, 49920)
ENTRY(wider32, 0, 1, false, 37632)
ENTRY(wider32w, 0, 1, true, 37632)
ENTRY(d128r128, 4, 4, false, 17408)
ENTRY(d128r128w, 4, 4, true, 17408)
ENTRY(d256r128, 8, 4, false, 33792)
ENTRY(d256r128w, 8, 4, true, 33792)
ENTRY(wider128, 0, 4, false, 82944)
ENTRY(wider128w, 0, 4, true, 82944)
