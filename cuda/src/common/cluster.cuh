// Blocks of a cluster, which see each other's shared memory (sm_90 and later).
#pragma once
#include "common/async.cuh"

// clusterArrive and clusterWait are the two halves of a barrier of all threads of the cluster: what was written to shared
// memory before the one is visible after the other. What does not depend on it goes between.
__device__ __forceinline__ void clusterArrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ __forceinline__ void clusterWait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// inBlock is the address, in the shared memory of the cluster's block of that rank, of what p is in this one's.
__device__ __forceinline__ unsigned inBlock(const void* p, int rank) {
  unsigned r;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(sharedAddress(p)), "r"(rank));
  return r;
}

__device__ __forceinline__ unsigned loadCluster(unsigned address) {
  unsigned v;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
  return v;
}

__device__ __forceinline__ void storeCluster(unsigned address, unsigned v) {
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address), "r"(v) : "memory");
}
