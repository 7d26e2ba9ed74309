// Element types of tensor operands and how each widens to f32, exactly.
#pragma once

struct F32 {
  using Store = float;
  static __device__ __forceinline__ float widen(float v) { return v; }
};

struct BF16 {
  using Store = unsigned short;
  static __device__ __forceinline__ float widen(unsigned short v) { return __uint_as_float((unsigned)v << 16); }
};

// F8E4M3 is the "fn" form: bias 7, no infinities, NaN is S.1111.111.
struct F8E4M3 {
  using Store = unsigned char;
  static __device__ __forceinline__ float widen(unsigned char v) {
    unsigned sign = (unsigned)(v & 0x80) << 24, rest = v & 0x7f;
    if (rest == 0x7f) return __uint_as_float(sign | 0x7fc00000u);
    // The bits stand at the top of an f32 with bias 127; 2^120 restores the bias and makes subnormals normal.
    return __uint_as_float(sign | rest << 20) * 0x1p120f;
  }
};
