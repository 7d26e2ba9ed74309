// Reductions over the threads of a block.
#pragma once
#include "common/order.cuh"

namespace plaid {

// blockMax leaves the largest of all threads, NaN if there is one, in all of them. Two barriers; slots has one float a warp.
template <int Warps> __device__ __forceinline__ float blockMax(float v, float* slots) {
  for (int o = 16; o > 0; o /= 2) v = maxNaN(v, __shfl_xor_sync(0xffffffffu, v, o));
  if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = v;
  __syncthreads();
  v = slots[0];
  for (int i = 1; i < Warps; i++) v = maxNaN(v, slots[i]);
  __syncthreads(); // the slots are free again
  return v;
}

}  // namespace plaid
