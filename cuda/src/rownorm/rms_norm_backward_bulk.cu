// rms_norm_backward, variant bulk: rows of up to 4096 columns, brought to shared memory ahead of their use.
//
// Axes, layout and semantics as rms_norm_backward.cu, and the bits of its cached entries: blocks, threads and the order
// of sums are the same. Entries rms_norm_backward_<T>[_<W>]_bulk_<stage>:
//   rows     n <= 4096: block (tx, ty) of 512, tx the power of two >= n/8, grid at most 132 (cuda/rms_norm.go). One thread
//            has the copy engine fill three slots of ty*R rows of dy and x each, R the rows of a thread; the
//            others take a slot into registers, from where the next copies fill it while these rows are reduced and
//            written. Where rows are not whole aligned packs, elements are read as in cached_rows8.
//   columns  dw: adds the partial rows in order. grid ceil(n/32), block (8, 32).
// Scratch: as cached. Shared memory: 192 KiB dynamic (rows), 4,096 bytes (columns). Requires sm_90a.
//
// targets: sm_90a
// dynamic: rms_norm_backward_f32_bulk_rows 196608
// dynamic: rms_norm_backward_bf16_bulk_rows 196608
// dynamic: rms_norm_backward_f16_bulk_rows 196608
// dynamic: rms_norm_backward_bf16_f32_bulk_rows 196608
// dynamic: rms_norm_backward_f16_f32_bulk_rows 196608
#include "common/bulk.cuh"
#include "rownorm/rms_norm_backward.cuh"

namespace {

using namespace rownorm;

constexpr int kSlots = 3;
constexpr int kColumns = 8;                       // of a row per thread
constexpr int kOperand = kThreads * kColumns * 8; // bytes of one operand in a slot: R rows a thread

// Factors are offset + w, widened once for all rows.
template <class T, int V> struct Factors {
  float f[V][Pack<T>::kSize];

  template <class W> __device__ __forceinline__ explicit Factors(const Weights<T, W, V>& w) {
#pragma unroll
    for (int v = 0; v < V; v++)
#pragma unroll
      for (int i = 0; i < Pack<T>::kSize; i++) f[v][i] = w.get(v, i);
  }
  __device__ __forceinline__ float get(int v, int i) const { return f[v][i]; }
};

// Stream is the part of Rows that differs: where rows come from.
template <class T, class W, int V, int R, bool kRound> struct Stream {
  Rows<T, W, V, R, kRound>& rows;
  Ring<kSlots> ring;
  bool filler;
  long long step; // rows from one batch of the block to its next

  // fill starts the copies of the block's batch at row base into slot s. Its rows are neighbours in memory.
  __device__ __forceinline__ void fill(int s, long long base) {
    const rms_norm_backward_args& a = rows.a;
    if (!filler || base >= a.rows) return;
    unsigned bytes = (unsigned)(min(a.rows - base, (long long)blockDim.y * R) * a.n * sizeof(T));
    barrierExpect(ring.barrier(s), 2 * bytes);
    copyBulk(ring.slot(s), (const T*)a.dy + base * a.n, bytes, ring.barrier(s));
    copyBulk(ring.slot(s) + kOperand, (const T*)a.x + base * a.n, bytes, ring.barrier(s));
  }

  // take reads this thread's rows from the slot; those from live on are zero.
  __device__ __forceinline__ void take(Batch<T, V, R>& b, unsigned slot, int live) {
    const int n = (int)rows.a.n;
    unsigned row = slot + threadIdx.y * R * n * (int)sizeof(T);
#pragma unroll
    for (int i = 0; i < R; i++, row += n * (int)sizeof(T)) {
      loadShared(b.dy[i], row, i < live ? n : 0);
      loadShared(b.x[i], row + kOperand, i < live ? n : 0);
    }
  }

  __device__ __forceinline__ int live(long long first) const { return (int)max(min(rows.a.rows - first, (long long)R), 0ll); }

  __device__ __forceinline__ void scales(float (&r)[R], long long first) {
    const int n = live(first);
#pragma unroll
    for (int i = 0; i < R; i++) r[i] = i < n ? __ldg((const float*)rows.a.rstd + first + i) : 0.0f;
  }

  __device__ __forceinline__ void run(typename Group<float, R>::Slots& slots) {
    const rms_norm_backward_args& a = rows.a;
    const Factors<T, V> w(rows.w);
    const float inverse = 1.0f / (float)a.n;
    Group<float, R> group(slots);
    long long base = (long long)blockIdx.x * blockDim.y * R; // the block's, so that all threads leave together
    for (int s = 0; s < kSlots; s++) fill(s, base + s * step);
    __syncthreads(); // the ring's barriers are ready
    float next[R];
    scales(next, base + threadIdx.y * R);
    for (; base < a.rows; base += step) {
      const long long first = base + threadIdx.y * R;
      const int n = live(first);
      Batch<T, V, R> b;
      take(b, ring.await(), n);
#pragma unroll
      for (int i = 0; i < R; i++) b.r[i] = next[i];
      scales(next, first + step); // a batch ahead
      float d[R];
#pragma unroll
      for (int i = 0; i < R; i++) d[i] = dot(b.dy[i], b.x[i], w);
      group.template reduce<Sum>(d); // has a barrier of the block where a row spans warps
      if (blockDim.x <= kLanes) __syncthreads();
      fill(ring.at, base + kSlots * step);
      ring.step();
#pragma unroll
      for (int i = 0; i < R; i++) {
        apply<T, Factors<T, V>, V, kRound>(b.dy[i], b.x[i], w, b.r[i], b.r[i] * d[i] * inverse, rows.dw);
        store(b.dy[i], (T*)a.dx + (first + i) * a.n, i < n ? a.n : 0, true);
      }
    }
  }
};

template <class T, class W, bool kRound> __device__ __forceinline__ void bulkRows(const rms_norm_backward_args& a) {
  constexpr int V = kColumns / Pack<T>::kSize, R = 4 / V;
  static_assert(kOperand == kThreads * kColumns * R * (int)sizeof(T), "a slot holds the block's batch");
  extern __shared__ __align__(128) unsigned char dynamic[];
  __shared__ __align__(8) unsigned long long barriers[kSlots];
  __shared__ typename Group<float, R>::Slots slots;
  __shared__ Group<float, 1>::Slots single;
  Rows<T, W, V, R, kRound> rows(a);
  if (isWide<T>(a.dy, a.n, a.n) && isWide<T>(a.x, a.n, a.n) && rows.wideDX) {
    const bool filler = threadIdx.x == 0 && threadIdx.y == 0;
    Stream<T, W, V, R, kRound> stream{rows, Ring<kSlots>(sharedAddress(dynamic), 2 * kOperand, sharedAddress(barriers), filler), filler,
                                      (long long)gridDim.x * blockDim.y * R};
    stream.run(slots);
  } else {
    rows.runElements(single);
  }
  rows.finish((float*)dynamic); // all copies were awaited, and a block barrier lies behind the last read of a slot
}

}  // namespace

#define ENTRY(name, threads, stage) \
  extern "C" __global__ void __launch_bounds__(threads, 1) rms_norm_backward_##name##_##stage(const __grid_constant__ rms_norm_backward_args a)

#define RMS_NORM_BACKWARD(name, T, W)              \
  ENTRY(name, kThreads, bulk_rows) {               \
    if (a.casting == kGemma)                       \
      bulkRows<T, W, false>(a);                    \
    else                                           \
      bulkRows<T, W, true>(a);                     \
  }                                                \
  ENTRY(name, 256, bulk_columns) { columns<W>(a); }

RMS_NORM_BACKWARD(f32, float, float)
RMS_NORM_BACKWARD(bf16, __nv_bfloat16, __nv_bfloat16)
RMS_NORM_BACKWARD(f16, __half, __half)
RMS_NORM_BACKWARD(bf16_f32, __nv_bfloat16, float)
RMS_NORM_BACKWARD(f16_f32, __half, float)
