// What the ceilings share: loops on registers or shared memory whose operands are neither zero nor alike, since a
// chip's clock depends on them.
#pragma once

struct ceiling_args {
  unsigned long long in;   // address of n vectors of 16 bytes
  unsigned long long out;  // address of as many, or 0
  long long n;
  long long repeat;  // passes of a loop on registers
};

// mix is a hash of a thread's number.
__device__ __forceinline__ unsigned mix(unsigned x) {
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

// pairBF16 are two values of either sign in [0.5, 1).
__device__ __forceinline__ unsigned pairBF16(unsigned seed) { return (mix(seed) & 0x807f807fu) | 0x3f003f00u; }

// quadF8 are four values of type e4m3, of either sign, in [0.5, 1).
__device__ __forceinline__ unsigned quadF8(unsigned seed) { return (mix(seed) & 0x87878787u) | 0x30303030u; }

// keep stores a sum that the host has made impossible, so that the loop before it is not removed.
__device__ __forceinline__ void keep(const ceiling_args& a, float sum) {
  if (a.out != 0 && sum == 1.25e-30f) *(float*)a.out = sum;
}
