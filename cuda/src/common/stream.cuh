// Memory instructions that CUDA C++ does not spell (sm_80 and later).
#pragma once

// loadStreaming16 reads 16 aligned bytes once, leaving L1 to data that is read again (weights). A false live
// reads nothing and leaves w; it is a predicate, not a branch, so that neighbouring loads overlap.
__device__ __forceinline__ void loadStreaming16(const void* p, unsigned (&w)[4], bool live) {
  asm volatile(
      "{\n"
      ".reg .pred live;\n"
      "setp.ne.s32 live, %5, 0;\n"
      "@live ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];\n"
      "}\n"
      : "+r"(w[0]), "+r"(w[1]), "+r"(w[2]), "+r"(w[3])
      : "l"(p), "r"((int)live)
      : "memory");
}

// store16 writes 16 aligned bytes.
__device__ __forceinline__ void store16(void* p, const unsigned (&w)[4]) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
}

// forget makes the compiler take w for new values, so that what it derived from them before is derived again and not
// kept in registers meanwhile.
__device__ __forceinline__ void forget(unsigned (&w)[4]) { asm volatile("" : "+r"(w[0]), "+r"(w[1]), "+r"(w[2]), "+r"(w[3])); }

// copyAsync starts a copy of one element to shared memory; a false live writes zero and reads nothing.
template <class T> __device__ __forceinline__ void copyAsync(T* shared, const T* global, bool live) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "cp.async moves 4, 8 or 16 bytes");
  unsigned to = (unsigned)__cvta_generic_to_shared(shared);
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(sizeof(T)), "r"(live ? (int)sizeof(T) : 0)
               : "memory");
}

// copyAsync16 is the same for 16 aligned bytes, which pass L1 by.
__device__ __forceinline__ void copyAsync16(void* shared, const void* global, bool live) {
  unsigned to = (unsigned)__cvta_generic_to_shared(shared);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(live ? 16 : 0) : "memory");
}

// commitCopies closes the group of this thread's copies since the last call.
__device__ __forceinline__ void commitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// awaitCopies waits until at most Pending of this thread's groups are unfinished.
template <int Pending> __device__ __forceinline__ void awaitCopies() { asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory"); }
