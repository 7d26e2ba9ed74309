// rms_norm_backward, variant bulk: rows come to shared memory by the copy engine, several ahead of the arithmetic.
//
// Operation, axes and layout as rms_norm_backward.cu; 1024 < n <= 8192. A row belongs to TX threads with 16 columns each, TX the
// power of two >= n/16; 512/TX such groups share a block and go their own ways. A group's rows lie in a ring of its own in
// shared memory, one thread asks for a row's dy and x as soon as all have the row that lay in its slot in their registers, so that
// the memory is read through reductions and stores alike. Rows of other than whole aligned packs are read element by element
// by the same threads in the same order. A thread owns its columns in all rows of its group, so dw stays in its registers
// until one partial row per block is left in scratch.
//
// Entries rms_norm_backward_<T>[_<W>]_bulk_<stage>:
//   rows128, rows256, rows512   TX. grid min(ceil(rows*TX/512), 132), block (TX, 512/TX); dynamic shared memory 192 KiB.
//   columns                     dw: adds the partial rows in order. grid ceil(n/32), block (8, 32).
// The number of partial rows follows from rows and n alone, and every sum has a fixed order: the bits repeat.
// Scratch: a header of 256 bytes, then partials of ceil(n/4)*4 f32. Static shared memory: at most 512 bytes (rows), 4,096 (columns).
// Requires sm_90a.
//
// targets: sm_90a
// dynamic: rms_norm_backward_f32_bulk_rows128 196608
// dynamic: rms_norm_backward_f32_bulk_rows256 196608
// dynamic: rms_norm_backward_f32_bulk_rows512 196608
// dynamic: rms_norm_backward_bf16_bulk_rows128 196608
// dynamic: rms_norm_backward_bf16_bulk_rows256 196608
// dynamic: rms_norm_backward_bf16_bulk_rows512 196608
// dynamic: rms_norm_backward_f16_bulk_rows128 196608
// dynamic: rms_norm_backward_f16_bulk_rows256 196608
// dynamic: rms_norm_backward_f16_bulk_rows512 196608
// dynamic: rms_norm_backward_bf16_f32_bulk_rows128 196608
// dynamic: rms_norm_backward_bf16_f32_bulk_rows256 196608
// dynamic: rms_norm_backward_bf16_f32_bulk_rows512 196608
// dynamic: rms_norm_backward_f16_f32_bulk_rows128 196608
// dynamic: rms_norm_backward_f16_f32_bulk_rows256 196608
// dynamic: rms_norm_backward_f16_f32_bulk_rows512 196608
#include "common/hopper.cuh"
#include "rownorm/rms_norm_backward.cuh"

namespace {

using namespace rownorm;

constexpr int kColumns = 16;                  // of a thread
constexpr int kRing = 192 << 10;              // bytes of the rings
constexpr int kRowSpan = kThreads * kColumns; // elements of one row of every group

// copyRow starts a copy of bytes, a multiple of 16, to shared memory; they count towards the barrier's bytes.
__device__ __forceinline__ void copyRow(unsigned to, const void* from, unsigned bytes, unsigned barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from), "r"(bytes),
               "r"(barrier)
               : "memory");
}

// Shared is the static part: for each group a barrier for each slot and one for its rows' sums, and the warps' sums of a row,
// which alternate as those of rows::Group.
template <int TX, int kSlots> struct Shared {
  static constexpr int TY = kThreads / TX;
  unsigned long long full[TY][kSlots], summed[TY];
  float sums[TY][2][TX / kLanes];
};

// Ring is a group's slots: row i of the group lies in slot i mod kSlots, dy before x.
template <class T, int TX> struct Ring {
  static constexpr int kSlots = kRing / (2 * kRowSpan * (int)sizeof(T));
  static constexpr int kRow = TX * kColumns * (int)sizeof(T);
  static constexpr int V = kColumns / Pack<T>::kSize;

  const rms_norm_backward_args& a;
  Shared<TX, kSlots>& s;
  unsigned char* slots;

  __device__ __forceinline__ Ring(const rms_norm_backward_args& args, Shared<TX, kSlots>& shared, unsigned char* memory)
      : a(args), s(shared), slots(memory + threadIdx.y * kSlots * 2 * kRow) {}

  // open is for all threads of the block, which meet at a barrier after it.
  __device__ __forceinline__ void open() {
    if (threadIdx.x != 0) return;
    for (int i = 0; i < kSlots; i++) barrierInit(sharedAddress(&s.full[threadIdx.y][i]), 1);
    barrierInit(sharedAddress(&s.summed[threadIdx.y]), TX);
    barriersVisible();
  }

  // ask is for one thread: row i of the group, row of the operands. All have taken what its slot held.
  __device__ __forceinline__ void ask(int i, long long row) {
    const int slot = i % kSlots;
    const unsigned full = sharedAddress(&s.full[threadIdx.y][slot]), bytes = (unsigned)(a.n * sizeof(T));
    barrierExpect(full, 2 * bytes);
    unsigned to = sharedAddress(slots) + slot * 2 * kRow;
    copyRow(to, (const T*)a.dy + row * a.n, bytes, full);
    copyRow(to + kRow, (const T*)a.x + row * a.n, bytes, full);
  }

  // take moves this thread's packs of row i to registers; what lies beyond n is zero.
  __device__ __forceinline__ void take(int i, Pack<T> (&dy)[V], Pack<T> (&x)[V]) {
    const int slot = i % kSlots;
    barrierWait(sharedAddress(&s.full[threadIdx.y][slot]), i / kSlots & 1);
    const unsigned char* p = slots + slot * 2 * kRow;
#pragma unroll
    for (int v = 0; v < V; v++) {
      const int at = (v * TX + threadIdx.x) * 16;
      if (at < (int)(a.n * sizeof(T))) {
        read(dy[v], p + at);
        read(x[v], p + kRow + at);
      } else {
        dy[v] = x[v] = Pack<T>::filled(0.0f);
      }
    }
  }

  static __device__ __forceinline__ void read(Pack<T>& p, const unsigned char* from) {
    uint4 u = *(const uint4*)from;
    p.w[0] = u.x, p.w[1] = u.y, p.w[2] = u.z, p.w[3] = u.w;
  }

  // sum joins the group's values of row i, the same bits in all its threads. When it returns all have taken the row.
  __device__ __forceinline__ float sum(float d, int i) {
    constexpr int warps = TX / kLanes;
    const unsigned summed = sharedAddress(&s.summed[threadIdx.y]);
#pragma unroll
    for (int o = kLanes / 2; o > 0; o >>= 1) d += __shfl_xor_sync(kAllLanes, d, o);
    if (threadIdx.x % kLanes == 0) s.sums[threadIdx.y][i & 1][threadIdx.x / kLanes] = d;
    barrierArrive(summed);
    barrierWait(summed, i & 1);
    d = s.sums[threadIdx.y][i & 1][threadIdx.x % warps];
#pragma unroll
    for (int o = warps / 2; o > 0; o >>= 1) d += __shfl_xor_sync(kAllLanes, d, o);
    return d;
  }
};

// rows takes rows first, first+step, ... of the group; kWide says that they come through the ring.
template <class T, class W, int TX, bool kRound, bool kWide>
__device__ __forceinline__ void rows(Ring<T, TX>& ring, float (&dw)[Ring<T, TX>::V][Pack<T>::kSize]) {
  constexpr int V = Ring<T, TX>::V, TY = kThreads / TX;
  const rms_norm_backward_args& a = ring.a;
  const bool wideDX = isWide<T>(a.dx, a.n, a.n);
  const float inverse = 1.0f / (float)a.n;
  const long long first = (long long)threadIdx.y * gridDim.x + blockIdx.x, step = (long long)TY * gridDim.x;
  if (kWide && threadIdx.x == 0)
    for (int i = 0; i < Ring<T, TX>::kSlots && first + i * step < a.rows; i++) ring.ask(i, first + i * step);
  __syncwarp();
  Weights<T, W, V> w;
  w.load(a.weight, a.offset, 0, a.n);
  float r = first < a.rows ? __ldg((const float*)a.rstd + first) : 0.0f;
  int i = 0;
  for (long long row = first; row < a.rows; row += step, i++) {
    float next = row + step < a.rows ? __ldg((const float*)a.rstd + row + step) : 0.0f;
    Pack<T> dy[V], x[V];
    if constexpr (kWide) {
      ring.take(i, dy, x);
    } else {
      loadElements(dy, (const T*)a.dy + row * a.n, a.n);
      loadElements(x, (const T*)a.x + row * a.n, a.n);
    }
    float d = ring.sum(dot(dy, x, w), i);
    if (kWide && threadIdx.x == 0 && row + Ring<T, TX>::kSlots * step < a.rows)
      ring.ask(i + Ring<T, TX>::kSlots, row + Ring<T, TX>::kSlots * step);
    __syncwarp();
    apply<T, Weights<T, W, V>, V, kRound>(dy, x, w, r, r * d * inverse, dw);
    store(dy, (T*)a.dx + row * a.n, a.n, wideDX);
    r = next;
  }
}

template <class T, class W, int TX> __device__ __forceinline__ void bulkRows(const rms_norm_backward_args& a) {
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ Shared<TX, Ring<T, TX>::kSlots> shared;
  Ring<T, TX> ring(a, shared, memory);
  ring.open();
  __syncthreads();
  awaitEarlier();
  float dw[Ring<T, TX>::V][Pack<T>::kSize] = {};
  const bool wide = isWide<T>(a.dy, a.n, a.n) && isWide<T>(a.x, a.n, a.n);
  if (a.casting != kGemma) {
    if (wide)
      rows<T, W, TX, true, true>(ring, dw);
    else
      rows<T, W, TX, true, false>(ring, dw);
  } else {
    if (wide)
      rows<T, W, TX, false, true>(ring, dw);
    else
      rows<T, W, TX, false, false>(ring, dw);
  }
  if (!a.dw) return;
  __syncthreads(); // each group has waited for all that it asked for
  leavePartial<T>(a, dw, (float*)memory);
}

}  // namespace

#define ENTRY(name, threads, stage) \
  extern "C" __global__ void __launch_bounds__(threads, 1) rms_norm_backward_##name##_bulk_##stage(const __grid_constant__ rms_norm_backward_args a)

#define RMS_NORM_BACKWARD_BULK(name, T, W)                  \
  ENTRY(name, kThreads, rows128) { bulkRows<T, W, 128>(a); } \
  ENTRY(name, kThreads, rows256) { bulkRows<T, W, 256>(a); } \
  ENTRY(name, kThreads, rows512) { bulkRows<T, W, 512>(a); } \
  ENTRY(name, 256, columns) { columns<W>(a); }

RMS_NORM_BACKWARD_BULK(f32, float, float)
RMS_NORM_BACKWARD_BULK(bf16, __nv_bfloat16, __nv_bfloat16)
RMS_NORM_BACKWARD_BULK(f16, __half, __half)
RMS_NORM_BACKWARD_BULK(bf16_f32, __nv_bfloat16, float)
RMS_NORM_BACKWARD_BULK(f16_f32, __half, float)
