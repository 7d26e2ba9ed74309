// Hopper's asynchronous machinery: transaction barriers, the bulk tensor copy engine, warpgroup matrix products
// (sm_90a). Barriers are 8-byte words in shared memory.
#pragma once
#include "common/async.cuh"

// TensorMap is CUtensorMap: opaque, 64-byte aligned, passed as a __grid_constant__ parameter.
struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};

// --- barriers. Phase n of a barrier completes when its arrivals and its bytes are in; a waiter names the parity
// of the phase that it waits for, so that parity 1 passes at once on a fresh barrier.

__device__ __forceinline__ void barrierInit(unsigned barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// barriersVisible makes initialised barriers visible to the copy engine; a block barrier follows.
__device__ __forceinline__ void barriersVisible() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ __forceinline__ void barrierArrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// barrierExpect arrives and adds bytes that the copy engine will deliver in this phase.
__device__ __forceinline__ void barrierExpect(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void barrierWait(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "AGAIN:\n"
      "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
      "@done bra.uni DONE;\n"
      "bra.uni AGAIN;\n"
      "DONE:\n"
      "}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// --- registers: a warpgroup takes or gives back registers of the block's pool. All its warps call it.

template <int N> __device__ __forceinline__ void registersUp() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N)); }
template <int N> __device__ __forceinline__ void registersDown() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N)); }

// --- copy engine

__device__ __forceinline__ void prefetchMap(const TensorMap& m) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&m) : "memory");
}

// copyBox2 copies the box at (x, y), x innermost, to shared memory; elements outside the tensor are zeros. The
// whole box counts towards the barrier's bytes.
__device__ __forceinline__ void copyBox2(unsigned to, const TensorMap& m, int x, int y, unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(&m),
               "r"(x), "r"(y), "r"(barrier)
               : "memory");
}

__device__ __forceinline__ void copyBox1(unsigned to, const TensorMap& m, int x, unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];" ::"r"(to), "l"(&m), "r"(x),
               "r"(barrier)
               : "memory");
}

// --- warpgroup matrix products

// matrixDescriptor describes rows of 128 bytes, K innermost, in the 128-byte swizzle: groups of 8 rows lie 1024
// bytes apart (field at bit 32, in 16 bytes), the leading offset (bit 16) is unused, swizzle code 1 stands at
// bit 62. The address is a multiple of 1024 for a tile; a step of 32 bytes along K adds 2 to the descriptor.
__device__ __forceinline__ unsigned long long matrixDescriptor(unsigned address) {
  return (unsigned long long)((address & 0x3ffffu) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

__device__ __forceinline__ void productsBegin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void productsCommit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int Pending> __device__ __forceinline__ void productsWait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory"); }

// productsHold keeps the compiler from moving reads of accumulators across this point.
template <int N> __device__ __forceinline__ void productsHold(float (&acc)[N]) {
#pragma unroll
  for (int i = 0; i < N; i++) asm volatile("" : "+f"(acc[i])::"memory");
}

#define ACC8(a, i) "+f"(a[i]), "+f"(a[i + 1]), "+f"(a[i + 2]), "+f"(a[i + 3]), "+f"(a[i + 4]), "+f"(a[i + 5]), "+f"(a[i + 6]), "+f"(a[i + 7])
#define ACC64(a) ACC8(a, 0), ACC8(a, 8), ACC8(a, 16), ACC8(a, 24), ACC8(a, 32), ACC8(a, 40), ACC8(a, 48), ACC8(a, 56)
#define REG64                                                                                                        \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "  \
  "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "   \
  "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"

// product128* add a 64 x 128 product over 32 bytes of K to acc, or start it where add is 0. Lane l of warp w of
// the warpgroup holds, in acc[4g..4g+3], rows 16w+l/4 (two columns) and 16w+l/4+8 (two columns), columns
// 8g+2(l%4) and the next.
__device__ __forceinline__ void product128BF16(float (&acc)[64], unsigned long long a, unsigned long long b, int add) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " REG64 ", %64, %65, p, 1, 1, 0, 0;\n}\n"
               : ACC64(acc)
               : "l"(a), "l"(b), "r"(add));
}

__device__ __forceinline__ void product128F8E4M3(float (&acc)[64], unsigned long long a, unsigned long long b, int add) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 " REG64 ", %64, %65, p, 1, 1;\n}\n"
               : ACC64(acc)
               : "l"(a), "l"(b), "r"(add));
}

#undef REG64
#undef ACC64
#undef ACC8
