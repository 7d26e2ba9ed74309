// maxsim_scaled, variant wgmma: maxsim_wgmma.cu for e4m3 tokens with one f32 factor per token on each side. The
// similarity is (dot * doc_scale) * query_scale, before the maximum. The products accumulate in the tensor
// cores' own precision (fewer bits than f32).
//
// Axes and layout as maxsim_scaled_naive.cu; d a multiple of 16 up to 2048; query, doc and doc_scale 16-byte
// aligned; no winner. Stages, geometry and shared memory as maxsim_wgmma.cu; a third tensor map describes
// doc_scale, boxes of 128. Requires sm_90a.
//
// targets: sm_90a
// dynamic: maxsim_scaled_f8e4m3_wgmma_r64 214016
// dynamic: maxsim_scaled_f8e4m3_wgmma_r128 214016
// dynamic: maxsim_scaled_f8e4m3_wgmma_r256 214016
// dynamic: maxsim_scaled_f8e4m3_wgmma_s64 214016
// dynamic: maxsim_scaled_f8e4m3_wgmma_s256 214016
#include "args/maxsim_scaled_args.h"
#include "lateinteraction/maxsim_wgmma.cuh"

namespace maxsim {
struct ProductF8E4M3 {
  static constexpr int kBytes = 1;
  static __device__ __forceinline__ void product(float (&acc)[64], unsigned long long a, unsigned long long b, int add) {
    product128F8E4M3(acc, a, b, add);
  }
};
}  // namespace maxsim

#define ENTRY(name, groups, split)                                                                                       \
  extern "C" __global__ void __launch_bounds__(maxsim::kThreads<groups>, 1)                                              \
      maxsim_scaled_f8e4m3_wgmma_##name(const __grid_constant__ maxsim_scaled_args a, const __grid_constant__ TensorMap query, \
                                        const __grid_constant__ TensorMap doc, const __grid_constant__ TensorMap scale) { \
    maxsim::stream<maxsim::ProductF8E4M3, groups, true, split, 2, 5>(a, &query, &doc, &scale);                           \
  }

#define JOIN(name, rows)                                                                                                 \
  extern "C" __global__ void __launch_bounds__(maxsim::kJoinThreads)                                                     \
      maxsim_scaled_f8e4m3_wgmma_##name(const __grid_constant__ maxsim_scaled_args a) {                                  \
    maxsim::join<rows>(a);                                                                                               \
  }

ENTRY(r64, 1, false)
ENTRY(r128, 2, false)
ENTRY(r256, 4, false)
ENTRY(s64, 1, true)
ENTRY(s256, 4, true)
JOIN(j64, 64)
JOIN(j256, 256)
