// take: numbers by their positions in a row, -1 for a position outside it.
//
// Axes b, n, k. Value i32 [b, n]; Index i32 [b, k]; Out i32 [b, k]. Offsets are 64-bit.
//
// Entry take_naive: a thread a position, neighbours side by side. grid any, block 256. Shared memory: none. Requires sm_80.
#include "args/take_args.h"

extern "C" __global__ void __launch_bounds__(256) take_naive(const __grid_constant__ take_args a) {
  const int* value = (const int*)a.value;
  const int* index = (const int*)a.index;
  int* out = (int*)a.out;
  const long long step = (long long)gridDim.x * blockDim.x, end = a.b * a.k;
  for (long long e = (long long)blockIdx.x * blockDim.x + threadIdx.x; e < end; e += step) {
    const long long at = index[e];
    out[e] = at >= 0 && at < a.n ? value[e / a.k * a.n + at] : -1;
  }
}
