// What translated kernels share with the scheduler (runtime.cc).
#pragma once
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <type_traits>

extern "C" void msl_switch(void **save, void *to);

namespace msl {

struct index3 { unsigned x, y, z; };

// Launch mirrors the struct of the same name in launch.go.
struct Launch {
  void *const *buffers;        // by buffer index
  uint32_t groups[3], threads[3];
  uint64_t dynamic;            // bytes of threadgroup(0)
  uint32_t order;              // 0 forward, 1 reversed, otherwise a seed for shuffling
  uint32_t err;                // out: see Fault
  uint64_t local;              // out: bytes of kernel-local threadgroup memory
};
enum Fault { FaultNone, FaultDivergent, FaultExited, FaultLocal };
enum Wait { Run, Group, Simd, Done };

constexpr unsigned width = 32;    // lanes of a simdgroup
constexpr unsigned maxSimds = 32; // of a threadgroup
constexpr unsigned maxLocals = 16; // kernel-local threadgroup variables

struct SimdGroup {
  unsigned arrived, live, generation, mask, active;
  alignas(16) char slot[2][width][64];
};
struct Fiber {
  void *sp;
  Wait wait;
  SimdGroup *simd;
  unsigned lane, simdIndex, linear;
  index3 position, group;
};
struct State {
  Fiber *fibers;
  unsigned n, arrived, live;
  void *scheduler;
  char *dynamic;
  char *local[maxLocals];
  size_t localBytes[maxLocals];
  Launch *launch;
};
extern thread_local Fiber *cur;
extern thread_local State *st;

void run(Launch *launch, void (*body)());
void *local(unsigned id, size_t bytes); // kernel-local threadgroup variable, one per group, poisoned
void yield();
void groupBarrier();
void simdBarrier();

// exchange publishes v of every active lane; f then reads any lane. Two alternating slots make one barrier enough.
template <class T, class F> inline auto exchange(T v, F f) {
  static_assert(sizeof(T) <= 64, "value too large for a simdgroup exchange");
  SimdGroup *s = cur->simd;
  unsigned p = s->generation & 1;
  memcpy(s->slot[p][cur->lane], &v, sizeof v);
  simdBarrier();
  auto at = [=](unsigned lane) { T r; memcpy(&r, s->slot[p][lane % width], sizeof r); return r; };
  return f(at, s->active);
}

// any_ptr and any_ref become whatever parameter type the kernel declares.
struct any_ptr { void *p; template <class U> operator U *() const { return (U *)(uintptr_t)p; } };
struct any_ref { void *p; template <class U> operator U &() const { return *(U *)(uintptr_t)p; } };

} // namespace msl
