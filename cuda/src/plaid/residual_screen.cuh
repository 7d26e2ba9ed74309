// What the bodies that start from centroid scores share. A block of four warps takes documents one after the other; in each
// round of a document a warp has 16 of 64 tokens. Of the products, lane l has tokens l/4 and l/4+8 with query tokens 8(l%4) ..
// 8(l%4)+7, so that it reads neighbouring centroid scores; maxima stay in registers until the document ends.
//
// Rounds are a pipeline: packed words and inverse norms of round i+2 and centroid scores of round i+1, whose codes have come by
// then, are on their way to shared memory while round i is multiplied. Each thread copies what it will read itself, so that
// no barrier orders them.
#pragma once
#include "common/async.cuh"
#include "common/order.cuh"
#include "plaid/plaid_listing.cuh"

namespace plaid {

constexpr int kScreenWarps = 4, kScreenThreads = kScreenWarps * kLanes;
constexpr int kScreenTokens = 16, kScreenRound = kScreenWarps * kScreenTokens;
constexpr int kScreenPlaces = 128; // whose documents a block looks up at a time
constexpr int kWordSlots = 4, kScoreSlots = 2;

struct ScreenState {
  long long lo[kScreenPlaces];
  int n[kScreenPlaces]; // tokens
  float best[2][kScreenWarps][kLanes];
};

// lookUp brings the documents of places [e0, e0+places) of query i to shared memory.
template <class Args> __device__ __forceinline__ void lookUp(const Args& a, const Faults& f, ScreenState& s, long long i, long long e0, int places) {
  __syncthreads(); // those before have been read
  if ((int)threadIdx.x < places) {
    const Span t = entryTokens(a, f, i, e0 + threadIdx.x, true);
    s.lo[threadIdx.x] = t.lo, s.n[threadIdx.x] = (int)t.size();
  }
  __syncthreads();
}

__device__ __forceinline__ void storeShared16(unsigned at, uint4 v) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

__device__ __forceinline__ void storeSharedOne(unsigned at, unsigned short v) { asm volatile("st.shared.u16 [%0], %1;" ::"r"(at), "h"(v) : "memory"); }
__device__ __forceinline__ void storeSharedOne(unsigned at, float v) { asm volatile("st.shared.f32 [%0], %1;" ::"r"(at), "f"(v) : "memory"); }

// leaveMaxima joins the maxima of a warp's lanes and leaves them in s.best[turn], by query token.
__device__ __forceinline__ void leaveMaxima(float (&m)[8], ScreenState& s, int turn) {
  const int lane = threadIdx.x % kLanes;
  // Each step gives half of what is left away and takes the other half.
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const bool upper = lane & 16;
    const float give = upper ? m[i] : m[i + 4], keep = upper ? m[i + 4] : m[i];
    m[i] = maxNaN(keep, __shfl_xor_sync(kAllLanes, give, 16));
  }
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const bool upper = lane & 8;
    const float give = upper ? m[i] : m[i + 2], keep = upper ? m[i + 2] : m[i];
    m[i] = maxNaN(keep, __shfl_xor_sync(kAllLanes, give, 8));
  }
  const bool upper = lane & 4;
  const float give = upper ? m[0] : m[1], keep = upper ? m[1] : m[0];
  const float best = maxNaN(keep, __shfl_xor_sync(kAllLanes, give, 4));
  s.best[turn][threadIdx.x / kLanes][lane % 4 * 8 + (lane & 16 ? 4 : 0) + (lane & 8 ? 2 : 0) + (lane & 4 ? 1 : 0)] = best;
}

// joinedMaximum is query token lane's maximum over the warps, after a barrier.
__device__ __forceinline__ float joinedMaximum(const ScreenState& s, int turn) {
  const int lane = threadIdx.x % kLanes;
  float best = s.best[turn][0][lane];
#pragma unroll
  for (int w = 1; w < kScreenWarps; w++) best = maxNaN(best, s.best[turn][w][lane]);
  return best;
}

// Rounds walks the rounds of the places looked up, of which each has at least one, and knows where a lane's tokens lie.
template <class Args> struct Rounds {
  int place, left; // rounds of the place, this one included
  int tokens;      // of the document from the warp's first on; not positive: none
  const int* code; // of the lane's first token
  const unsigned char* packed;
  const float* inverse;

  __device__ __forceinline__ void open(const Args& a, const ScreenState& s, int places) {
    left = 1, tokens = 0;
    if (place >= places) return;
    const int lane = threadIdx.x % kLanes, first = threadIdx.x / kLanes * kScreenTokens, n = s.n[place];
    left = max((n + kScreenRound - 1) / kScreenRound, 1), tokens = n - first;
    const long long u = s.lo[place] + first + lane / 4;
    code = (const int*)a.code + u, packed = (const unsigned char*)a.packed + u * a.rb + lane % 4 * 4, inverse = (const float*)a.inv_norm + u;
  }

  __device__ __forceinline__ void next(const Args& a, const ScreenState& s, int places) {
    if (--left > 0)
      tokens -= kScreenRound, code += kScreenRound, packed += kScreenRound * (int)a.rb, inverse += kScreenRound;
    else
      place++, open(a, s, places);
  }
};

// Item is what a thread remembers of a round on its way.
struct Item {
  int code[2];
  int tokens; // as in Rounds
  bool last;  // round of its place
};

// Screen is the pipeline. Body multiplies and finishes:
//	Store                                  type of a centroid score
//	kWords                                 packed words of a lane and token
//	take(word, inverse, scores, in, all)   scores: shared addresses of eight for each of two tokens
//	finish(place, turn)                    after the barrier; called by all warps
template <class Body, class Args> struct Screen {
  using Store = typename Body::Store;
  static constexpr int kWords = Body::kWords, kScoreBytes = 8 * sizeof(Store);
  static constexpr int kWordBytes = kScreenThreads * 8 * kWords, kInverseBytes = kScreenThreads * 8; // a slot of both tokens
  static constexpr int kShared = kWordSlots * (kWordBytes + kInverseBytes) + kScoreSlots * 2 * kScreenThreads * kScoreBytes;

  const Args& a;
  ScreenState& s;
  Body& body;
  const Faults& faults;
  unsigned dynamic;
  int places;
  // Scores: the first row at the lane's query tokens, elements between rows, query tokens.
  const Store* base;
  unsigned stride; // the binding refuses more
  int rows;
  bool whole; // a lane's eight scores are read at once

  __device__ __forceinline__ unsigned words(int slot) const { return dynamic + (slot % kWordSlots) * kWordBytes + threadIdx.x * 8 * kWords; }
  __device__ __forceinline__ unsigned inverses(int slot) const {
    return dynamic + kWordSlots * kWordBytes + (slot % kWordSlots) * kInverseBytes + threadIdx.x * 8;
  }
  __device__ __forceinline__ unsigned scores(int slot) const {
    return dynamic + kWordSlots * (kWordBytes + kInverseBytes) + (slot % kScoreSlots) * 2 * kScreenThreads * kScoreBytes + threadIdx.x * kScoreBytes;
  }

  // look says where scores are: rows query tokens from the first. They may be read past the query's tokens, up to the end.
  __device__ __forceinline__ void look(const Store* all, long long first, int count, long long end, long long between) {
    const int q = threadIdx.x % 4 * 8;
    base = all + first + q, stride = (unsigned)between, rows = count;
    whole = (unsigned long long)base % 16 == 0 && stride * sizeof(Store) % 16 == 0 && first + q + 8 <= end;
  }

  __device__ __forceinline__ bool has(const Item& x, int h) const { return (int)threadIdx.x % kLanes / 4 + 8 * h < x.tokens; }
  __device__ __forceinline__ bool known(int code) const { return (unsigned)code < (unsigned)a.k; }

  // fetch starts to bring a round: codes to registers, words and inverse norms to a slot.
  __device__ __forceinline__ void fetch(const Rounds<Args>& r, Item& x, int slot) const {
    const int words4 = (int)a.rb / 4;
    x.tokens = r.tokens, x.last = r.left == 1;
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const bool in = has(x, h);
      x.code[h] = in ? r.code[8 * h] : -1;
      const unsigned char* row = r.packed + 8 * h * (int)a.rb;
#pragma unroll
      for (int w = 0; w < kWords; w++)
        if (in && (int)threadIdx.x % 4 + 4 * w < words4) copyAsync4(words(slot) + (h * kWords + w) * 4, row + 16 * w, true);
      if (in && a.inv_norm) copyAsync4(inverses(slot) + 4 * h, r.inverse + 8 * h, true);
    }
  }

  // fetchScores starts to bring the scores of a round whose codes have come.
  __device__ __forceinline__ void fetchScores(const Item& x, int slot) const {
#pragma unroll
    for (int h = 0; h < 2; h++) {
      if (!known(x.code[h])) continue;
      const unsigned to = scores(slot) + h * kScreenThreads * kScoreBytes;
      const Store* from = base + (unsigned long long)(unsigned)x.code[h] * stride;
      if (!whole) {
        copySome(to, from, rows);
        continue;
      }
#pragma unroll
      for (int i = 0; i < kScoreBytes; i += 16) copyAsync16(to + i, (const unsigned char*)from + i, true);
    }
  }

  // copySome reads scores one by one, where they are not aligned or end.
  static __device__ __forceinline__ void copySome(unsigned to, const Store* from, int rows) {
#pragma unroll 1
    for (int i = 0; i < min(8, rows - (int)threadIdx.x % 4 * 8); i++) storeSharedOne(to + i * sizeof(Store), from[i]);
  }

  // take reports whether an unknown code was met.
  __device__ __forceinline__ bool take(const Item& x, int slot) {
    const bool in[2] = {has(x, 0) && known(x.code[0]), has(x, 1) && known(x.code[1])};
    const bool all = __all_sync(kAllLanes, in[0] && in[1]);
    float inverse[2] = {1.0f, 1.0f};
    if (a.inv_norm) {
      const uint2 v = loadShared8(inverses(slot));
      inverse[0] = __uint_as_float(v.x), inverse[1] = __uint_as_float(v.y);
    }
    unsigned word[2 * kWords];
    if constexpr (kWords == 1) {
      const uint2 v = loadShared8(words(slot));
      word[0] = v.x, word[1] = v.y;
    } else
#pragma unroll
      for (int i = 0; i < 2 * kWords; i += 4) {
        const uint4 v = loadShared16(words(slot) + 4 * i);
        word[i] = v.x, word[i + 1] = v.y, word[i + 2] = v.z, word[i + 3] = v.w;
      }
    body.take(word, inverse, scores(slot), in, all);
    return !all && ((has(x, 0) && !in[0]) || (has(x, 1) && !in[1]));
  }

  static __device__ __forceinline__ uint2 loadShared8(unsigned at) {
    uint2 v;
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "r"(at) : "memory");
    return v;
  }

  // report names the unknown codes among n tokens from u, which are rare, by reading them again.
  static __device__ __forceinline__ void report(const Args& a, const Faults& faults, long long u, int n) {
#pragma unroll 1
    for (int i = threadIdx.x % kLanes; i < n; i += kLanes)
      if ((unsigned)((const int*)a.code)[u + i] >= (unsigned)a.k) faults.badCode(u + i);
  }

  // run goes through the places that were looked up.
  __device__ __forceinline__ void run(int& turn) {
    Rounds<Args> ahead;
    ahead.place = 0, ahead.open(a, s, places);
    Item now, next, later;
    fetch(ahead, now, 0);
    ahead.next(a, s, places);
    fetch(ahead, next, 1);
    fetchScores(now, 0);
    copyCommit();
    bool strange = false; // an unknown code was met
    int place = 0;
    for (int i = 0; place < places; i++) {
      ahead.next(a, s, places);
      fetch(ahead, later, i + 2);
      fetchScores(next, i + 1);
      copyCommit();
      copyWait<1>(); // this round's scores came with the group before, its words with the one before that
      if (now.tokens > 0) strange |= take(now, i);
      if (now.last) {
        body.leave(turn);
        __syncthreads(); // the next document writes the other half
        body.finish(place, turn);
        if (__any_sync(kAllLanes, strange)) report(a, faults, s.lo[place], s.n[place]), strange = false;
        place++, turn ^= 1;
      }
      now = next, next = later;
    }
    copyWait<0>();
  }
};

}  // namespace plaid
