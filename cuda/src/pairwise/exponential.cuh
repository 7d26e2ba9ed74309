// The exponentials of pairwise kernels.
#pragma once

// exponential is e^(-gamma u). f32 folds log2 e into the constant and takes the one-instruction exp2 (2 ulp, results below
// 2^-126 are 0); f64 takes the accurate function.
struct Exponential32 {
  float factor;
  __device__ __forceinline__ explicit Exponential32(double gamma) : factor((float)(-1.4426950408889634 * gamma)) {}
  __device__ __forceinline__ float operator()(float u) const {
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(u * factor));
    return r;
  }
};

struct Exponential64 {
  double factor;
  __device__ __forceinline__ explicit Exponential64(double gamma) : factor(-gamma) {}
  __device__ __forceinline__ double operator()(double u) const { return exp(u * factor); }
};
