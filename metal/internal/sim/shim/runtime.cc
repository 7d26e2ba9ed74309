// Scheduler of the simulated device: one threadgroup at a time, its threads as fibers on their own stacks.
#include "runtime.h"
#include <stdlib.h>
#include <sys/mman.h>

#if defined(__x86_64__)
asm(".text\n.globl msl_switch\n.hidden msl_switch\n.type msl_switch,@function\nmsl_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n");
enum { savedWords = 6 };
#elif defined(__aarch64__)
asm(".text\n.globl msl_switch\n.hidden msl_switch\n.type msl_switch,@function\nmsl_switch:\n"
    "sub sp,sp,#160\n"
    "stp x29,x30,[sp]\nstp x19,x20,[sp,#16]\nstp x21,x22,[sp,#32]\nstp x23,x24,[sp,#48]\nstp x25,x26,[sp,#64]\nstp x27,x28,[sp,#80]\n"
    "stp d8,d9,[sp,#96]\nstp d10,d11,[sp,#112]\nstp d12,d13,[sp,#128]\nstp d14,d15,[sp,#144]\n"
    "mov x9,sp\nstr x9,[x0]\nmov sp,x1\n"
    "ldp x29,x30,[sp]\nldp x19,x20,[sp,#16]\nldp x21,x22,[sp,#32]\nldp x23,x24,[sp,#48]\nldp x25,x26,[sp,#64]\nldp x27,x28,[sp,#80]\n"
    "ldp d8,d9,[sp,#96]\nldp d10,d11,[sp,#112]\nldp d12,d13,[sp,#128]\nldp d14,d15,[sp,#144]\n"
    "add sp,sp,#160\nret\n");
#else
#error "no fiber switch for this processor"
#endif

namespace msl {

thread_local Fiber *cur;
thread_local State *st;
static thread_local void (*body_)();

static const size_t stackBytes = 64 << 10;

// stacks returns room for n fibers, kept between launches: launches of one library do not overlap.
static char *stacks(unsigned n) {
  static char *kept;
  static unsigned have;
  if (n > have) {
    if (kept) munmap(kept, stackBytes * have);
    kept = (char *)mmap(0, stackBytes * n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    have = n;
  }
  return kept;
}

void yield() { msl_switch(&cur->sp, st->scheduler); }
void groupBarrier() { cur->wait = Group; st->arrived++; yield(); }
void simdBarrier() {
  SimdGroup *s = cur->simd;
  cur->wait = Simd;
  s->arrived++;
  s->mask |= 1u << cur->lane;
  yield();
}
static void entry() {
  body_();
  cur->wait = Done;
  st->live--;
  cur->simd->live--;
  for (;;) yield();
}
void *local(unsigned id, size_t bytes) {
  if (id >= maxLocals) { st->launch->err = FaultLocal; id = maxLocals - 1; }
  if (!st->local[id]) {
    st->local[id] = (char *)aligned_alloc(64, (bytes + 63) / 64 * 64);
    st->localBytes[id] = bytes;
    memset(st->local[id], 0xff, bytes);
    st->launch->local += (bytes + 15) / 16 * 16;
  }
  return st->local[id];
}

static void *initialStack(char *top) {
#if defined(__x86_64__)
  void **sp = (void **)top;
  *--sp = 0; // keeps the stack 16-byte aligned at entry, as after a call
  *--sp = (void *)entry;
  for (int k = 0; k < savedWords; k++) *--sp = 0;
  return sp;
#else
  uint64_t *sp = (uint64_t *)(top - 160);
  memset(sp, 0, 160);
  sp[1] = (uint64_t)entry; // x30, the return address
  return sp;
#endif
}

static void startGroup(State &s, SimdGroup *simd, char *stacks, index3 group) {
  const uint32_t *t = s.launch->threads;
  unsigned simds = (s.n + width - 1) / width;
  memset(simd, 0, simds * sizeof(SimdGroup));
  s.arrived = 0;
  s.live = s.n;
  memset(s.dynamic, 0xff, s.launch->dynamic); // a NaN in every float
  for (unsigned i = 0; i < maxLocals; i++)
    if (s.local[i]) memset(s.local[i], 0xff, s.localBytes[i]);
  for (unsigned i = 0; i < s.n; i++) {
    Fiber *f = &s.fibers[i];
    f->wait = Run;
    f->simd = &simd[i / width];
    f->lane = i % width;
    f->simdIndex = i / width;
    f->linear = i;
    f->simd->live++;
    f->position = {i % t[0], i / t[0] % t[1], i / t[0] / t[1]};
    f->group = group;
    f->sp = initialStack(stacks + stackBytes * (i + 1));
  }
}

// releaseSimd lets the waiting lanes of one simdgroup go where every live one has arrived. The set of active lanes is
// frozen here: a lane that finishes later must still count in the reduction it took part in.
static void releaseSimd(State &s, SimdGroup *simd, unsigned g) {
  SimdGroup &sg = simd[g];
  if (!sg.live || sg.arrived != sg.live) return;
  sg.arrived = 0;
  sg.active = sg.mask;
  sg.mask = 0;
  sg.generation++;
  for (unsigned i = g * width; i < s.n && i < (g + 1) * width; i++)
    if (s.fibers[i].wait == Simd) s.fibers[i].wait = Run;
}

// pass runs every runnable lane of simdgroup g once and reports whether there was one.
static bool pass(State &s, SimdGroup *simd, unsigned g, const unsigned *lanes) {
  bool ran = false;
  for (unsigned k = 0; k < width; k++) {
    unsigned i = g * width + lanes[k];
    if (i >= s.n || s.fibers[i].wait != Run) continue;
    ran = true;
    cur = &s.fibers[i];
    msl_switch(&s.scheduler, cur->sp);
  }
  releaseSimd(s, simd, g);
  return ran;
}

static void shuffle(unsigned *perm, unsigned n, uint32_t &rng) {
  for (unsigned i = n - 1; i > 0; i--) {
    rng ^= rng << 13; rng ^= rng >> 17; rng ^= rng << 5;
    unsigned j = rng % (i + 1), t = perm[i];
    perm[i] = perm[j];
    perm[j] = t;
  }
}

// runGroup runs one threadgroup. Forward and reversed, a simdgroup goes on until it waits for the whole threadgroup,
// so that it is as far ahead of the others as a device may let it be; shuffled, simdgroups and lanes take turns at random.
static void runGroup(State &s, SimdGroup *simd, uint32_t &rng) {
  const unsigned simds = (s.n + width - 1) / width;
  unsigned order[maxSimds], lanes[width];
  for (unsigned g = 0; g < simds; g++) order[g] = s.launch->order == 1 ? simds - 1 - g : g;
  for (unsigned k = 0; k < width; k++) lanes[k] = s.launch->order == 1 ? width - 1 - k : k;
  while (s.live) {
    bool ran = false;
    if (s.launch->order > 1) {
      shuffle(order, simds, rng);
      shuffle(lanes, width, rng);
    }
    for (unsigned g = 0; g < simds; g++)
      while (pass(s, simd, order[g], lanes)) {
        ran = true;
        if (s.launch->order > 1) break;
      }
    if (s.launch->err) return;
    if (s.live && s.arrived == s.live) {
      if (s.live != s.n) { s.launch->err = FaultExited; return; }
      ran = true;
      s.arrived = 0;
      for (unsigned i = 0; i < s.n; i++) s.fibers[i].wait = Run;
    }
    if (s.live && !ran) { s.launch->err = FaultDivergent; return; }
  }
}

void run(Launch *launch, void (*body)()) {
  State s{};
  s.launch = launch;
  s.n = launch->threads[0] * launch->threads[1] * launch->threads[2];
  unsigned simds = (s.n + width - 1) / width;
  s.fibers = (Fiber *)calloc(s.n, sizeof(Fiber));
  SimdGroup *simd = (SimdGroup *)aligned_alloc(64, (simds * sizeof(SimdGroup) + 63) / 64 * 64);
  char *room = stacks(s.n);
  s.dynamic = (char *)aligned_alloc(64, (launch->dynamic + 64) / 64 * 64);
  uint32_t rng = launch->order | 1;
  st = &s;
  body_ = body;
  uint64_t groups = (uint64_t)launch->groups[0] * launch->groups[1] * launch->groups[2];
  for (uint64_t k = 0; k < groups && !launch->err; k++) {
    uint64_t g = launch->order == 0 ? k : groups - 1 - k; // groups promise no order either
    startGroup(s, simd, room, {(unsigned)(g % launch->groups[0]), (unsigned)(g / launch->groups[0] % launch->groups[1]),
                                 (unsigned)(g / launch->groups[0] / launch->groups[1])});
    runGroup(s, simd, rng);
  }
  free(s.fibers);
  free(simd);
  free(s.dynamic);
  for (char *p : s.local) free(p);
  st = 0;
}

} // namespace msl
