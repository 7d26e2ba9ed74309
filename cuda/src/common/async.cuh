// Copies to shared memory and matrix fragments of sm_80 and later.
#pragma once

// sharedAddress is the 32-bit address within shared memory.
__device__ __forceinline__ unsigned sharedAddress(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// dynamicShared is the dynamic shared memory of the launch in bytes.
__device__ __forceinline__ unsigned dynamicShared() {
  unsigned n;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(n));
  return n;
}

// prefetchLine brings a line of global memory to the first-level cache.
__device__ __forceinline__ void prefetchLine(const void* p) { asm volatile("prefetch.global.L1 [%0];" ::"l"(p)); }

// copyAsync16 starts a copy of 16 aligned bytes to the shared address; a false live writes zeros and reads
// nothing.
__device__ __forceinline__ void copyAsync16(unsigned to, const void* from, bool live) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(live ? 16 : 0) : "memory");
}

__device__ __forceinline__ void copyAsync4(unsigned to, const void* from, bool live) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(live ? 4 : 0) : "memory");
}

__device__ __forceinline__ void copyCommit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Pending> __device__ __forceinline__ void copyWait() { asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory"); }

__device__ __forceinline__ uint4 loadShared16(unsigned address) {
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(address) : "memory");
  return v;
}

// loadMatrices4 loads four 8 x 16-byte matrices; lane l gives the address of row l%8 of matrix l/8 and receives,
// of each, 4 bytes: row l/4, bytes 4(l%4).
__device__ __forceinline__ void loadMatrices4(unsigned (&r)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

// mma*: a 16 x 8 product over 32 bytes of K added to c. Lane l holds of A the rows l/4 (a[0], a[2]) and l/4+8
// (a[1], a[3]), bytes 4(l%4) of the lower (a[0], a[1]) and upper 16; of B column l/4, bytes 4(l%4) of the lower
// and upper 16; of C rows l/4 (c[0], c[1]) and l/4+8, columns 2(l%4) and the next.
__device__ __forceinline__ void mmaBF16(float* c, const unsigned* a, unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#if __CUDA_ARCH__ >= 890
__device__ __forceinline__ void mmaF8E4M3(float* c, const unsigned* a, unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#endif
