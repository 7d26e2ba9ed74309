// Bodies of centroid_scores and centroid_scores_int8: scores of centroids and query tokens, and each token's best p cells.
//
// A block scores a tile of centroids (A) and tokens (B) in registers. Before the scores leave, each warp finds every token's
// largest score among its 32 (narrow tiles: 16) centroids, a group. Per token, a block then takes the p-th largest of 32
// or 128 maxima of groups: at least p scores are that large, so whatever is among the first p lies in a group whose maximum is, and
// only those groups are read again. Ties beyond what fits, and large p, take slower exact ways. Nothing depends on the order
// of blocks.
#pragma once
#include <cuda_fp16.h>

#include "common/early.cuh"
#include "common/rank.cuh"
#include "plaid/plaid_tile.cuh"

namespace plaid {

// Shapes of tiles.
template <class E> struct Shapes {
  using Wide = Tile<E, 8, 8, 16, 2>;  // 128 centroids by 128 tokens
  using Tall = Tile<E, 8, 4, 8, 2>;   // 128 by 32: many centroids
  using Narrow = Tile<E, 4, 4, 8, 4>; // 64 by 32
};
template <> struct Shapes<S8> {
  using Wide = ByteTile<Tile<S8, 8, 8, 16, 2>>;
  using Tall = ByteTile<Tile<S8, 8, 4, 8, 2>>;
  using Narrow = Tile<S8, 4, 4, 8, 4>;
};
constexpr int kWideShared = Shapes<F32>::Wide::kShared, kTallShared = Shapes<F32>::Tall::kShared, kNarrowShared = Shapes<F32>::Narrow::kShared;

// cuda/centroid_scores.go says the same.
constexpr int kFewTokens = 64;       // up to here tiles are narrow, or tall
constexpr int kManyCentroids = 24576; // from here on they are tall

constexpr int kGroupsOfTile = 4;

// A group is the centroids of a tile that one row of warps has: of Tile, four neighbours in each sixteen; of ByteTile, 32 in
// a row. The lanes that share a token there reduce across distances Across.
template <class T> struct GroupOf {
  static constexpr int kMembers = T::kARows / kGroupsOfTile;
  static __device__ __forceinline__ int member(int g, int m) { return g * 4 + m % 4 + m / 4 * 16; }
  static __device__ __forceinline__ float reduce(float v) {
    v = fmaxf(v, __shfl_xor_sync(kAllLanes, v, 1));
    return fmaxf(v, __shfl_xor_sync(kAllLanes, v, 16));
  }
  static __device__ __forceinline__ bool leads(int lane) { return (lane & 17) == 0; }
  static __device__ __forceinline__ int index(int warp) { return warp * (kLanes / 4) / (T::kThreads / T::kAThreads); }
};
template <class Base> struct GroupOf<ByteTile<Base>> {
  static constexpr int kMembers = 32;
  static __device__ __forceinline__ int member(int g, int m) { return g * 32 + m; }
  static __device__ __forceinline__ float reduce(float v) {
    v = fmaxf(v, __shfl_xor_sync(kAllLanes, v, 4));
    v = fmaxf(v, __shfl_xor_sync(kAllLanes, v, 8));
    return fmaxf(v, __shfl_xor_sync(kAllLanes, v, 16));
  }
  static __device__ __forceinline__ bool leads(int lane) { return lane < 4; }
  static __device__ __forceinline__ int index(int warp) { return warp / ByteTile<Base>::kWarpsB; }
};

// Groups is how the centroids of a launch fall into groups.
template <class E> struct Groups {
  using Large = typename Shapes<E>::Tall; // and Wide: alike
  using Small = typename Shapes<E>::Narrow;
  int rows, members; // of a tile, of a group
  long long count;   // of groups

  template <class Args> __device__ __forceinline__ explicit Groups(const Args& a) {
    rows = a.tq > kFewTokens || a.k >= kManyCentroids ? Large::kARows : Small::kARows;
    members = rows / kGroupsOfTile;
    count = (a.k + rows - 1) / rows * kGroupsOfTile;
  }
  // centroid is member m of group g.
  __device__ __forceinline__ long long centroid(unsigned g, int m) const {
    const int i = (int)(g % kGroupsOfTile);
    return (long long)(g / kGroupsOfTile) * rows + (rows == Large::kARows ? GroupOf<Large>::member(i, m) : GroupOf<Small>::member(i, m));
  }
};

template <class Args> __device__ __forceinline__ bool selects(const Args& a) { return (a.cell || a.cell_score) && a.p > 0; }

// Scratch holds a key per token and group, then the scores where the caller has no place for them.
template <class Args> __device__ __forceinline__ unsigned* keysOf(const Args& a) { return (unsigned*)a.scratch; }

// scoresOf is where select finds the score of centroid c and token t: at c*stride + t.
template <class E, class Args> __device__ __forceinline__ float* scoresOf(const Args& a, long long& stride) {
  stride = a.score ? a.score_stride : a.tq;
  return a.score ? (float*)a.score : (float*)(keysOf(a) + a.tq * Groups<E>(a).count);
}

// Value makes a score of a sum. F32: it is one.
template <class E> struct Value {
  template <class Args> __device__ __forceinline__ void tokens(const Args&, long long, int) {}
  template <class Args> __device__ __forceinline__ float of(const Args&, long long, float sum) const { return sum; }
};

// S8: the exact sum as f32 times the product of the scales, each step rounded once.
template <> struct Value<S8> {
  float scale;
  template <class Args> __device__ __forceinline__ void tokens(const Args& a, long long t, int live) { scale = live ? ((const float*)a.query_scale)[t] : 0.0f; }
  template <class Args> __device__ __forceinline__ float of(const Args& a, long long c, int sum) const {
    return __fmul_rn(__int2float_rn(sum), __fmul_rn(scale, ((const float*)a.centroid_scale)[c]));
  }
};

// storeWhole writes the scores of a tile, its number n along the centroids, of which every centroid and token is there: a row of
// scores is one address, from which its tokens lie at distances known beforehand.
template <class T, class E, class Args> __device__ __forceinline__ void storeWhole(const Args& a, const T& tile, int n, long long first) {
  using Group = GroupOf<T>;
  const bool select = selects(a);
  const long long c = (long long)n * T::kARows + tile.rowOfA(0), t = first + tile.rowOfB(0);
  float v[T::kJ][T::kI];
#pragma unroll
  for (int j = 0; j < T::kJ; j++) {
    Value<E> value;
    value.tokens(a, t + tile.rowOfB(j) - tile.rowOfB(0), true);
#pragma unroll
    for (int i = 0; i < T::kI; i++) v[j][i] = value.of(a, c + tile.rowOfA(i) - tile.rowOfA(0), tile.sum[j][i]);
  }
  if (a.score || select) {
    long long stride;
    float* to = scoresOf<E>(a, stride) + t;
#pragma unroll
    for (int i = 0; i < T::kI; i++) {
      float* row = to + (c + tile.rowOfA(i) - tile.rowOfA(0)) * stride;
#pragma unroll
      for (int j = 0; j < T::kJ; j++) row[tile.rowOfB(j) - tile.rowOfB(0)] = v[j][i];
    }
  }
  if (a.score_half)
#pragma unroll
    for (int i = 0; i < T::kI; i++) {
      __half* row = (__half*)a.score_half + (c + tile.rowOfA(i) - tile.rowOfA(0)) * a.score_half_stride + t;
#pragma unroll
      for (int j = 0; j < T::kJ; j++) row[tile.rowOfB(j) - tile.rowOfB(0)] = __float2half_rn(v[j][i]);
    }
  if (select) {
    const long long groups = Groups<E>(a).count;
    unsigned* keys = keysOf(a) + t * groups + (long long)n * kGroupsOfTile + Group::index(threadIdx.x / kLanes);
#pragma unroll
    for (int j = 0; j < T::kJ; j++) {
      float most = v[j][0];
#pragma unroll
      for (int i = 1; i < T::kI; i++) most = fmaxf(most, v[j][i]); // NaN yields
      most = Group::reduce(most);
      if (Group::leads(threadIdx.x % kLanes)) keys[(tile.rowOfB(j) - tile.rowOfB(0)) * groups] = rankKey(most);
    }
  }
}

// scores is the body of the first stages. grid (tiles of centroids, tiles of tokens).
template <class T, class E, class Args> __device__ __forceinline__ void scores(const Args& a, unsigned char* shared) {
  using Group = GroupOf<T>;
  awaitEarlier();
  letNext();
  T tile(a.centroid, a.query, a.d, shared);
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  for (int block = blockIdx.y; block < (a.tq + T::kBRows - 1) / T::kBRows; block += gridDim.y) {
    const long long first = (long long)block * T::kBRows;
    __syncthreads(); // shared memory is free
    tile.run({(const unsigned char*)a.centroid, a.k}, blockIdx.x, blockIdx.x + 1, {(const unsigned char*)a.query, a.tq}, first, [&](int n) {
      // The same for the block. Products of bytes have scales to wait for, and no registers left.
      if (E::kBytes == 4 && first + T::kBRows <= a.tq && ((long long)n + 1) * T::kARows <= a.k) {
        storeWhole<T, E>(a, tile, n, first);
        return;
      }
      const bool select = selects(a);
      const long long groups = Groups<E>(a).count;
      long long stride;
      float* kept = scoresOf<E>(a, stride);
#pragma unroll
      for (int j = 0; j < T::kJ; j++) {
        const long long t = first + tile.rowOfB(j);
        const bool live = t < a.tq;
        Value<E> value;
        value.tokens(a, t, live);
        float most = __uint_as_float(0x7fc00000u);
#pragma unroll
        for (int i = 0; i < T::kI; i++) {
          const long long c = (long long)n * T::kARows + tile.rowOfA(i);
          if (!live || c >= a.k) continue;
          const float v = value.of(a, c, tile.sum[j][i]);
          if (a.score || select) kept[c * stride + t] = v;
          if (a.score_half) ((__half*)a.score_half)[c * a.score_half_stride + t] = __float2half_rn(v);
          most = fmaxf(most, v); // NaN yields
        }
        if (select) { // the same for the block
          most = Group::reduce(most);
          if (live && Group::leads(lane)) keysOf(a)[t * groups + (long long)n * kGroupsOfTile + Group::index(warp)] = rankKey(most);
        }
      }
    });
  }
}

constexpr int kSelectThreads = 256;
constexpr int kListed = 1024; // groups that are read again
constexpr int kFound = 2048;  // pairs that a block ranks
constexpr int kMaxima = kSelectThreads / 2;
constexpr int kFew = 16; // cells for which 32 maxima leave few pairs above the least

struct Selection {
  unsigned long long found[kFound];
  alignas(16) unsigned maxima[kMaxima];
  unsigned listed[kListed], bins[256];
  unsigned groups, pairs, least;
  unsigned long long prefix;
  long long want;
};

// Column is a token's scores as pairs that order as cells do.
struct Column {
  const float* s;
  long long stride;
  __device__ __forceinline__ unsigned long long operator()(long long c) const { return rankPair(s[c * stride], (unsigned)c); }
};

// put writes the cell of a pair at its place.
template <class Args> __device__ __forceinline__ void put(const Args& a, const Column& col, long long t, long long place, unsigned long long pair) {
  const unsigned c = rankIndex(pair);
  if (a.cell) ((int*)a.cell)[t * a.p + place] = (int)c;
  if (!a.cell_score) return;
  const unsigned key = (unsigned)(pair >> 32); // a NaN's or a zero's does not tell all
  ((float*)a.cell_score)[t * a.p + place] = key == 0 || key == rankKey(0.0f) ? col.s[c * col.stride] : rankScore(key);
}

// leastOfFew is leastKey for p up to kFew: of the maxima of 32 times eight threads.
__device__ __forceinline__ unsigned leastOfFew(Selection& sh, unsigned mine, int p) {
#pragma unroll
  for (int o = 1; o < kSelectThreads / kLanes; o *= 2) mine = max(mine, __shfl_xor_sync(kAllLanes, mine, o));
  if (threadIdx.x % (kSelectThreads / kLanes) == 0) sh.maxima[threadIdx.x / (kSelectThreads / kLanes)] = mine;
  if (threadIdx.x == 0) sh.groups = 0, sh.pairs = 0;
  __syncthreads();
  const int lane = threadIdx.x % kLanes;
  mine = sh.maxima[lane];
  int before = 0;
#pragma unroll
  for (int i = 0; i < kLanes; i += 4) {
    const uint4 o = *(const uint4*)(sh.maxima + i);
    before += o.x > mine || (o.x == mine && i < lane);
    before += o.y > mine || (o.y == mine && i + 1 < lane);
    before += o.z > mine || (o.z == mine && i + 2 < lane);
    before += o.w > mine || (o.w == mine && i + 3 < lane);
  }
  return __shfl_sync(kAllLanes, mine, __ffs(__ballot_sync(kAllLanes, before == p - 1)) - 1);
}

// leastKey is the p-th largest of the pairs of threads' maxima: p scores of the token at least have a key as large. 0 if p is
// larger than their number.
__device__ __forceinline__ unsigned leastKey(Selection& sh, unsigned mine, long long p) {
  mine = max(mine, __shfl_xor_sync(kAllLanes, mine, 1));
  const int place = threadIdx.x / 2, half = threadIdx.x % 2 * (kMaxima / 2);
  if (half == 0) sh.maxima[place] = mine;
  if (threadIdx.x == 0) sh.least = 0, sh.groups = 0, sh.pairs = 0;
  __syncthreads();
  int before = 0;
#pragma unroll
  for (int i = half; i < half + kMaxima / 2; i += 4) {
    const uint4 o = *(const uint4*)(sh.maxima + i);
    before += o.x > mine || (o.x == mine && i < place);
    before += o.y > mine || (o.y == mine && i + 1 < place);
    before += o.z > mine || (o.z == mine && i + 2 < place);
    before += o.w > mine || (o.w == mine && i + 3 < place);
  }
  before += __shfl_xor_sync(kAllLanes, before, 1);
  if (before == p - 1) sh.least = mine; // one pair of threads
  __syncthreads();
  return sh.least;
}

// Held is the keys of a thread, four groups in a row at a time; the first ones stay in registers.
struct Held {
  static constexpr int kQuads = 2;
  const uint4* keys;
  int quads; // of a token
  uint4 first[kQuads];

  // load returns the largest key of the thread.
  __device__ __forceinline__ unsigned load(const unsigned* of, long long count) {
    keys = (const uint4*)of, quads = (int)(count / kGroupsOfTile);
    unsigned most = 0;
#pragma unroll
    for (int j = 0; j < kQuads; j++) {
      const int i = threadIdx.x + j * kSelectThreads;
      first[j] = make_uint4(0, 0, 0, 0);
      if (i < quads) first[j] = keys[i];
    }
#pragma unroll
    for (int j = 0; j < kQuads; j++) most = max(most, largest(first[j]));
#pragma unroll 4
    for (int i = threadIdx.x + kQuads * kSelectThreads; i < quads; i += kSelectThreads) most = max(most, largest(keys[i]));
    return most;
  }
  static __device__ __forceinline__ unsigned largest(uint4 k) { return max(max(k.x, k.y), max(k.z, k.w)); }

  static __device__ __forceinline__ void list(uint4 k, int i, unsigned least, Selection& sh) {
    if (largest(k) < least) return;
    const unsigned key[4] = {k.x, k.y, k.z, k.w};
#pragma unroll
    for (int o = 0; o < 4; o++)
      if (key[o] >= least) {
        const unsigned at = atomicAdd(&sh.groups, 1u);
        if (at < kListed) sh.listed[at] = 4 * i + o;
      }
  }
  // list names the groups with keys of least or more.
  __device__ __forceinline__ void list(unsigned least, Selection& sh) const {
#pragma unroll
    for (int j = 0; j < kQuads; j++) {
      const int i = threadIdx.x + j * kSelectThreads;
      if (i < quads) list(first[j], i, least, sh);
    }
#pragma unroll 1
    for (int i = threadIdx.x + kQuads * kSelectThreads; i < quads; i += kSelectThreads) list(keys[i], i, least, sh);
  }
};

// gather collects the pairs with keys of least or more. It returns false, for the whole block, where they do not fit.
template <class E, class Args> __device__ __forceinline__ bool gather(const Args& a, const Column& col, const Held& held, const Groups<E>& g, unsigned least, Selection& sh) {
  held.list(least, sh);
  __syncthreads();
  if (sh.groups > kListed) return false;
  const int scores = sh.groups * g.members;
  for (int i = threadIdx.x; i < scores; i += kSelectThreads) {
    const long long c = g.centroid(sh.listed[i / g.members], i % g.members);
    if (c >= a.k) continue;
    const unsigned long long pair = col(c);
    if ((unsigned)(pair >> 32) < least) continue;
    unsigned at = atomicAdd(&sh.pairs, 1u);
    if (at < kFound) sh.found[at] = pair;
  }
  __syncthreads();
  return sh.pairs <= kFound;
}

// nthPair finds the p-th largest pair by its bytes from the top.
template <class Args> __device__ __forceinline__ unsigned long long nthPair(const Args& a, const Column& col, Selection& sh) {
  __syncthreads();
  if (threadIdx.x == 0) sh.prefix = 0, sh.want = a.p, sh.pairs = 0;
  for (int shift = 56; shift >= 0; shift -= 8) {
    sh.bins[threadIdx.x] = 0;
    __syncthreads();
    const unsigned long long prefix = sh.prefix;
    for (long long c = threadIdx.x; c < a.k; c += kSelectThreads) {
      const unsigned long long pair = col(c);
      if (shift == 56 || pair >> (shift + 8) == prefix) atomicAdd(&sh.bins[pair >> shift & 255], 1u);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      long long want = sh.want;
      int bin = 255;
      for (; bin > 0 && want > sh.bins[bin]; bin--) want -= sh.bins[bin];
      sh.prefix = prefix << 8 | bin, sh.want = want;
    }
    __syncthreads();
  }
  return sh.prefix;
}

// exact collects the first p pairs whatever they are; p <= kFound.
template <class Args> __device__ __forceinline__ void exact(const Args& a, const Column& col, Selection& sh) {
  const unsigned long long least = nthPair(a, col, sh);
  for (long long c = threadIdx.x; c < a.k; c += kSelectThreads) {
    const unsigned long long pair = col(c);
    if (pair >= least) sh.found[atomicAdd(&sh.pairs, 1u)] = pair; // p of them, since no two are equal
  }
  __syncthreads();
}

// select is the body of the second stage: a block of 256 threads per token.
template <class E, class Args> __device__ __forceinline__ void select(const Args& a, Selection& sh) {
  const Groups<E> g(a);
  Column col;
  const float* s = scoresOf<E>(a, col.stride);
  awaitEarlier();
  letNext();
  for (long long t = blockIdx.x; t < a.tq; t += gridDim.x) {
    col.s = s + t;
    if (a.p > kFound) { // each pair counts those before it
      for (long long c = threadIdx.x; c < a.k; c += kSelectThreads) {
        const unsigned long long mine = col(c);
        long long before = 0;
        for (long long o = 0; o < a.k && before < a.p; o++) before += col(o) > mine;
        if (before < a.p) put(a, col, t, before, mine);
      }
      continue;
    }
    __syncthreads(); // the token before is done
    Held held;
    const unsigned most = held.load(keysOf(a) + t * g.count, g.count);
    const unsigned least = a.p <= kFew ? leastOfFew(sh, most, (int)a.p) : leastKey(sh, most, a.p);
    if (!gather(a, col, held, g, least, sh)) exact(a, col, sh);
    const int pairs = sh.pairs;
    for (int i = threadIdx.x; i < pairs; i += kSelectThreads) {
      const unsigned long long mine = sh.found[i];
      int before = 0;
#pragma unroll 4
      for (int o = 0; o < pairs; o++) before += sh.found[o] > mine;
      if (before < a.p) put(a, col, t, before, mine);
    }
  }
}

}  // namespace plaid
