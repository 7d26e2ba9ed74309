// residual_maxsim, variant tiled, for f32: register tiles on the ordinary units, canonical bits.
//
// Axes and operands as residual_maxsim_naive.cu; d a multiple of 4 up to 384; query and centroid 16-byte aligned.
// Geometry: 128 threads; a block takes consecutive places of a query, grid (any, min(nq, any)). Dynamic shared memory: 32,768
// bytes and 132*d, the most stated below. Requires sm_80.
// Over naive: a token is decoded once for 32 query tokens, 64 products from 16 values read.
//
// dynamic: residual_maxsim_f32_tiled 83456
#include "plaid/residual_maxsim_tiled.cuh"

extern "C" __global__ void __launch_bounds__(plaid::kTiledThreads, 3) residual_maxsim_f32_tiled(const __grid_constant__ residual_maxsim_args a) {
  extern __shared__ __align__(256) unsigned char dynamic[];
  __shared__ plaid::TiledState s;
  plaid::tiled(a, sharedAddress(dynamic), s);
}
