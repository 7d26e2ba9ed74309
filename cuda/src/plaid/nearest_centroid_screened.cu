// nearest_centroid, variant screened: tensor cores find where each token's best centroid must be, in half precision with an
// error bound; dot products that decide are canonical ones. The bits of tiled.
//
// Axes, operands and faults as nearest_centroid.cu; d <= 128, n < 2^32, any alignment. Few tokens or centroids are searched
// canonically altogether.
//
// Entries, for launches of 4096 tokens and 1024 centroids or more:
//   nearest_centroid_screened_prepare     a warp per centroid: the row in half precision, the largest norm and rounding error of
//                                         all. grid ceil(k/64)*8, block 256.
//   nearest_centroid_screened_d<N>        d <= N: a block of 128 threads per 256 tokens (d128: 192), which stay in registers as
//                                         fragments, while tiles of 64 centroids pass through shared memory. Each thread keeps
//                                         the three largest maxima of groups of eight products and the groups of two. Where the
//                                         third is below the first by more than twice the error bound, the best centroid is in
//                                         one of those groups, and canonical dot products name it. Other tokens are listed.
//                                         grid ceil(n/256).
//   nearest_centroid_screened_d<N>_few    the same for 128 tokens a block, up to 65536 tokens in all.
// and for all:
//   nearest_centroid_screened_search      blocks of 256 threads share tiles of 128 listed tokens (of all, if few) and ranges of
//                                         centroids, and join their words by atomic maxima. grid any.
//   nearest_centroid_screened_finish      a thread per listed token writes what its word says. grid any, block 256.
//
// Error of a product, x the token, c the centroid, ' the rounded ones: |x-x'| |c| + |x'| |c-c'| from rounding, and from adding
// d terms in single precision, here and in the canonical product, less than (d+16) 2^-21 |x| |c|. Norms are rounded upwards.
// What is not finite makes the bound NaN or infinite, and the token is listed.
//
// Scratch: 256 bytes (number of listed tokens; norm and error of the centroids), a word of 8 bytes and a number of 4 bytes per
// token, then the tiles of centroids. Requires sm_80.
//
// dynamic: nearest_centroid_screened_d64 29696
// dynamic: nearest_centroid_screened_d96 41984
// dynamic: nearest_centroid_screened_d128 53760
// dynamic: nearest_centroid_screened_d64_few 28672
// dynamic: nearest_centroid_screened_d96_few 40960
// dynamic: nearest_centroid_screened_d128_few 53248
// dynamic: nearest_centroid_screened_search 90112
#include <cuda_fp16.h>

#include "plaid/nearest_centroid.cuh"
#include "plaid/plaid_mma.cuh"

namespace {

using namespace plaid;

extern __shared__ __align__(128) unsigned char pool[];

constexpr int kScreenThreads = 128, kScreenWarps = kScreenThreads / kLanes;
constexpr int kTileRows = 64, kBatch = 32; // centroids of a tile, and of a pass over the registers
constexpr int kStages = 3;
constexpr unsigned kNone = 0xffffffffu; // group

// steps is how many products of 16 components cover d: as compiled for.
__device__ __forceinline__ int stepsOf(long long d) { return d <= 64 ? 4 : d <= 96 ? 6 : 8; }

// A row of a tile is followed by 16 bytes of padding, so that neighbours start in different groups of banks.
__host__ __device__ constexpr int pitchOf(int steps) { return steps * 32 + 16; }

struct Header {
  unsigned listed;
  unsigned norm, error; // keys of common/order.cuh: the largest of the centroids
};

struct Scratch {
  Header* header;
  unsigned long long* word; // by place in the list
  unsigned* list;
  unsigned char* tiles;

  __device__ __forceinline__ explicit Scratch(const nearest_centroid_args& a) {
    unsigned char* p = (unsigned char*)a.scratch;
    header = (Header*)p;
    word = (unsigned long long*)(p + 256);
    list = (unsigned*)(p + 256 + 8 * a.n);
    tiles = p + 256 + (12 * a.n + 255) / 256 * 256;
  }
};

// direct launches are searched canonically altogether; cuda/nearest_centroid.go says the same.
__device__ __forceinline__ bool direct(const nearest_centroid_args& a) { return a.n < 4096 || a.k < 1024; }

// above is a norm from a sum of squares, rounded upwards; squares that vanished are within the constant.
__device__ __forceinline__ float above(float squares) { return __fsqrt_rn(squares) * 1.001f + 1e-20f; }

__device__ __forceinline__ void prepare(const nearest_centroid_args& a) {
  const Scratch s(a);
  const int lane = threadIdx.x % kLanes, steps = stepsOf(a.d), pitch = pitchOf(steps);
  const long long row = (long long)blockIdx.x * (blockDim.x / kLanes) + threadIdx.x / kLanes;
  // The last tile is filled with copies of the last centroid: they cannot win where it does not.
  const float* c = (const float*)a.centroid + min(row, a.k - 1) * a.d;
  __half* to = (__half*)(s.tiles + row / kTileRows * (kTileRows * pitch) + row % kTileRows * pitch);
  float norm = 0.0f, error = 0.0f;
  for (int i = lane; i < steps * 16; i += kLanes) {
    const float v = i < a.d ? c[i] : 0.0f;
    const __half h = __float2half_rn(v);
    const float e = v - __half2float(h);
    norm += v * v, error += e * e;
    to[i] = h;
  }
  for (int o = kLanes / 2; o > 0; o /= 2) norm += __shfl_xor_sync(kAllLanes, norm, o), error += __shfl_xor_sync(kAllLanes, error, o);
  if (lane == 0) {
    atomicMax(&s.header->norm, orderKey(above(norm)));
    atomicMax(&s.header->error, orderKey(above(error)));
  }
}

// Top is the three largest maxima of groups seen, and the groups of two.
struct Top {
  float first, second, third;
  unsigned group, runner;
  __device__ __forceinline__ void take(float v, unsigned g) {
    third = fmaxf(third, fminf(second, v));
    runner = v > first ? group : v > second ? g : runner;
    second = fmaxf(second, fminf(first, v));
    group = v > first ? g : group;
    first = fmaxf(first, v);
  }
  __device__ __forceinline__ void join(int lanes) {
    const float u = __shfl_xor_sync(kAllLanes, first, lanes), v = __shfl_xor_sync(kAllLanes, second, lanes);
    const float w = __shfl_xor_sync(kAllLanes, third, lanes);
    const unsigned g = __shfl_xor_sync(kAllLanes, group, lanes), h = __shfl_xor_sync(kAllLanes, runner, lanes);
    take(u, g);
    take(v, h);
    third = fmaxf(third, w);
  }
};

// dotOf is the canonical dot product of rows of d components.
__device__ __forceinline__ float dotOf(const float* x, const float* y, int d, bool wide) {
  float s = 0.0f;
  if (wide) {
#pragma unroll 8
    for (int i = 0; i < d; i += 4) {
      const float4 u = *(const float4*)(x + i), v = *(const float4*)(y + i);
      s = __fmaf_rn(u.w, v.w, __fmaf_rn(u.z, v.z, __fmaf_rn(u.y, v.y, __fmaf_rn(u.x, v.x, s))));
    }
    return s;
  }
  for (int i = 0; i < d; i++) s = __fmaf_rn(x[i], y[i], s);
  return s;
}

// Screen is the work of a block. Steps products of 16 components; MT blocks of 16 tokens for each warp.
template <int Steps, int MT> struct Screen {
  static constexpr int kTokens = kScreenWarps * MT * 16, kPitch = pitchOf(Steps), kTile = kTileRows * kPitch;
  static constexpr int kShared = kStages * kTile + kTokens * 8; // tiles, verdicts

  // Verdict is the error bound of a token, and later the groups that hold its best centroid, kNone for none.
  union Verdict {
    float bound;
    unsigned group[2];
  };

  const nearest_centroid_args& a;
  Scratch s;
  int lane, warp;
  long long first; // token of the block
  unsigned x[MT][Steps][4];
  Top top[MT * 2];

  __device__ __forceinline__ explicit Screen(const nearest_centroid_args& a)
      : a(a), s(a), lane(threadIdx.x % kLanes), warp(threadIdx.x / kLanes), first((long long)blockIdx.x * kTokens) {}

  __device__ __forceinline__ int tokenOf(int row) const { return warp * MT * 16 + row / 2 * 16 + row % 2 * 8 + lane / 4; }

  static __device__ __forceinline__ Verdict* verdicts() { return (Verdict*)(pool + kStages * kTile); }

  // load brings the fragments of the warp's tokens and leaves their error bounds.
  __device__ __forceinline__ void load() {
    const float cNorm = orderValue(s.header->norm), cError = orderValue(s.header->error), slack = (float)(a.d + 16) * 0x1p-21f;
#pragma unroll
    for (int r = 0; r < MT * 2; r++) {
      const long long token = first + tokenOf(r);
      const float* p = (const float*)a.token + token * a.d;
      const int d = token < a.n ? (int)a.d : 0;
      float n = 0.0f, e = 0.0f;
#pragma unroll
      for (int t = 0; t < Steps * 2; t++) {
        unsigned w = 0;
#pragma unroll
        for (int i = 0; i < 2; i++) {
          const int at = t * 8 + lane % 4 * 2 + i;
          const float v = at < d ? p[at] : 0.0f;
          const __half h = __float2half_rn(v);
          const float rest = v - __half2float(h);
          n += v * v, e += rest * rest;
          w |= (unsigned)__half_as_ushort(h) << 16 * i;
        }
        x[r / 2][t / 2][t % 2 * 2 + r % 2] = w;
      }
      n += __shfl_xor_sync(kAllLanes, n, 1), e += __shfl_xor_sync(kAllLanes, e, 1);
      n += __shfl_xor_sync(kAllLanes, n, 2), e += __shfl_xor_sync(kAllLanes, e, 2);
      e = above(e), n = above(n) + e; // of x, and of x' as well
      if (lane % 4 == 0) verdicts()[tokenOf(r)].bound = (e * cNorm + n * cError + slack * n * (cNorm + cError)) * 1.001f + 1e-30f;
    }
  }

  __device__ __forceinline__ void copyTile(long long tile, long long tiles, int slot) const {
    if (tile < tiles) {
      const unsigned char* from = s.tiles + tile * kTile;
      const unsigned to = sharedAddress(pool) + slot * kTile;
      for (int i = threadIdx.x * 16; i < kTile; i += kScreenThreads * 16) copyAsync16(to + i, from + i, true);
    }
    copyCommit();
  }

  // batch multiplies 32 centroids from a row of a tile and takes the maxima of four groups; this thread's is g.
  __device__ __forceinline__ void batch(unsigned rows, unsigned g) {
    float sum[MT][4][4];
    // Lane l names row l%8 of matrix l/8: two halves of the components, then the same for the next eight rows.
    const unsigned at = rows + (lane / 16 * 8 + lane % 8) * kPitch + lane / 8 % 2 * 16;
#pragma unroll
    for (int k = 0; k < Steps; k++) {
      unsigned b[2][4];
      loadMatrices4(b[0], at + k * 32);
      loadMatrices4(b[1], at + 16 * kPitch + k * 32);
#pragma unroll
      for (int m = 0; m < MT; m++)
#pragma unroll
        for (int n = 0; n < 4; n++) {
          if (k == 0)
            mmaF16Zero(sum[m][n], x[m][k], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
          else
            mmaF16(sum[m][n], x[m][k], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
        }
    }
#pragma unroll
    for (int r = 0; r < MT * 2; r++) {
      float v = fmaxf(sum[r / 2][0][r % 2 * 2], sum[r / 2][0][r % 2 * 2 + 1]);
#pragma unroll
      for (int n = 1; n < 4; n++) v = fmaxf(v, fmaxf(sum[r / 2][n][r % 2 * 2], sum[r / 2][n][r % 2 * 2 + 1]));
      top[r].take(v, g);
    }
  }

  // decide leaves each token's groups where its bound was; a token to be listed has none.
  __device__ __forceinline__ void decide() {
#pragma unroll
    for (int r = 0; r < MT * 2; r++) {
      top[r].join(1);
      top[r].join(2);
      if (lane % 4 != 0) continue;
      Verdict& v = verdicts()[tokenOf(r)];
      const float least = 2.0f * v.bound;
      v.group[0] = top[r].first - top[r].third > least ? top[r].group : kNone;
      v.group[1] = top[r].first - top[r].second > least ? kNone : top[r].runner;
    }
    __syncwarp();
  }

  // member is the best of this lane's centroid of a group.
  __device__ __forceinline__ Best member(long long token, unsigned g, bool wide) const {
    const int m = lane % 8;
    const long long c = (long long)(g / 4) * kBatch + m / 2 * 8 + g % 4 * 2 + m % 2;
    if (c >= a.k) return Best::none();
    return Best::of(dotOf((const float*)a.token + token * a.d, (const float*)a.centroid + c * a.d, (int)a.d, wide), (int)c);
  }

  // verify names the best of the groups of each token, eight lanes to a token, and lists those without.
  __device__ __forceinline__ void verify() {
    const bool wide = ((a.token | a.centroid | (unsigned long long)a.d * 4) & 15) == 0;
#pragma unroll 1
    for (int i = 0; i < MT * 16; i += 4) {
      const int mine = warp * MT * 16 + i + lane / 8;
      const long long token = first + mine;
      const unsigned g = verdicts()[mine].group[0], h = verdicts()[mine].group[1];
      Best best = Best::none();
      if (token < a.n && g != kNone) {
        best = member(token, g, wide);
        if (h != kNone) best.take(member(token, h, wide));
      }
#pragma unroll
      for (int o = 1; o < 8; o *= 2) best.take({__shfl_xor_sync(kAllLanes, best.word, o)});
      if (token >= a.n || lane % 8 != 0) continue;
      if (g != kNone) {
        emit(a, token, best);
        continue;
      }
      const unsigned at = atomicAdd(&s.header->listed, 1u);
      s.list[at] = (unsigned)token, s.word[at] = 0;
    }
  }

  __device__ __forceinline__ void run() {
    load();
#pragma unroll
    for (int r = 0; r < MT * 2; r++) top[r] = {negativeInfinity(), negativeInfinity(), negativeInfinity(), 0, 0};
    const long long tiles = (a.k + kTileRows - 1) / kTileRows;
    for (int t = 0; t < kStages - 1; t++) copyTile(t, tiles, t);
    int slot = 0;
#pragma unroll 1
    for (int t = 0; t < (int)tiles; t++) {
      copyWait<kStages - 2>();
      __syncthreads(); // the tile is here, and the slot of the one before is free
      copyTile(t + kStages - 1, tiles, slot == 0 ? kStages - 1 : slot - 1);
      const unsigned rows = sharedAddress(pool) + slot * kTile;
#pragma unroll 1
      for (int h = 0; h < kTileRows / kBatch; h++) batch(rows + h * kBatch * kPitch, (unsigned)((t * (kTileRows / kBatch) + h) * 4 + lane % 4));
      if (++slot == kStages) slot = 0;
    }
    decide();
    verify();
  }
};

__device__ __forceinline__ void searchListed(const nearest_centroid_args& a) {
  const Scratch s(a);
  const bool all = direct(a);
  const long long count = all ? a.n : s.header->listed, blocks = (count + kTokens - 1) / kTokens, tiles = (a.k + kCentroids - 1) / kCentroids;
  if (count == 0) return;
  const long long ranges = max(min(16ll * gridDim.x / blocks, tiles), 1ll);
  for (long long i = blockIdx.x; i < blocks * ranges; i += gridDim.x) {
    const long long first = i % blocks * kTokens, range = i / blocks;
    __syncthreads(); // shared memory is free
    const Best b = search(a, {(const unsigned char*)a.token, count, all ? nullptr : s.list}, first, (int)(tiles * range / ranges),
                          (int)(tiles * (range + 1) / ranges), pool);
    if (threadIdx.x < kTokens && first + threadIdx.x < count) atomicMax(s.word + first + threadIdx.x, b.word);
  }
}

__device__ __forceinline__ void finish(const nearest_centroid_args& a) {
  const Scratch s(a);
  const bool all = direct(a);
  const long long count = all ? a.n : s.header->listed;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x)
    emit(a, all ? i : s.list[i], {s.word[i]});
}

}  // namespace

#define ENTRY(name, steps, blocks, shared)                                                                                  \
  extern "C" __global__ void __launch_bounds__(kScreenThreads, 2) nearest_centroid_screened_##name(const __grid_constant__ nearest_centroid_args a) { \
    static_assert(Screen<steps, blocks>::kShared == shared, #name);                                                         \
    Screen<steps, blocks>(a).run();                                                                                         \
  }

ENTRY(d64, 4, 4, 29696)
ENTRY(d96, 6, 4, 41984)
ENTRY(d128, 8, 3, 53760)
ENTRY(d64_few, 4, 2, 28672)
ENTRY(d96_few, 6, 2, 40960)
ENTRY(d128_few, 8, 2, 53248)

extern "C" __global__ void __launch_bounds__(256) nearest_centroid_screened_prepare(const __grid_constant__ nearest_centroid_args a) { prepare(a); }
extern "C" __global__ void __launch_bounds__(kThreads, 2) nearest_centroid_screened_search(const __grid_constant__ nearest_centroid_args a) { searchListed(a); }
extern "C" __global__ void __launch_bounds__(256) nearest_centroid_screened_finish(const __grid_constant__ nearest_centroid_args a) { finish(a); }
