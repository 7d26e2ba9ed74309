// maxsim, variant tiled, for f32 tokens: register tiles on the ordinary units. Tensor cores would round the
// tokens.
//
// Axes and layout as maxsim_naive.cu; d a multiple of 4; query and doc 16-byte aligned. Winners and masks; no
// normalisation. Stages are the same kernel for 32 and 64 query rows a block, without and with winners; a launch
// runs one of them.
// Geometry: 256 threads, two blocks to a multiprocessor. Dynamic shared memory as stated below. Requires sm_80.
// Over naive: 64 (32) products from 16 (12) values read, asynchronous copies, documents packed without gaps; the
// same bits.
//
// dynamic: maxsim_f32_tiled_r32 73728
// dynamic: maxsim_f32_tiled_r32w 73728
// dynamic: maxsim_f32_tiled_r64 81920
// dynamic: maxsim_f32_tiled_r64w 81920
#include "args/maxsim_args.h"
#include "lateinteraction/maxsim_tiled.cuh"

#define ENTRY(name, rows, winner, shared)                                                       \
  extern "C" __global__ void __launch_bounds__(maxsim::kTiledThreads, 2)                        \
      maxsim_f32_tiled_##name(const __grid_constant__ maxsim_args a) {                          \
    static_assert(maxsim::kTiledStages * maxsim::kTiledStage<rows / 8> == shared, #name);       \
    maxsim::tiled<rows / 8, winner, 1, 3>(a);                                                   \
  }

ENTRY(r32, 32, false, 73728)
ENTRY(r32w, 32, true, 73728)
ENTRY(r64, 64, false, 81920)
ENTRY(r64w, 64, true, 81920)
