// Register tiles of dot products between the rows of two row-major matrices: A (centroids) and B (tokens).
//
// A block takes 16*RA rows of A and BT*RB rows of B; a thread has RA x RB products, of A rows at+16i and of B rows bt+BT*j.
// Both matrices pass through shared memory in chunks of 128 bytes of each row, kStages chunks deep. Rows of a chunk are 144
// bytes apart there, so that eight neighbouring rows start in eight different groups of banks and 16-byte reads do not
// collide.
//
// F32: each product is one chain of fused multiply-adds over ascending components from +0, the canonical dot product. S8:
// exact sums of products of bytes.
#pragma once
#include "plaid/plaid_mma.cuh"

namespace plaid {

// copyWhole16 is copyAsync16 of bytes that are there: without a size of its own it takes no further instructions.
__device__ __forceinline__ void copyWhole16(unsigned to, const void* from) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

constexpr int kLanes = 32;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kChunk = 128, kPitch = kChunk + 16; // bytes

struct F32 {
  using Sum = float;
  static constexpr int kBytes = 4, kPer = 4; // of an element; elements in 16 bytes

  // add joins 16 bytes of each of N rows of A with those of a row of B. A product by a zero that is not there would turn -0
  // into +0, so that the last components are counted.
  template <int N> static __device__ __forceinline__ void add(Sum (&s)[N], const uint4 (&a)[N], uint4 b, int count) {
    const unsigned w[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
    for (int c = 0; c < 4; c++)
      if (c < count)
#pragma unroll
        for (int i = 0; i < N; i++) {
          unsigned x = c == 0 ? a[i].x : c == 1 ? a[i].y : c == 2 ? a[i].z : a[i].w;
          s[i] = __fmaf_rn(__uint_as_float(x), __uint_as_float(w[c]), s[i]);
        }
  }
};

struct S8 {
  using Sum = int;
  static constexpr int kBytes = 1, kPer = 16;

  template <int N> static __device__ __forceinline__ void add(Sum (&s)[N], const uint4 (&a)[N], uint4 b, int) {
#pragma unroll
    for (int i = 0; i < N; i++) {
      s[i] = __dp4a((int)a[i].x, (int)b.x, s[i]);
      s[i] = __dp4a((int)a[i].y, (int)b.y, s[i]);
      s[i] = __dp4a((int)a[i].z, (int)b.z, s[i]);
      s[i] = __dp4a((int)a[i].w, (int)b.w, s[i]);
    }
  }
};

// Rows is a matrix of which a block reads some rows: row i, or the one that the list names.
struct Rows {
  const unsigned char* base;
  long long rows;
  const unsigned* list = nullptr;
};

template <class E, int RA, int RB, int BT, int Stages> struct Tile {
  using Sum = typename E::Sum;
  static constexpr int kAThreads = 16, kARows = kAThreads * RA, kBRows = BT * RB, kThreads = kAThreads * BT;
  static constexpr int kStage = (kARows + kBRows) * kPitch, kShared = Stages * kStage;
  static constexpr int kElements = kChunk / E::kBytes; // of a row in a chunk

  long long d;
  int chunks;
  bool wide; // rows are whole aligned pieces of 16 bytes
  unsigned char* memory;
  unsigned ring; // its shared address
  int at, bt; // this thread's first rows
  static constexpr int kI = RA, kJ = RB;
  Sum sum[kJ][kI]; // of rows rowOfA(i) and rowOfB(j) of the tile

  __device__ __forceinline__ int rowOfA(int i) const { return at + kAThreads * i; }
  __device__ __forceinline__ int rowOfB(int j) const { return bt + BT * j; }

  __device__ __forceinline__ Tile(unsigned long long a, unsigned long long b, long long d, unsigned char* memory)
      : d(d), memory(memory), ring(sharedAddress(memory)) {
    chunks = (int)((d + kElements - 1) / kElements);
    wide = ((a | b | (unsigned long long)d * E::kBytes) & 15) == 0;
    // A warp is 4 rows of A by 8 of B; eight neighbouring lanes are 2 by 4.
    int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
    at = warp / (BT / 8) * 4 + lane / 16 * 2 + lane % 2;
    bt = warp % (BT / 8) * 8 + lane / 2 % 8;
  }

  // copyRows starts the copy of a chunk of N rows from first; rows and components that are not there become zeros. Loops stay
  // rolled: the registers hold products.
  template <int N> __device__ __forceinline__ void copyRows(unsigned to, const Rows& m, long long first, int chunk) const {
    const long long from = (long long)chunk * kElements, bytes = d * E::kBytes;
    const int left = (int)min(m.rows - first, (long long)N);
    const unsigned char* p = m.base + (m.list ? 0 : first * bytes) + from * E::kBytes;
    const unsigned* list = m.list + first;
    if (wide) {
      constexpr int kPieces = kChunk / 16, kStep = kThreads / kPieces;
      int row = threadIdx.x / kPieces;
      const int piece = threadIdx.x % kPieces * 16, end = from + piece / E::kBytes < d ? left : 0;
      to += row * kPitch + piece, p += piece;
      if (E::kBytes == 4 && N >= 128 && !m.list && left == N && from + kElements <= d) { // all are there: two instructions a copy
        p += row * bytes;
#pragma unroll
        for (int n = 0; n < N / kStep; n++) {
          copyWhole16(to + n * kStep * kPitch, p);
          p += kStep * bytes;
        }
        return;
      }
      if (m.list) {
#pragma unroll 1
        for (int n = 0; n < N / kStep; n++) {
          copyAsync16(to, p + (row < end ? list[row] * bytes : 0), row < end);
          row += kStep, to += kStep * kPitch;
        }
        return;
      }
      p += row * bytes;
#pragma unroll 1
      for (int n = 0; n < N / kStep; n++) {
        copyAsync16(to, p, row < end); // reads nothing beyond the rows
        row += kStep, to += kStep * kPitch, p += kStep * bytes;
      }
    } else {
#pragma unroll 1
      for (int t = threadIdx.x; t < N * kElements; t += kThreads) {
        const int row = t / kElements, e = t % kElements;
        const bool live = row < left && from + e < d;
        const long long at = m.list ? (live ? list[row] : 0) : row;
        copyElement(to + row * kPitch + e * E::kBytes, p + at * bytes + e * E::kBytes, live);
      }
    }
  }

  __device__ __forceinline__ void copyElement(unsigned to, const unsigned char* p, bool live) const {
    if constexpr (E::kBytes == 4)
      copyAsync4(to, p, live);
    else
      memory[to - ring] = live ? *p : 0;
  }

  __device__ __forceinline__ void copy(int slot, const Rows& a, long long aFirst, const Rows& b, long long bFirst, int chunk) const {
    unsigned to = ring + slot * kStage;
    copyRows<kARows>(to, a, aFirst, chunk);
    copyRows<kBRows>(to + kARows * kPitch, b, bFirst, chunk);
  }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int j = 0; j < RB; j++)
#pragma unroll
      for (int i = 0; i < RA; i++) sum[j][i] = 0;
  }

  __device__ __forceinline__ void piece(unsigned a, unsigned b, int count) {
    uint4 x[RA];
#pragma unroll
    for (int i = 0; i < RA; i++) x[i] = loadShared16(a + i * kAThreads * kPitch);
#pragma unroll
    for (int j = 0; j < RB; j++) E::template add<RA>(sum[j], x, loadShared16(b + j * BT * kPitch), count);
  }

  // multiply adds a chunk that lies in a slot.
  __device__ __forceinline__ void multiply(int slot, int chunk) {
    unsigned a = ring + slot * kStage + at * kPitch, b = ring + slot * kStage + (kARows + bt) * kPitch;
    int left = (int)min(d - (long long)chunk * kElements, (long long)kElements);
#pragma unroll 1
    for (; left >= E::kPer; left -= E::kPer, a += 16, b += 16) piece(a, b, E::kPer);
    if (left > 0) piece(a, b, left);
  }

  // run multiplies a block of rows of B from bFirst with the blocks of A numbered [tile, end), and calls done(tile) with each
  // of them in sum. All threads of the block call it; shared memory is free again after a barrier.
  template <class Done> __device__ __forceinline__ void run(const Rows& a, int tile, int end, const Rows& b, long long bFirst, Done&& done) {
    pass(*this, a, tile, end, b, bFirst, done);
  }

  // pass is run for a tile t that multiplies in its own way.
  template <class T, class Done>
  static __device__ __forceinline__ void pass(T& t, const Rows& a, int tile, int end, const Rows& b, long long bFirst, Done& done) {
    int nextTile = tile, nextChunk = 0, slot = 0, nextSlot = 0;
    auto next = [&] {
      if (nextTile < end) {
        t.copy(nextSlot, a, (long long)nextTile * kARows, b, bFirst, nextChunk);
        if (++nextChunk == t.chunks) nextChunk = 0, nextTile++;
      }
      copyCommit();
      if (++nextSlot == Stages) nextSlot = 0;
    };
#pragma unroll 1
    for (int s = 0; s < Stages - 1; s++) next();
#pragma unroll 1
    for (; tile < end; tile++) {
      t.clear();
#pragma unroll 1
      for (int chunk = 0; chunk < t.chunks; chunk++) {
        copyWait<Stages - 2>();
        __syncthreads(); // the chunk is here, and the slot of the one before is free
        next();
        t.multiply(slot, chunk);
        if (++slot == Stages) slot = 0;
      }
      done(tile);
    }
  }
};

// ByteTile is a tile of 128 rows of A on tensor cores: a warp has 32 of them and up to 64 of B.
template <class Base> struct ByteTile : Base {
  using Base::ring, Base::kARows, Base::kBRows;
  static constexpr int kWarpB = kBRows < 64 ? kBRows : 64, kWarpsB = kBRows / kWarpB;
  static_assert(kARows == 128 && Base::kThreads == 4 * kWarpsB * kLanes, "four warps along A");
  static constexpr int kI = 4, kJ = kWarpB / 4;
  int sum[kJ][kI];
  int lane, warpA, warpB;

  __device__ __forceinline__ ByteTile(unsigned long long a, unsigned long long b, long long d, unsigned char* memory) : Base(a, b, d, memory) {
    const int warp = threadIdx.x / kLanes;
    lane = threadIdx.x % kLanes, warpA = warp / kWarpsB * 32, warpB = warp % kWarpsB * kWarpB;
  }

  __device__ __forceinline__ int rowOfA(int i) const { return warpA + i * 8 + lane / 4; }
  __device__ __forceinline__ int rowOfB(int j) const { return warpB + j / 2 * 8 + lane % 4 * 2 + j % 2; }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int j = 0; j < kJ; j++)
#pragma unroll
      for (int i = 0; i < kI; i++) sum[j][i] = 0;
  }

  __device__ __forceinline__ void multiply(int slot, int) {
    const unsigned a = ring + slot * Base::kStage + (warpA + lane % 16) * kPitch + lane / 16 * 16;
    const unsigned b = ring + slot * Base::kStage + (kARows + warpB + lane / 16 * 8 + lane % 8) * kPitch + lane / 8 % 2 * 16;
#pragma unroll
    for (int k = 0; k < kChunk / 32; k++) {
      unsigned x[2][4];
#pragma unroll
      for (int m = 0; m < 2; m++) loadMatrices4(x[m], a + m * 16 * kPitch + k * 32);
#pragma unroll
      for (int n = 0; n < kWarpB / 16; n++) {
        unsigned y[4];
        loadMatrices4(y, b + n * 16 * kPitch + k * 32);
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
          for (int h = 0; h < 2; h++) {
            // Rows l/4 and l/4+8, columns 2(l%4) and the next.
            int c[4] = {sum[n * 4 + h * 2][m * 2], sum[n * 4 + h * 2 + 1][m * 2], sum[n * 4 + h * 2][m * 2 + 1], sum[n * 4 + h * 2 + 1][m * 2 + 1]};
            mmaS8(c, x[m], y[h * 2], y[h * 2 + 1]);
            sum[n * 4 + h * 2][m * 2] = c[0], sum[n * 4 + h * 2 + 1][m * 2] = c[1];
            sum[n * 4 + h * 2][m * 2 + 1] = c[2], sum[n * 4 + h * 2 + 1][m * 2 + 1] = c[3];
          }
      }
    }
  }

  template <class Done> __device__ __forceinline__ void run(const Rows& a, int tile, int end, const Rows& b, long long bFirst, Done&& done) {
    Base::pass(*this, a, tile, end, b, bFirst, done);
  }
};

}  // namespace plaid
