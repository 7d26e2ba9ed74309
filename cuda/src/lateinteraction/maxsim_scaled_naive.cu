// maxsim_scaled, variant naive: maxsim of e4m3 tokens with one f32 scale per token on each side; the similarity
// is (dot * doc_scale) * query_scale, before the maximum. Axes, layout and geometry as maxsim_naive.cu.
// Requires nothing: the elements are widened by integer arithmetic.
#include "args/maxsim_scaled_args.h"
#include "lateinteraction/maxsim_naive.cuh"

extern "C" __global__ void __launch_bounds__(maxsim::kNaiveThreads)
    maxsim_scaled_f8e4m3_naive(const __grid_constant__ maxsim_scaled_args a) {
  maxsim::naive<F8E4M3, 2, 5>(a, false, {(const float*)a.query_scale, (const float*)a.doc_scale});
}
