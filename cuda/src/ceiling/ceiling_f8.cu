// ceiling_dot_f8_mma: chains of mma.sync m16n8k32 e4m3 in 8 accumulators a warp, for the capability whose tensor
// cores run it; Hopper emulates it and has ceiling_wgmma.
// Geometry: blocks of 256, as many as fit. Shared: none.
// targets: sm_89
#include "ceiling.cuh"
#include "common/async.cuh"

extern "C" __global__ void __launch_bounds__(256) ceiling_dot_f8_mma(const __grid_constant__ ceiling_args a) {
  float c[8][4] = {};
  unsigned x[4], y[2];
#pragma unroll
  for (int i = 0; i < 4; i++) x[i] = quadF8(threadIdx.x * 8 + i);
#pragma unroll
  for (int i = 0; i < 2; i++) y[i] = quadF8(threadIdx.x * 8 + 4 + i);
  for (long long r = 0; r < a.repeat; r++) {
#pragma unroll
    for (int u = 0; u < 16; u++)
#pragma unroll
      for (int i = 0; i < 8; i++) mmaF8E4M3(c[i], x, y[0], y[1]);
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 8; i++) sum += c[i][0] + c[i][1] + c[i][2] + c[i][3];
  keep(a, sum);
}
