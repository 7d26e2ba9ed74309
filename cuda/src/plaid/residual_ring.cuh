// A warp's way to documents whose rows of packed words fill its lanes: segments of up to two tiles come through a ring in shared
// memory, so that a tile takes few instructions and no registers while it is on its way.
#pragma once
#include "common/async.cuh"
#include "plaid/plaid_listing.cuh"

namespace plaid {

// pin has a value computed once.
__device__ __forceinline__ void pin(unsigned& v) { asm volatile("" : "+r"(v)); }
template <class T> __device__ __forceinline__ void pin(const T*& p) { asm volatile("" : "+l"(p)); }

__device__ __forceinline__ unsigned loadShared(unsigned address) {
  unsigned v;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(address));
  return v;
}
template <int N> __device__ __forceinline__ void loadShared(unsigned address, unsigned (&v)[N]) {
  if constexpr (N == 1) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v[0]) : "r"(address));
  if constexpr (N == 2) asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "r"(address));
  if constexpr (N == 4) asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(address));
}
__device__ __forceinline__ void storeShared(unsigned address, unsigned v) { asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(v) : "memory"); }

// Ring has segments: packed words, codes and inverse norms of 32 tokens, the mark, the first token. Tokens past the end repeat the
// last one.
template <int Words, class State> struct Ring {
  static constexpr int kSlots = 3, kTokens = 32, kRow = 16 * Words, kCodes = kTokens * kRow, kInverses = kCodes + 4 * kTokens, kMark = kInverses + 4 * kTokens;
  static constexpr int kSlot = kMark + 16, kBytes = kSlots * kSlot;
  // Of a mark: the document ends here for the warp; there are two tiles; no code is known; above, the place.
  static constexpr unsigned kLast = 1, kTwo = 2, kNone = 4, kPlace = 8;

  const State& s;
  unsigned first;   // slot
  int tiles, at, left; // not asked for; place of the next, its tokens
  unsigned token;
  const unsigned char* words; // at the lane's 16 bytes of rows
  const int* code;
  const float* inverse;
  unsigned row, stored; // of the lane in a copy; whether there are inverse norms

  template <class Args> __device__ __forceinline__ Ring(const Args& a, const State& s, unsigned first, int tiles, int at, int before)
      : s(s), first(first), tiles(tiles), at(at), left(s.n[at] - before), token(s.lo[at] + before), words((const unsigned char*)a.packed + lane() % Words * 16),
        code((const int*)a.code), inverse((const float*)a.inv_norm), row(lane() / Words), stored(a.inv_norm != 0) {
    pin(words), pin(row), pin(stored);
#pragma unroll 1
    for (unsigned slot = first; slot < first + kBytes; slot += kSlot) {
      if (!stored) storeShared(slot + kInverses + 4 * lane(), 0x3f800000u);
      ask(slot);
    }
  }

  static __device__ __forceinline__ unsigned lane() { return threadIdx.x % kLanes; }
  __device__ __forceinline__ unsigned after(unsigned slot) const { return slot == first + kBytes - kSlot ? first : slot + kSlot; }

  // ask starts to bring the next segment.
  __device__ __forceinline__ void ask(unsigned slot) {
    if (tiles > 0) {
      const unsigned l = lane(), n = min(left, tiles > 1 ? kTokens : kTokens / 2), own = token + min(l, n - 1);
#pragma unroll
      for (unsigned i = 0; i < Words; i++)
        copyAsync16(slot + l * 16 + i * 512, words + (unsigned long long)(token + min(row + i * (kLanes / Words), n - 1)) * kRow, true);
      copyAsync4(slot + kCodes + 4 * l, code + own, true);
      if (stored) copyAsync4(slot + kInverses + 4 * l, inverse + own, true);
      tiles -= n > kTokens / 2 ? 2 : 1;
      const unsigned mark = (unsigned)at * kPlace | (n > kTokens / 2 ? kTwo : 0) | (left <= kTokens || tiles == 0 ? kLast : 0);
      storeShared(slot + kMark, mark), storeShared(slot + kMark + 4, token);
      token += kTokens, left -= kTokens;
      if (left <= 0 && tiles > 0) {
        do at++;
        while (s.n[at] == 0);
        token = s.lo[at], left = s.n[at];
      }
    }
    copyCommit();
  }

  // check looks for codes that are not known, and puts another token in the place of theirs.
  __device__ __forceinline__ void check(unsigned slot, long long k, const Faults& faults) const {
    const bool in = loadShared(slot + kCodes + 4 * lane()) < (unsigned)k;
    if (!__all_sync(kAllLanes, in)) replace(slot, in, faults);
  }
  __device__ __noinline__ void replace(unsigned slot, bool in, const Faults& faults) const {
    const unsigned l = lane(), good = __ballot_sync(kAllLanes, in);
    if (!in) {
      faults.badCode(loadShared(slot + kMark + 4) + l);
      if (good != 0) {
        const unsigned from = __ffs(good) - 1;
        for (unsigned i = 0; i < kRow; i += 4) storeShared(slot + l * kRow + i, loadShared(slot + from * kRow + i));
        storeShared(slot + kCodes + 4 * l, loadShared(slot + kCodes + 4 * from)), storeShared(slot + kInverses + 4 * l, loadShared(slot + kInverses + 4 * from));
      } else
        storeShared(slot + kCodes + 4 * l, 0);
    }
    if (good == 0 && l == 0) storeShared(slot + kMark, loadShared(slot + kMark) | kNone);
    __syncwarp();
  }
};

}  // namespace plaid
