// maxsim_scaled, variant wgmma: maxsim_wgmma.cu for e4m3 tokens with one f32 factor per token on each side. The
// similarity is (dot * doc_scale) * query_scale, before the maximum. The products accumulate in the tensor
// cores' own precision (fewer bits than f32).
//
// Axes and layout as maxsim_scaled_naive.cu; d a multiple of 16 up to 2048; query, doc and doc_scale 16-byte
// aligned; no winner. Stages, geometry and shared memory as maxsim_wgmma.cu, but 128 query rows are the rows of a
// product (r128): a factor for each token leaves no registers for the other form. o32 is t32 with one warpgroup of
// consumers, 192 threads and 53 KiB of dynamic shared memory, three blocks a multiprocessor; d at most 128. A third tensor
// map describes doc_scale, boxes of 128. Requires sm_90a.
//
// targets: sm_90a
// dynamic: maxsim_scaled_f8e4m3_wgmma_t32 214016
// dynamic: maxsim_scaled_f8e4m3_wgmma_o32 54272
// dynamic: maxsim_scaled_f8e4m3_wgmma_t64 214016
// dynamic: maxsim_scaled_f8e4m3_wgmma_r128 214016
// dynamic: maxsim_scaled_f8e4m3_wgmma_r256 214016
// dynamic: maxsim_scaled_f8e4m3_wgmma_s32 214016
// dynamic: maxsim_scaled_f8e4m3_wgmma_s64 214016
// dynamic: maxsim_scaled_f8e4m3_wgmma_s128 214016
// dynamic: maxsim_scaled_f8e4m3_wgmma_s256 214016
#include "args/maxsim_scaled_args.h"
#include "lateinteraction/maxsim_products.cuh"
#include "lateinteraction/maxsim_wgmma.cuh"

#define ENTRY(name, form, consumer, split, blocks)                                                                                    \
  extern "C" __global__ void __launch_bounds__(maxsim::kThreads<maxsim::form>, blocks)                                            \
      maxsim_scaled_f8e4m3_wgmma_##name(const __grid_constant__ maxsim_scaled_args a, const __grid_constant__ TensorMap query, \
                                        const __grid_constant__ TensorMap doc, const __grid_constant__ TensorMap scale) { \
    maxsim::stream<maxsim::ProductF8E4M3, maxsim::form, maxsim::consumer, split, 2, 5>(a, &query, &doc, &scale);                           \
  }

#define JOIN(name, rows)                                                                                                 \
  extern "C" __global__ void __launch_bounds__(maxsim::kJoinThreads)                                                     \
      maxsim_scaled_f8e4m3_wgmma_##name(const __grid_constant__ maxsim_scaled_args a) {                                  \
    maxsim::join<rows>(a);                                                                                               \
  }

namespace maxsim {
using Tokens32 = TokenRows<32, true>;
using Tokens64 = TokenRows<64, true>;
using One32 = OneGroup<32, true>;
using Rows128 = QueryRows<2, true>;
using Rows256 = QueryRows<4, true>;
}  // namespace maxsim

ENTRY(t32, Tokens32, TokenConsumer, false, 1)
ENTRY(t64, Tokens64, TokenConsumer, false, 1)
ENTRY(r128, Rows128, RowConsumer, false, 1)
ENTRY(r256, Rows256, RowConsumer, false, 1)
ENTRY(o32, One32, TokenConsumer, false, 3)
ENTRY(s32, Tokens32, TokenConsumer, true, 1)
ENTRY(s64, Tokens64, TokenConsumer, true, 1)
ENTRY(s128, Rows128, RowConsumer, true, 1)
ENTRY(s256, Rows256, RowConsumer, true, 1)
JOIN(j32, 32)
JOIN(j64, 64)
JOIN(j128, 128)
JOIN(j256, 256)
