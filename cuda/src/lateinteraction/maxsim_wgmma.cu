// maxsim, variant wgmma: warpgroup products on packed query rows and streamed documents.
//
// Axes and layout as maxsim_naive.cu; d a multiple of 8 up to 1024; query and doc 16-byte aligned; no winner, no
// normalisation. Stages r64, r128, r256 are the same kernel for 64, 128 and 256 query rows a block; a launch
// runs one of them. Where documents are too few to fill the device, s64 and s256 also cut documents between
// blocks and leave partial maxima in scratch, which j64 and j256 join.
// Geometry: one block per multiprocessor, or two small ones of 64 rows; 128 threads per 64 rows and 64 or 128
// more; dynamic shared memory 208 (96) KiB and alignment (j: 128 threads, the same grid, none). Parameters after the block: tensor maps of query and doc, boxes of 64 rows x 128 bytes,
// 128-byte swizzle. Requires sm_90a. Over mma: 64-row products from shared memory, the copy engine, documents
// packed without gaps.
//
// targets: sm_90a
// dynamic: maxsim_bf16_wgmma_r64 214016
// dynamic: maxsim_bf16_wgmma_r128 214016
// dynamic: maxsim_bf16_wgmma_r256 214016
// dynamic: maxsim_bf16_wgmma_s64 214016
// dynamic: maxsim_bf16_wgmma_s256 214016
#include "args/maxsim_args.h"
#include "lateinteraction/maxsim_wgmma.cuh"

namespace maxsim {
struct ProductBF16 {
  static constexpr int kBytes = 2;
  static __device__ __forceinline__ void product(float (&acc)[64], unsigned long long a, unsigned long long b, int add) {
    product128BF16(acc, a, b, add);
  }
};
}  // namespace maxsim

#define ENTRY(name, groups, split)                                                                              \
  extern "C" __global__ void __launch_bounds__(maxsim::kThreads<groups>, 1)                                    \
      maxsim_bf16_wgmma_##name(const __grid_constant__ maxsim_args a, const __grid_constant__ TensorMap query,  \
                               const __grid_constant__ TensorMap doc) {                                         \
    maxsim::stream<maxsim::ProductBF16, groups, false, split, 1, 3>(a, &query, &doc, nullptr);                  \
  }

#define JOIN(name, rows)                                                                                        \
  extern "C" __global__ void __launch_bounds__(maxsim::kJoinThreads)                                            \
      maxsim_bf16_wgmma_##name(const __grid_constant__ maxsim_args a) {                                         \
    maxsim::join<rows>(a);                                                                                      \
  }

ENTRY(r64, 1, false)
ENTRY(r128, 2, false)
ENTRY(r256, 4, false)
ENTRY(s64, 1, true)
ENTRY(s256, 4, true)
JOIN(j64, 64)
JOIN(j256, 256)
