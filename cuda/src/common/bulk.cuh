// Rows that the copy engine brings to shared memory ahead of their use (sm_90a).
#pragma once
#include "common/hopper.cuh"
#include "common/rows.cuh"

// copyBulk copies bytes, a multiple of 16 between addresses that are, to shared memory; they count towards the barrier.
__device__ __forceinline__ void copyBulk(unsigned to, const void* from, unsigned bytes, unsigned barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}

namespace rows {

// Ring is S slots of shared memory that a block uses in turn: one thread starts the copies into a slot, all threads await
// them, and read the slot. Between their last read and the next copies into it lies a barrier of the block, which
// is enough: what was read has arrived, and the copies are ordered behind the thread that starts them.
template <int S> struct Ring {
  unsigned slots, bytes; // of the first slot; of a slot
  unsigned barriers;
  int at = 0;          // the slot in use
  unsigned parity = 0; // of its phase

  // S 8-byte barriers stand at an address of their own. The caller's block barrier follows before anybody awaits.
  __device__ __forceinline__ Ring(unsigned slots, unsigned bytes, unsigned barriers, bool filler) : slots(slots), bytes(bytes), barriers(barriers) {
    if (!filler) return;
    for (int s = 0; s < S; s++) barrierInit(barriers + 8 * s, 1);
    barriersVisible();
  }

  __device__ __forceinline__ unsigned slot(int s) const { return slots + s * bytes; }
  __device__ __forceinline__ unsigned barrier(int s) const { return barriers + 8 * s; }
  __device__ __forceinline__ unsigned await() const {
    barrierWait(barrier(at), parity);
    return slot(at);
  }
  __device__ __forceinline__ void step() {
    if (++at == S) at = 0, parity ^= 1;
  }
};

// loadShared reads this thread's V packs of a row of n elements, n a multiple of a pack, that lies in shared memory.
template <class T, int V> __device__ __forceinline__ void loadShared(Pack<T> (&p)[V], unsigned row, int n, float fill = 0.0f) {
#pragma unroll
  for (int v = 0; v < V; v++) {
    int col = (v * blockDim.x + threadIdx.x) * Pack<T>::kSize;
    p[v] = Pack<T>::filled(fill);
    if (col >= n) continue;
    uint4 u = loadShared16(row + col * (int)sizeof(T));
    p[v].w[0] = u.x, p[v].w[1] = u.y, p[v].w[2] = u.z, p[v].w[3] = u.w;
  }
}

}  // namespace rows
