// centroid_scores: canonical dot products of centroids and query tokens, each one ascending chain of fused multiply-adds.
//
// Axes tq, d, k, p. Query f32 [tq, d]; Centroid f32 [k, d]; Score f32 [k, tq], rows score_stride elements apart; ScoreHalf f16 [k, tq], rows score_half_stride apart;
// Cell i32 [tq, p] and CellScore f32 [tq, p]: the p best cells of each token, score descending, index ascending, NaN last, -0
// equal to +0. Any output may be absent. Any d and alignment. Offsets are 64-bit.
//
// Entries, after centroid_scores_tiled:
//   _wide     more than 64 tokens: blocks of 256 threads, 128 centroids by 128 tokens.
//             grid (ceil(k/128), min(ceil(tq/128), any)).
//   _tall     fewer, and 24576 centroids or more: blocks of 128 threads, 128 by 32.
//             grid (ceil(k/128), min(ceil(tq/32), any)).
//   _narrow   else: blocks of 128 threads, 64 by 32. grid (ceil(k/64), min(ceil(tq/32), any)).
//   _select   cells only: a block of 256 threads per token. grid min(tq, any). Shared memory: 22,144 bytes.
// Scratch, with cells only: tq*4*ceil(k/64) keys of 4 bytes, and tq*k scores of 4 bytes if Score is absent. Requires sm_80.
//
// dynamic: centroid_scores_tiled_wide 73728
// dynamic: centroid_scores_tiled_tall 46080
// dynamic: centroid_scores_tiled_narrow 55296
#include "args/centroid_scores_args.h"
#include "plaid/centroid_scores.cuh"

using plaid::F32;
using Shapes = plaid::Shapes<F32>;

static_assert(plaid::kWideShared == 73728 && plaid::kTallShared == 46080 && plaid::kNarrowShared == 55296, "stated above and in cuda/centroid_scores.go");

extern __shared__ __align__(128) unsigned char pool[];

extern "C" __global__ void __launch_bounds__(256, 2) centroid_scores_tiled_wide(const __grid_constant__ centroid_scores_args a) {
  plaid::scores<Shapes::Wide, F32>(a, pool);
}
extern "C" __global__ void __launch_bounds__(128, 4) centroid_scores_tiled_tall(const __grid_constant__ centroid_scores_args a) {
  plaid::scores<Shapes::Tall, F32>(a, pool);
}
extern "C" __global__ void __launch_bounds__(128) centroid_scores_tiled_narrow(const __grid_constant__ centroid_scores_args a) {
  plaid::scores<Shapes::Narrow, F32>(a, pool);
}
extern "C" __global__ void __launch_bounds__(plaid::kSelectThreads) centroid_scores_tiled_select(const __grid_constant__ centroid_scores_args a) {
  __shared__ plaid::Selection sh;
  plaid::select<F32>(a, sh);
}
