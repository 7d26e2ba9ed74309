// The products of the MaxSim bodies, as types that they are instances of.
#pragma once
#include "common/hopper.cuh"

namespace maxsim {

#define ACC8(a, i) "+f"(a[i]), "+f"(a[i + 1]), "+f"(a[i + 2]), "+f"(a[i + 3]), "+f"(a[i + 4]), "+f"(a[i + 5]), "+f"(a[i + 6]), "+f"(a[i + 7])
#define REG16 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}"
#define REG32                                                                                                         \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "   \
  "%24, %25, %26, %27, %28, %29, %30, %31}"

// PRODUCT adds 64 rows x 32 or 64 columns over 32 bytes of K to acc, laid out as in hopper.cuh. a and b are the lower
// words of matrixDescriptor, which hold all that depends on the address; HIGH is the upper one.
#define HIGH "0x40000040"
#define PRODUCT32(shape, types, flags)                                                                                              \
  asm volatile("{\n.reg .pred p;\n.reg .b64 x, y;\nsetp.ne.b32 p, %18, 0;\nmov.b64 x, {%16, " HIGH "};\nmov.b64 y, {%17, " HIGH "};\n" \
               "wgmma.mma_async.sync.aligned.m64n32" shape ".f32." types " " REG16 ", x, y, p, " flags ";\n}\n"                     \
               : ACC8(acc, 0), ACC8(acc, 8)                                                                                         \
               : "r"(a), "r"(b), "r"(add))
#define PRODUCT64(shape, types, flags)                                                                                              \
  asm volatile("{\n.reg .pred p;\n.reg .b64 x, y;\nsetp.ne.b32 p, %34, 0;\nmov.b64 x, {%32, " HIGH "};\nmov.b64 y, {%33, " HIGH "};\n" \
               "wgmma.mma_async.sync.aligned.m64n64" shape ".f32." types " " REG32 ", x, y, p, " flags ";\n}\n"                     \
               : ACC8(acc, 0), ACC8(acc, 8), ACC8(acc, 16), ACC8(acc, 24)                                                           \
               : "r"(a), "r"(b), "r"(add))

struct ProductBF16 {
  static constexpr int kBytes = 2;
  template <int N> static __device__ __forceinline__ void product(float (&acc)[N / 2], unsigned a, unsigned b, int add) {
    if constexpr (N == 32) PRODUCT32("k16", "bf16.bf16", "1, 1, 0, 0");
    if constexpr (N == 64) PRODUCT64("k16", "bf16.bf16", "1, 1, 0, 0");
  }
  static __device__ __forceinline__ void product128(float (&acc)[64], unsigned long long a, unsigned long long b, int add) { product128BF16(acc, a, b, add); }
};

struct ProductF8E4M3 {
  static constexpr int kBytes = 1;
  template <int N> static __device__ __forceinline__ void product(float (&acc)[N / 2], unsigned a, unsigned b, int add) {
    if constexpr (N == 32) PRODUCT32("k32", "e4m3.e4m3", "1, 1");
    if constexpr (N == 64) PRODUCT64("k32", "e4m3.e4m3", "1, 1");
  }
  static __device__ __forceinline__ void product128(float (&acc)[64], unsigned long long a, unsigned long long b, int add) { product128F8E4M3(acc, a, b, add); }
};

#undef HIGH
#undef PRODUCT64
#undef PRODUCT32
#undef REG32
#undef REG16
#undef ACC8

}  // namespace maxsim
