// maxsim, variant naive: score[i,j] = sum over active tokens s of query i of the maximum over valid tokens t of
// document j of <query[s], doc[t]>.
//
// Axes and layout: query tq,d and doc td,d row-major in T; offsets i64 nq+1 and nd+1; masks u8 tq and td, 0 or
// absent; score f32 nq,nd; winner i32 tq,nd or absent, relative to the document's start.
// Geometry: 128 threads a block, block (x, y) takes document x and query y and strides over the grid; no
// dynamic shared memory. Requires nothing. Variant 1: the others are measured against it; it takes any alignment,
// any d, sizes beyond 2^31, winners and normalisation.
#include "args/maxsim_args.h"
#include "lateinteraction/maxsim_naive.cuh"

extern "C" __global__ void __launch_bounds__(maxsim::kNaiveThreads) maxsim_f32_naive(const __grid_constant__ maxsim_args a) {
  maxsim::naive<F32, 1, 3>(a, a.normalize != 0, {nullptr, nullptr});
}

extern "C" __global__ void __launch_bounds__(maxsim::kNaiveThreads) maxsim_bf16_naive(const __grid_constant__ maxsim_args a) {
  maxsim::naive<BF16, 1, 3>(a, a.normalize != 0, {nullptr, nullptr});
}
