// hardest_negative_loss: softplus((max over j != p of s_ij - s_ip) / temperature), p = i + offset, then per row, mean or sum.
//
// Axes rows, cols, o. Score [rows, cols] in T, rows score_stride elements apart; Loss f32 [o]; Negative i32 [rows]
// or absent. A row with a data error (hardest.cuh) has loss NaN and negative -1 and sets the status word with operand Score.
// -0 equals +0; among equal negatives the lowest column is named.
//
// Entries hardest_negative_loss_<T>_<variant>_<stage>:
//   naive_rows    one thread per row. grid ceil(rows/128), block 128.
//   rows_rows     tx threads share a row and read it coalesced. block (tx, ty), tx a power of two, tx*ty a multiple
//                 of 32 and <= 1024; grid min(ceil(rows/ty), any).
//   <v>_reduce    mean and sum only: one block of 1024 adds the row losses in an order fixed by rows.
// Scratch: rows f32 when reducing. Shared memory: 1,024 bytes (rows), 256 (reduce). Requires sm_80.
#include "args/hardest_negative_loss_args.h"
#include "common/status.cuh"
#include "loss/hardest.cuh"

namespace {

using namespace hardest;
using namespace rows;

// finish writes what is known of a row, by one thread.
__device__ __forceinline__ void finish(const hardest_negative_loss_args& a, const Row& r, long long row) {
  float l = nan();
  if (r.fault)
    raiseFault(a.status, a.tag, r.fault, 0, r.faultAt);
  else
    l = softplus(r.z((float)a.temperature));
  ((float*)(a.reduction == kNone ? a.loss : a.scratch))[row] = l;
  if (a.negative) ((int*)a.negative)[row] = r.fault ? -1 : (int)r.at;
}

template <class T> __device__ void naive(const hardest_negative_loss_args& a) {
  long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= a.rows) return; // no barrier below
  const T* s = (const T*)a.score + row * a.score_stride;
  long long p = row + a.offset;
  Search q;
  for (long long j = 0; j < a.cols; j++)
    if (j != p) q.see(widen(s[j]), (unsigned)j);
  finish(a, Row(q.best, q.bad, widen(s[p]), row, a.cols, p), row);
}

template <class T> __device__ void shared(const hardest_negative_loss_args& a) {
  __shared__ Group<unsigned long long, 2>::Slots slots;
  Group<unsigned long long, 2> group(slots);
  for (long long base = (long long)blockIdx.x * blockDim.y; base < a.rows; base += (long long)gridDim.x * blockDim.y) {
    long long row = base + threadIdx.y, p = row + a.offset;
    bool live = row < a.rows;
    const T* s = (const T*)a.score + row * a.score_stride;
    Search q;
    if (live)
#pragma unroll 4
      for (long long j = threadIdx.x; j < a.cols; j += blockDim.x)
        if (j != p) q.see(widen(s[j]), (unsigned)j);
    unsigned long long v[2] = {q.best, q.bad};
    group.reduce<Max>(v);
    if (live && threadIdx.x == 0) finish(a, Row(v[0], v[1], widen(s[p]), row, a.cols, p), row);
  }
}

__device__ void reduce(const hardest_negative_loss_args& a) {
  __shared__ Group<float, 1>::Slots slots;
  Group<float, 1> group(slots);
  const float* l = (const float*)a.scratch;
  Compensated sum;
  for (long long i = threadIdx.x; i < a.rows; i += blockDim.x) sum.add(l[i]);
  float v[1] = {sum.value()};
  group.reduce<Sum>(v);
  if (threadIdx.x == 0) ((float*)a.loss)[0] = a.reduction == kMean && a.rows > 0 ? v[0] / (float)a.rows : v[0];
}

}  // namespace

#define LOSS(name, T)                                                                                                                \
  extern "C" __global__ void __launch_bounds__(128) hardest_negative_loss_##name##_naive_rows(                                       \
      const __grid_constant__ hardest_negative_loss_args a) { naive<T>(a); }                                                         \
  extern "C" __global__ void __launch_bounds__(1024) hardest_negative_loss_##name##_naive_reduce(                                    \
      const __grid_constant__ hardest_negative_loss_args a) { reduce(a); }                                                           \
  extern "C" __global__ void __launch_bounds__(1024) hardest_negative_loss_##name##_rows_rows(                                       \
      const __grid_constant__ hardest_negative_loss_args a) { shared<T>(a); }                                                        \
  extern "C" __global__ void __launch_bounds__(1024) hardest_negative_loss_##name##_rows_reduce(                                     \
      const __grid_constant__ hardest_negative_loss_args a) { reduce(a); }

LOSS(f32, float)
LOSS(bf16, __nv_bfloat16)
LOSS(f16, __half)
