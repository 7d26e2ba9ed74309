// residual_maxsim, variant scan, for f16: scores of all centroids first, then of document tokens, 2 and 4 bits a component.
//
// Axes and operands as residual_maxsim_mma.cu; at most four chunks of 32 query tokens; no normalisation without InvNorm.
// Stages:
//   scores               f16 scores of centroids with query tokens. 128 threads, grid (min(ceil(k/64), 1024), 4)
//   b<bits>w<words>      the scan. 128 threads; a block takes consecutive places of a query, grid (any, nq)
//   whole<bits>w<words>  the body of variant mma, which runs only where a centroid score leaves the range of f16
// Scratch: 256*k bytes of scores and 16,384 of flags. Dynamic shared memory as stated. Requires sm_80.
// Over mma: 64 bytes of a token's centroid scores are read instead of 256 of its centroid; worth it where places have several
// times as many tokens as there are centroids.
//
// dynamic: residual_maxsim_f16_scan_b2w1 16384
// dynamic: residual_maxsim_f16_scan_b2w2 20480
// dynamic: residual_maxsim_f16_scan_b4w2 20480
// dynamic: residual_maxsim_f16_scan_b4w4 28672
// dynamic: residual_maxsim_f16_scan_whole2w1 32768
// dynamic: residual_maxsim_f16_scan_whole2w2 32768
// dynamic: residual_maxsim_f16_scan_whole4w2 32768
// dynamic: residual_maxsim_f16_scan_whole4w4 32768
#include "plaid/residual_maxsim_mma.cuh"
#include "plaid/residual_maxsim_scan.cuh"

#define ENTRY(bits, words, shared)                                                                      \
  extern "C" __global__ void __launch_bounds__(plaid::kScreenThreads, 3)                                \
      residual_maxsim_f16_scan_b##bits##w##words(const __grid_constant__ residual_maxsim_args a) {      \
    extern __shared__ __align__(256) unsigned char dynamic[];                                           \
    __shared__ plaid::ScanState s;                                                                      \
    static_assert(plaid::Scan<plaid::HalfPack##bits, words>::kShared == shared, "dynamic");             \
    plaid::scan<plaid::HalfPack##bits, words>(a, sharedAddress(dynamic), s);                            \
  }                                                                                                     \
  extern "C" __global__ void __launch_bounds__(plaid::kHalfThreads, 3)                                  \
      residual_maxsim_f16_scan_whole##bits##w##words(const __grid_constant__ residual_maxsim_args a) {  \
    extern __shared__ __align__(256) unsigned char dynamic[];                                           \
    __shared__ plaid::HalfState s;                                                                      \
    if (plaid::Table(a).tooWide()) plaid::halfScreen<plaid::HalfPack##bits, words>(a, sharedAddress(dynamic), s); \
  }

extern "C" __global__ void __launch_bounds__(plaid::kScreenThreads) residual_maxsim_f16_scan_scores(const __grid_constant__ residual_maxsim_args a) {
  plaid::centroidScores(a);
}

ENTRY(2, 1, 16384)
ENTRY(2, 2, 20480)
ENTRY(4, 2, 20480)
ENTRY(4, 4, 28672)
