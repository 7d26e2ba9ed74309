// kmeans_update: the sum of each centroid's tokens as counts of steps 2^-shift, each component rounded half to even once, and
// their number. Integer sums: neither order nor grouping shows.
//
// Axes n, d, k. Token f32 [n, d]; Code i32 [n]; Sum i64 [k, d]; Count i64 [k], both overwritten. Code -1 leaves a token out;
// any other code outside [0, k) does and is fault 1. A component that is not finite, or of 2^62 steps or more, counts 0 and is
// fault 2. Offsets are 64-bit.
//
// Entries:
//   kmeans_update_atomic_clear   zeros. grid any, block 256.
//   kmeans_update_atomic         a warp per token adds its components where they belong, 32 neighbours at a time: the sums
//                                stay in L2, whose units add. grid any, block 256.
// Requires sm_80.
#include "args/kmeans_update_args.h"
#include "common/status.cuh"

namespace {

using Count = unsigned long long; // the additions wrap as those of long long

constexpr int kLanes = 32, kThreads = 256;

// Scale is 2^shift as two factors, since shift may leave what one double holds. The first product is exact or far below a
// half step; the second is exact.
struct Scale {
  double first, second;
};

__device__ __forceinline__ double power(int e) { return __longlong_as_double((long long)(e + 1023) << 52); }

__device__ __forceinline__ Scale scaleOf(long long shift) {
  int s = (int)min(max(shift, -1000ll), 1000ll), half = s / 2;
  return {power(half), power(s - half)};
}

__device__ __forceinline__ void clear(const kmeans_update_args& a) {
  const long long step = (long long)gridDim.x * blockDim.x, first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  for (long long i = first; i < a.k * a.d; i += step) ((Count*)a.sum)[i] = 0;
  for (long long i = first; i < a.k; i += step) ((Count*)a.count)[i] = 0;
}

__device__ __forceinline__ void add(const kmeans_update_args& a) {
  const Scale scale = scaleOf(a.shift);
  const int lane = threadIdx.x % kLanes;
  const long long warps = (long long)gridDim.x * (kThreads / kLanes);
  for (long long token = (long long)blockIdx.x * (kThreads / kLanes) + threadIdx.x / kLanes; token < a.n; token += warps) {
    const int code = ((const int*)a.code)[token];
    if (code < 0 || code >= a.k) {
      if (code != -1 && lane == 0) raiseFault(a.status, a.tag, 1, 1, token);
      continue;
    }
    if (lane == 0) atomicAdd((Count*)a.count + code, (Count)1);
    const float* x = (const float*)a.token + token * a.d;
    Count* sum = (Count*)a.sum + code * a.d;
#pragma unroll 4
    for (long long i = lane; i < a.d; i += kLanes) {
      double steps = (double)x[i] * scale.first * scale.second;
      if (fabs(steps) < 0x1p62)
        atomicAdd(sum + i, (Count)__double2ll_rn(steps));
      else
        raiseFault(a.status, a.tag, 2, 0, token * a.d + i);
    }
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads) kmeans_update_atomic_clear(const __grid_constant__ kmeans_update_args a) { clear(a); }
extern "C" __global__ void __launch_bounds__(kThreads) kmeans_update_atomic(const __grid_constant__ kmeans_update_args a) { add(a); }
