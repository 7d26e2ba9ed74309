// Kernels that start while the one in front of them ends (Stage.Early of cuda/bind.go states the rule). On devices before
// sm_90 both do nothing.
#pragma once

// awaitEarlier waits until the kernel in front has ended and its writes are visible. Every thread calls it before it reads or
// writes global memory for the first time; before, parameters may be read, and memory prefetched to the second-level cache.
__device__ __forceinline__ void awaitEarlier() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// letNext allows the next kernel to start, once all blocks have called it or ended. It comes after awaitEarlier.
__device__ __forceinline__ void letNext() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
