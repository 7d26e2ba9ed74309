// ceiling_dot_*_wgmma: warpgroup matrix products of 64 x 128 from shared memory, 16 in flight a warpgroup.
// Geometry: blocks of 256 (two warpgroups, each with its own 64 rows of A and a common B), two to a
// multiprocessor. Shared: 32 KiB static.
// targets: sm_90a
#include "ceiling.cuh"
#include "common/hopper.cuh"

// tiles are 64-row blocks of 128-byte rows: A of the two warpgroups, then the 128 rows of B.
struct alignas(1024) Tiles {
  unsigned word[4][64 * 32];
};

template <bool F8> __device__ __forceinline__ void products(const ceiling_args& a) {
  __shared__ Tiles tiles;
  for (int i = threadIdx.x; i < 4 * 64 * 32; i += 256) tiles.word[i / 2048][i % 2048] = F8 ? quadF8(i) : pairBF16(i);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  unsigned long long x = matrixDescriptor(sharedAddress(tiles.word[threadIdx.x / 128]));
  unsigned long long y = matrixDescriptor(sharedAddress(tiles.word[2]));
  float acc[64] = {};
  for (long long r = 0; r < a.repeat; r++) {
    productsHold(acc);
    productsBegin();
#pragma unroll
    for (int u = 0; u < 16; u++) {
      if (F8)
        product128F8E4M3(acc, x + 2 * (u % 4), y + 2 * (u % 4), 1);
      else
        product128BF16(acc, x + 2 * (u % 4), y + 2 * (u % 4), 1);
    }
    productsCommit();
    productsWait<0>();
    productsHold(acc);
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 64; i++) sum += acc[i];
  keep(a, sum);
}

extern "C" __global__ void __launch_bounds__(256, 2) ceiling_dot_bf16_wgmma(const __grid_constant__ ceiling_args a) { products<false>(a); }
extern "C" __global__ void __launch_bounds__(256, 2) ceiling_dot_f8_wgmma(const __grid_constant__ ceiling_args a) { products<true>(a); }
