// rbf_matmul: O = K V with K_ij = exp(-gamma |x_i - y_j|^2), K never stored.
//
// Axes n, d, m, c. X [n, d], Y [m, d], V [m, c], O [n, c] in T (f32 or f64), dense. Distances are sums of squared differences;
// inputs are not scaled before the difference, which would round points far from the origin apart. f32: at most
// 256 terms are added in an f32 lane, lanes and tiles in f64; f64: all f64. m = 0 gives 0. Offsets are 64-bit.
//
// Entries rbf_matmul_<T>_<variant>[_<stage>]:
//   naive         one thread per element of O. grid any, block 256.
//   tiled_d<D>r<R> c = 1 and at most D in {1, 2, 3, 4, 6, 8} components: R rows of a thread stay in registers (points.cuh), 1
//                 or 8 (4 from D = 6 on, and f64). A block of 128 streams tiles of 64 columns. grid (ceil(n/(128 R)), splits).
//   tiled_c<P>    P in {1, 4, 16, 64} columns of V per pass. A block of 128 owns 64 rows and streams tiles of 64 (f64: 32)
//                 columns. Each thread forms an 8 by 4 (f64: 4 by 4) tile of distances from pieces of X and Y in shared
//                 memory, 16 (f64, P = 64: 8) components at a time, then their exponentials. P = 1 multiplies them by V at
//                 once; else they go through shared memory to a second product with 4 rows by 4 (P = 64: 8) columns of O
//                 per thread, P = 16 and 4 in two and eight shares of the tile's columns. The next pieces are copied
//                 asynchronously, by 16 bytes where rows are aligned and by elements where not: the same bits.
//                 grid (ceil(n/64), splits, ceil(c/P)): a split takes its share of the tiles and leaves f64 partials when
//                 there are several. How many follows from the axes (cuda/rbf_matmul.go), never from the device.
//   tiled_sum     adds the partials of the splits in order. grid any, block 256.
// Scratch: a header of 256 bytes and f64 partials [splits][n][c] when there are several splits.
// Shared memory: see the manifest; at most 49,152 bytes. Requires sm_80.
#include "args/rbf_matmul_args.h"
#include "common/stream.cuh"
#include "pairwise/points.cuh"
#include "pairwise/sums.cuh"

namespace {

using namespace pairwise;

// Shape is the tiling for an element type.
template <class T> struct Shape;

template <> struct Shape<float> {
  static constexpr int kRows = 64, kCols = 64, kDims = 16; // of a tile
  static constexpr int kMine = 8;                          // rows of distances per thread
  static constexpr int kPad = 4;                           // 16 bytes: eight neighbouring points then lie in all 32 banks
};

template <> struct Shape<double> {
  static constexpr int kRows = 64, kCols = 32, kDims = 8;
  static constexpr int kMine = 4;
  static constexpr int kPad = 2;
};

// Product is the thread's part in K V for P columns of V: R rows by C columns from a share of the tile's columns.
template <class T, int P> struct Product {
  static constexpr int R = 4, C = P == 64 ? 8 : 4;
  static constexpr int kShares = kThreads * R * C / (Shape<T>::kRows * P);
  static constexpr int kTerms = Shape<T>::kCols / kShares; // per tile and lane
  using Accumulator = Sums<T, R, C>;
};

template <class T> struct Product<T, 1> {
  static constexpr int R = Shape<T>::kMine, C = 1;
  static constexpr int kShares = kThreads * R / Shape<T>::kRows;
  static constexpr int kTerms = 4;
  using Accumulator = Sums<T, R, C>;
};

template <class T, int P> struct Shared {
  using S = Shape<T>;
  static constexpr int kDims = P == 64 ? 8 : S::kDims; // of a piece; 64 columns of V leave room for 8
  static constexpr int kShares = Product<T, P>::kShares, kFinal = kShares == 1 ? 1 : S::kRows * P * kShares; // f64
  T x[2][S::kRows][kDims + S::kPad];
  T y[2][S::kCols][kDims + S::kPad];
  T v[S::kCols][P];
  union { // the pairs' values by column, and at the end the shares' sums
    T k[P == 1 ? 1 : S::kCols][S::kRows];
    double sums[kFinal];
  };
};

template <class T, int P> struct Block {
  using S = Shape<T>;
  using Pr = Product<T, P>;
  static constexpr int kDims = Shared<T, P>::kDims;
  static constexpr int kQuads = S::kMine / 4, kGroups = S::kRows / S::kMine;
  static constexpr int kVector = 16 / sizeof(T); // elements of a 16-byte copy

  const rbf_matmul_args& a;
  Shared<T, P>& sh;
  const long long row, col; // of the block in O
  // The thread's distances: rows mine, mine+kGroups, ... and columns across..across+3 of the tile.
  const int t = threadIdx.x, mine = threadIdx.x % kGroups, across = threadIdx.x / kGroups * 4;
  const bool whole, vectorX, vectorV; // one piece holds all components; 16-byte copies of points, of V

  __device__ __forceinline__ Block(const rbf_matmul_args& args, Shared<T, P>& shared)
      : a(args), sh(shared), row((long long)blockIdx.x * S::kRows), col((long long)blockIdx.z * P), whole(args.d <= kDims),
        vectorX(((args.x | args.y | args.d * sizeof(T)) & 15) == 0), vectorV(P >= kVector && ((args.v | args.c * sizeof(T)) & 15) == 0) {}

  // copyPoints starts a piece of w <= kDims components from dim of the points from first. Neighbouring threads take
  // neighbouring components.
  template <int Points, int Pitch>
  __device__ __forceinline__ void copyPoints(T (*to)[Pitch], const T* from, long long first, long long points, long long dim, int w) {
    const int e = vectorX ? kVector : 1, parts = vectorX ? w / kVector : w; // d and kDims hold whole vectors then
    const int shift = parts <= 1 ? 0 : parts <= 2 ? 1 : parts <= 4 ? 2 : parts <= 8 ? 3 : 4;
    const int k = (t & ((1 << shift) - 1)) * e;
    if (k >= w) return;
    const long long step = kThreads >> shift;
    const T* g = from + (first + (t >> shift)) * a.d + dim + k;
#pragma unroll 1
    for (int p = t >> shift; p < Points; p += step, g += step * a.d) {
      bool live = first + p < points;
      if (vectorX)
        copyAsync16(&to[p][k], live ? g : from, live);
      else
        copyAsync(&to[p][k], live ? g : from, live);
    }
  }

  __device__ __forceinline__ void copyPiece(int buffer, long long j, long long dim, bool withX) {
    int w = (int)min((long long)kDims, a.d - dim);
    if (withX) copyPoints<S::kRows>(sh.x[buffer], (const T*)a.x, row, a.n, dim, w);
    copyPoints<S::kCols>(sh.y[buffer], (const T*)a.y, j, a.m, dim, w);
  }

  // copyValues starts a tile's part of V, E elements at a time.
  template <int E> __device__ __forceinline__ void copyValues(long long j) {
    constexpr int kParts = P / E, kTotal = S::kCols * kParts;
    const T* v = (const T*)a.v;
#pragma unroll(E > 1 ? 8 : 1)
    for (int i = 0; i < (kTotal + kThreads - 1) / kThreads; i++) {
      int e = i * kThreads + t, p = e / kParts, c = e % kParts * E;
      if (kTotal % kThreads && e >= kTotal) break;
      bool live = j + p < a.m && col + c < a.c;
      const T* g = live ? v + (j + p) * a.c + col + c : v;
      if constexpr (E > 1)
        copyAsync16(&sh.v[p][c], g, live);
      else
        copyAsync(&sh.v[p][c], g, live);
    }
  }

  // distances4 adds K of the four components from k on to u.
  template <int K> __device__ __forceinline__ void distances4(int bufferX, int buffer, int k, T (&u)[S::kMine][4]) {
    T y[4][4];
#pragma unroll
    for (int c = 0; c < 4; c++) get4(&sh.y[buffer][across + c][k], y[c]);
#pragma unroll
    for (int r = 0; r < S::kMine; r++) {
      T x[4];
      get4(&sh.x[bufferX][mine + r * kGroups][k], x);
#pragma unroll
      for (int i = 0; i < K; i++)
#pragma unroll
        for (int c = 0; c < 4; c++) {
          T e = x[i] - y[c][i];
          u[r][c] += e * e;
        }
    }
  }

  __device__ __forceinline__ void distances(int buffer, int w, T (&u)[S::kMine][4]) {
    const int bufferX = whole ? 0 : buffer;
    int k = 0;
#pragma unroll 1
    for (; k + 4 <= w; k += 4) distances4<4>(bufferX, buffer, k, u);
    if (w - k == 1) distances4<1>(bufferX, buffer, k, u); // components beyond w are never copied
    if (w - k == 2) distances4<2>(bufferX, buffer, k, u);
    if (w - k == 3) distances4<3>(bufferX, buffer, k, u);
  }

  // share is which part of the tile's columns this thread multiplies, and where its results are.
  __device__ __forceinline__ int share() const { return P == 1 ? threadIdx.x / kGroups : t / (kThreads / Pr::kShares); }
  // place is where the pairs' values of this thread's row r stand in a column, four rows together; the product's first
  // row of values is at its place.
  __device__ __forceinline__ int place(int r) const { return r / 4 * (S::kRows / kQuads) + mine * 4 + r % 4; }
  __device__ __forceinline__ int productPlace() const { return t / (P / Pr::C) % (S::kRows / Pr::R) * Pr::R; }
  __device__ __forceinline__ int resultRow(int r) const {
    if (P == 1) return mine + r * kGroups;
    constexpr int kRun = S::kRows / kQuads;
    int p = productPlace();
    return p % kRun / 4 + (p / kRun * 4 + r) * kGroups; // place, inverted
  }
  __device__ __forceinline__ int resultCol() const { return P == 1 ? 0 : t % (P / Pr::C) * Pr::C; }

  // multiply adds K V of a tile whose values lie in u.
  __device__ __forceinline__ void multiply(T (&u)[S::kMine][4], typename Pr::Accumulator& acc) {
    if constexpr (P == 1) {
      awaitCopies<1>();
      __syncthreads(); // V has come
      T v[4];
      get4(&sh.v[across][0], v);
#pragma unroll
      for (int r = 0; r < S::kMine; r++)
#pragma unroll
        for (int c = 0; c < 4; c++) acc.lane[r][0] += u[r][c] * v[c];
    } else {
#pragma unroll
      for (int c = 0; c < 4; c++)
#pragma unroll
        for (int q = 0; q < kQuads; q++) {
          T k[4] = {u[q * 4][c], u[q * 4 + 1][c], u[q * 4 + 2][c], u[q * 4 + 3][c]};
          put4(&sh.k[across + c][place(q * 4)], k);
        }
      awaitCopies<1>();
      __syncthreads(); // the values and V are there
      const int first = share() * Pr::kTerms, r0 = productPlace(), c0 = resultCol();
#pragma unroll 4
      for (int j = first; j < first + Pr::kTerms; j++) {
        T k[4], v[Pr::C / 4][4];
        get4(&sh.k[j][r0], k);
#pragma unroll
        for (int q = 0; q < Pr::C / 4; q++) get4(&sh.v[j][c0 + q * 4], v[q]);
#pragma unroll
        for (int r = 0; r < 4; r++)
#pragma unroll
          for (int c = 0; c < Pr::C; c++) acc.lane[r][c] += k[r] * v[c / 4][c % 4];
      }
    }
  }

  // run streams the tiles [tile, end). A piece is in flight while the one before is used; V while distances form.
  __device__ __forceinline__ void run(long long tile, long long end, typename Pr::Accumulator& acc) {
    const typename Exponential<T>::Type value(a.gamma);
    int buffer = 0, terms = 0;
    if (tile < end) copyPiece(0, tile * S::kCols, 0, true);
    commitCopies();
    for (; tile < end; tile++) {
      T u[S::kMine][4] = {};
      long long dim = 0;
      do {
        long long next = dim + kDims < a.d ? dim + kDims : 0, then = next ? tile : tile + 1;
        awaitCopies<0>();
        __syncthreads(); // this piece has come; all are done with the piece and the tile before
        if (dim == 0) {
          if (P >= kVector && vectorV)
            copyValues<P >= kVector ? kVector : 1>(tile * S::kCols);
          else
            copyValues<1>(tile * S::kCols);
        }
        commitCopies();
        if (then < end) copyPiece(buffer ^ 1, then * S::kCols, next, !whole);
        commitCopies();
        distances(buffer, (int)min((long long)kDims, a.d - dim), u);
        buffer ^= 1;
        dim += kDims;
      } while (dim < a.d);
#pragma unroll
      for (int r = 0; r < S::kMine; r++)
#pragma unroll
        for (int c = 0; c < 4; c++) u[r][c] = value(u[r][c]);
      multiply(u, acc);
      terms += Pr::kTerms;
      if (terms + Pr::kTerms > kLaneTerms) acc.drain(), terms = 0;
    }
    acc.drain();
  }

  // leave adds the shares in order and writes O, or this split's partials.
  __device__ __forceinline__ void leave(const typename Pr::Accumulator& acc) {
    if constexpr (Pr::kShares == 1) {
#pragma unroll
      for (int r = 0; r < Pr::R; r++)
#pragma unroll
        for (int c = 0; c < Pr::C; c++) place(resultRow(r), resultCol() + c, acc.get(r, c));
    } else {
      __syncthreads(); // the last tile's values have been read
#pragma unroll
      for (int r = 0; r < Pr::R; r++)
#pragma unroll
        for (int c = 0; c < Pr::C; c++) sh.sums[(share() * S::kRows + resultRow(r)) * P + resultCol() + c] = acc.get(r, c);
      __syncthreads();
      for (int e = t; e < S::kRows * P; e += kThreads) {
        double s = 0.0;
        for (int i = 0; i < Pr::kShares; i++) s += sh.sums[i * S::kRows * P + e];
        place(e / P, e % P, s);
      }
    }
  }

  __device__ __forceinline__ void place(int r, int c, double s) {
    if (row + r < a.n && col + c < a.c) put<T>(a, (row + r) * a.c + col + c, s);
  }
};

template <class T, int P> __device__ __forceinline__ void tiled(const rbf_matmul_args& a) {
  alignas(16) __shared__ unsigned char memory[sizeof(Shared<T, P>)];
  Block<T, P> block(a, *(Shared<T, P>*)memory);
  const Share share(a.m, Shape<T>::kCols);
  typename Product<T, P>::Accumulator acc;
  block.run(share.first, share.end, acc);
  block.leave(acc);
  note(a);
}

template <class T> __device__ void sum(const rbf_matmul_args& a) {
  const long long splits = *(const long long*)a.scratch, size = a.n * a.c;
  const double* part = (const double*)(a.scratch + kHeader);
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += (long long)gridDim.x * blockDim.x) {
    double s = 0.0;
#pragma unroll 16
    for (long long k = 0; k < splits; k++) s += part[k * size + i];
    ((T*)a.o)[i] = (T)s;
  }
}

__device__ __forceinline__ float naiveValue(float u, double gamma) { return expf((float)-gamma * u); }
__device__ __forceinline__ double naiveValue(double u, double gamma) { return exp(-gamma * u); }

template <class T> __device__ void naive(const rbf_matmul_args& a) {
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < a.n * a.c; i += (long long)gridDim.x * blockDim.x) {
    const T *x = (const T*)a.x + i / a.c * a.d, *y = (const T*)a.y, *v = (const T*)a.v + i % a.c;
    double total = 0.0;
    for (long long j = 0; j < a.m;) {
      T lane = 0;
      for (long long end = min(a.m, j + kLaneTerms); j < end; j++) {
        T u = 0;
        for (long long k = 0; k < a.d; k++) {
          T e = x[k] - y[j * a.d + k];
          u += e * e;
        }
        lane += naiveValue(u, a.gamma) * v[j * a.c];
      }
      total += (double)lane;
    }
    ((T*)a.o)[i] = (T)total;
  }
}

}  // namespace

#define ENTRY(name, threads, blocks) \
  extern "C" __global__ void __launch_bounds__(threads, blocks) rbf_matmul_##name(const __grid_constant__ rbf_matmul_args a)

// Few components: one row per thread, and R.
#define POINTS(name, T, D, R, blocks)                                   \
  ENTRY(name##_tiled_d##D##r1, 128, 4) { points<T, D, 1>(a); }          \
  ENTRY(name##_tiled_d##D##r##R, 128, blocks) { points<T, D, R>(a); }

#define RBF_MATMUL(name, T, R, blocks)                 \
  ENTRY(name##_naive, 256, 1) { naive<T>(a); }         \
  POINTS(name, T, 1, R, blocks)                        \
  POINTS(name, T, 2, R, blocks)                        \
  POINTS(name, T, 3, R, blocks)                        \
  POINTS(name, T, 4, R, blocks)                        \
  POINTS(name, T, 6, 4, blocks)                        \
  POINTS(name, T, 8, 4, blocks)                        \
  ENTRY(name##_tiled_c1, 128, 4) { tiled<T, 1>(a); }   \
  ENTRY(name##_tiled_c4, 128, 3) { tiled<T, 4>(a); }   \
  ENTRY(name##_tiled_c16, 128, 3) { tiled<T, 16>(a); } \
  ENTRY(name##_tiled_c64, 128, 2) { tiled<T, 64>(a); } \
  ENTRY(name##_tiled_sum, 256, 1) { sum<T>(a); }

RBF_MATMUL(f32, float, 8, 4)
RBF_MATMUL(f64, double, 4, 3)
