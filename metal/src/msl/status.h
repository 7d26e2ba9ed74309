// Data errors. Metal has no 64-bit atomics, so the stream's status is not one word but a slot of 32 bits for each
// binding (tag), code and operand, combined by an atomic maximum; the host turns the slots into the status word of
// backend/kernel/status.go. Word 0 says whether there is anything to read.
#pragma once
#include <metal_stdlib>
#include <metal_atomic>
using namespace metal;

enum { STATUS_CODES = 16, STATUS_OPERANDS = 24, FAULT_OFFSETS = 15 };

// report keeps the lowest index; one beyond 2^32-2 is reported as that.
static inline void report(device atomic_uint *status, ulong tag, uint code, uint operand, long index) {
  uint low = index < 0xfffffffeL ? uint(index) : 0xfffffffeu;
  atomic_store_explicit(status, 1u, memory_order_relaxed);
  atomic_fetch_max_explicit(status + 1 + (uint(tag) * STATUS_CODES + code) * STATUS_OPERANDS + operand, ~low, memory_order_relaxed);
}
