// The stream's status word, and offsets that a kernel on the device may have written.
#pragma once

constexpr int kFaultOffsets = 15; // offset outside its axis, or decreasing

// raiseFault reports a data error. The atomic maximum keeps the lowest index of the highest code, whatever
// the order of threads.
__device__ __forceinline__ void raiseFault(unsigned long long status, unsigned long long tag, int code, int operand, long long index) {
  if (status == 0) return;
  constexpr long long most = (1ll << 40) - 1;
  unsigned long long place = (unsigned long long)(most - (index < most ? index : most));
  atomicMax((unsigned long long*)status, (unsigned long long)code << 60 | (unsigned long long)operand << 54 | tag << 40 | place);
}

// checkOffsets reports entries that leave the axis or decrease. Entry i belongs to thread i mod threads.
__device__ __forceinline__ void checkOffsets(const long long* off, long long n, long long axis, int operand, unsigned long long status,
                                             unsigned long long tag, long long thread, long long threads) {
  for (long long i = thread; i <= n; i += threads) {
    long long v = off[i];
    if (v < 0 || v > axis || (i > 0 && v < off[i - 1])) raiseFault(status, tag, kFaultOffsets, operand, i);
  }
}
