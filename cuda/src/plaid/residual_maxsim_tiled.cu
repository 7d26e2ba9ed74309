// residual_maxsim, variant tiled, for f32: register tiles on the ordinary units, canonical bits.
//
// Axes and operands as residual_maxsim_naive.cu; d a multiple of 4 up to 384; query and centroid 16-byte aligned; places, queries,
// tokens of a query and of a document fewer than 2^31 each. Requires sm_80.
// Over naive: a token is decoded once for 32 query tokens, 64 products from 16 values read.
//
// Entries, after residual_maxsim_f32_tiled; _b2 of each is for 2 bits a component:
//   _apart   a document to each of four warps: many documents. 128 threads, grid (any, min(nq, any)).
//   _joint4  a document to four warps: few. 128 threads, grid alike.
//   _joint8  a document to eight: fewer than multiprocessors, about. 256 threads, grid alike.
// Dynamic shared memory: 4,352 bytes a warp with joint8 and 8,704 with the others, and 128*d, at most as stated below.
//
// dynamic: residual_maxsim_f32_tiled_apart 83968
// dynamic: residual_maxsim_f32_tiled_apart_b2 83968
// dynamic: residual_maxsim_f32_tiled_joint4 83968
// dynamic: residual_maxsim_f32_tiled_joint4_b2 83968
// dynamic: residual_maxsim_f32_tiled_joint8_b2 83968
#include "plaid/residual_maxsim_tiled.cuh"

extern __shared__ __align__(256) unsigned char dynamic[];

#define TILED(name, tile, blocks)                                                                                              \
  extern "C" __global__ void __launch_bounds__(tile::kThreads, blocks) residual_maxsim_f32_tiled_##name(const __grid_constant__ residual_maxsim_args a) { \
    __shared__ tile::State s;                                                                                                  \
    plaid::tiled<tile>(a, dynamic, s);                                                                                         \
  }

using Apart = plaid::Tiled<4, 1, 64, 4, true, 0>;
using ApartB2 = plaid::Tiled<4, 1, 64, 4, true, 2>;
using Joint4 = plaid::Tiled<4, 4, 64, 4, true, 0>;
using Joint4B2 = plaid::Tiled<4, 4, 64, 4, true, 2>;
using Joint8B2 = plaid::Tiled<8, 8, 32, 2, true, 2>;

static_assert(Apart::kWarpBytes == 8704 && Joint8B2::kWarpBytes == 4352, "stated above and in cuda/residual_maxsim.go");

TILED(apart, Apart, 2)
TILED(apart_b2, ApartB2, 2)
TILED(joint4, Joint4, 2)
TILED(joint4_b2, Joint4B2, 2)
TILED(joint8_b2, Joint8B2, 1)
