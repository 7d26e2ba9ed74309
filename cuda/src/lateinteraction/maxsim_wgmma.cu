// maxsim, variant wgmma: warpgroup products of packed queries and streamed documents.
//
// Axes and layout as maxsim_naive.cu; d a multiple of 8 up to 1024; query and doc 16-byte aligned; no winner, no
// normalisation. Stages t32, t64, t128 have the tokens of documents as the rows of a product and up to 32, 64, 128
// query rows a block as its columns; r256 has 256 query rows a block as rows. A launch runs one of them. Where
// documents are too few to fill the device, s32 to s256 also cut documents between blocks and leave partial maxima
// in scratch, which j32 to j256 join.
// Geometry: one block per multiprocessor, t32 also two; 320 threads (r256: 640); dynamic shared memory 208 KiB (96
// where there are two) and alignment (j: 128 threads, the same grid, none). Parameters after the block: tensor maps
// of query (boxes of 64 rows, t32: 32) and doc (64) x 128 bytes, 128-byte swizzle. Requires sm_90a. Over mma: 64-row
// products from shared memory, the copy engine, documents packed without gaps.
//
// targets: sm_90a
// dynamic: maxsim_bf16_wgmma_t32 214016
// dynamic: maxsim_bf16_wgmma_t64 214016
// dynamic: maxsim_bf16_wgmma_t128 214016
// dynamic: maxsim_bf16_wgmma_r256 214016
// dynamic: maxsim_bf16_wgmma_s32 214016
// dynamic: maxsim_bf16_wgmma_s64 214016
// dynamic: maxsim_bf16_wgmma_s128 214016
// dynamic: maxsim_bf16_wgmma_s256 214016
#include "args/maxsim_args.h"
#include "lateinteraction/maxsim_products.cuh"
#include "lateinteraction/maxsim_wgmma.cuh"

#define ENTRY(name, form, consumer, split)                                                                       \
  extern "C" __global__ void __launch_bounds__(maxsim::kThreads<maxsim::form>, 1)                                \
      maxsim_bf16_wgmma_##name(const __grid_constant__ maxsim_args a, const __grid_constant__ TensorMap query,   \
                               const __grid_constant__ TensorMap doc) {                                          \
    maxsim::stream<maxsim::ProductBF16, maxsim::form, maxsim::consumer, split, 1, 3>(a, &query, &doc, nullptr);  \
  }

#define JOIN(name, rows)                                                                                        \
  extern "C" __global__ void __launch_bounds__(maxsim::kJoinThreads)                                            \
      maxsim_bf16_wgmma_##name(const __grid_constant__ maxsim_args a) {                                         \
    maxsim::join<rows>(a);                                                                                      \
  }

namespace maxsim {
using Tokens32 = TokenRows<32, false>;
using Tokens64 = TokenRows<64, false>;
using Tokens128 = TokenRows<128, false>;
using Rows256 = QueryRows<4, false>;
}  // namespace maxsim

ENTRY(t32, Tokens32, TokenConsumer, false)
ENTRY(t64, Tokens64, TokenConsumer, false)
ENTRY(t128, Tokens128, TokenConsumer, false)
ENTRY(r256, Rows256, RowConsumer, false)
ENTRY(s32, Tokens32, TokenConsumer, true)
ENTRY(s64, Tokens64, TokenConsumer, true)
ENTRY(s128, Tokens128, TokenConsumer, true)
ENTRY(s256, Rows256, RowConsumer, true)
JOIN(j32, 32)
JOIN(j64, 64)
JOIN(j128, 128)
JOIN(j256, 256)
