// hardest_negative_loss_backward: the gradient of hardest_negative_loss with respect to the scores.
//
// Axes rows, cols, o. Score [rows, cols] in T, rows score_stride elements apart; DLoss f32 [o]; DScore [rows, cols] in T,
// dense: -g s(z)/t at the positive, the opposite at the hardest negative (tie 0) or in equal parts at all equal
// ones (tie 1), 0 elsewhere, where s is the logistic function, t the temperature and g the row's share of DLoss. A
// row with a data error (hardest.cuh) is NaN and sets the status word with operand Score.
//
// Entries hardest_negative_loss_backward_<T>_<variant>:
//   naive   one thread per row. grid ceil(rows/128), block 128.
//   rows    tx threads share a row, which they read twice (the second time from cache) and write once. block (tx,
//           ty), tx a power of two, tx*ty a multiple of 32 and <= 1024; grid min(ceil(rows/ty), any).
// Shared memory: 1,536 bytes. Requires sm_80.
#include "args/hardest_negative_loss_backward_args.h"
#include "common/status.cuh"
#include "loss/hardest.cuh"

namespace {

using namespace hardest;
using namespace rows;

// slope is g s(z)/t of a row, NaN for a row with a data error.
__device__ __forceinline__ float slope(const hardest_negative_loss_backward_args& a, const Row& r, long long row) {
  if (r.fault) return nan();
  float g = ((const float*)a.dloss)[a.reduction == kNone ? row : 0], t = (float)a.temperature;
  if (a.reduction == kMean) g /= (float)a.rows;
  return g / (1.0f + expf(-r.z(t))) / t; // exp overflows to a slope of 0, which it is
}

// element is the gradient at column j; each is what each of the negatives named takes.
__device__ __forceinline__ float element(const hardest_negative_loss_backward_args& a, const Row& r, float s, long long j, long long p,
                                         float slope, float each) {
  if (r.fault) return slope;
  if (j == p) return -slope;
  return (a.tie ? s == r.negative : j == r.at) ? each : 0.0f;
}

template <class T> __device__ void naive(const hardest_negative_loss_backward_args& a) {
  long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= a.rows) return; // no barrier below
  const T* s = (const T*)a.score + row * a.score_stride;
  T* ds = (T*)a.dscore + row * a.cols;
  long long p = row + a.offset, ties = 0;
  Search q;
  for (long long j = 0; j < a.cols; j++)
    if (j != p) q.see(widen(s[j]), (unsigned)j);
  Row r(q.best, q.bad, widen(s[p]), row, a.cols, p);
  if (r.fault) raiseFault(a.status, a.tag, r.fault, 0, r.faultAt);
  for (long long j = 0; j < a.cols; j++) ties += j != p && widen(s[j]) == r.negative;
  float k = slope(a, r, row), each = a.tie ? k / (float)ties : k;
  for (long long j = 0; j < a.cols; j++) ds[j] = narrow<T>(element(a, r, widen(s[j]), j, p, k, each));
}

template <class T> __device__ void shared(const hardest_negative_loss_backward_args& a) {
  __shared__ Group<unsigned long long, 2>::Slots slots;
  __shared__ Group<unsigned long long, 1>::Slots tieSlots;
  Group<unsigned long long, 2> group(slots);
  Group<unsigned long long, 1> tieGroup(tieSlots);
  for (long long base = (long long)blockIdx.x * blockDim.y; base < a.rows; base += (long long)gridDim.x * blockDim.y) {
    long long row = base + threadIdx.y, p = row + a.offset;
    bool live = row < a.rows;
    const T* s = (const T*)a.score + row * a.score_stride;
    T* ds = (T*)a.dscore + row * a.cols;
    Search q;
    if (live)
#pragma unroll 4
      for (long long j = threadIdx.x; j < a.cols; j += blockDim.x)
        if (j != p) q.see(widen(s[j]), (unsigned)j);
    unsigned long long v[2] = {q.best, q.bad}, ties[1] = {0};
    group.reduce<Max>(v);
    Row r(v[0], v[1], live ? widen(s[p]) : 0.0f, row, a.cols, p);
    if (a.tie) { // the same for all blocks
      if (live)
        for (long long j = threadIdx.x; j < a.cols; j += blockDim.x) ties[0] += j != p && widen(s[j]) == r.negative;
      tieGroup.reduce<Sum>(ties);
    }
    if (!live) continue; // no barrier before the loop's end
    if (r.fault && threadIdx.x == 0) raiseFault(a.status, a.tag, r.fault, 0, r.faultAt);
    float k = slope(a, r, row), each = a.tie ? k / (float)ties[0] : k;
#pragma unroll 4
    for (long long j = threadIdx.x; j < a.cols; j += blockDim.x) ds[j] = narrow<T>(element(a, r, widen(s[j]), j, p, k, each));
  }
}

}  // namespace

#define LOSS_BACKWARD(name, T)                                                                                                       \
  extern "C" __global__ void __launch_bounds__(128) hardest_negative_loss_backward_##name##_naive(                                   \
      const __grid_constant__ hardest_negative_loss_backward_args a) { naive<T>(a); }                                                \
  extern "C" __global__ void __launch_bounds__(1024) hardest_negative_loss_backward_##name##_rows(                                   \
      const __grid_constant__ hardest_negative_loss_backward_args a) { shared<T>(a); }

LOSS_BACKWARD(f32, float)
LOSS_BACKWARD(bf16, __nv_bfloat16)
LOSS_BACKWARD(f16, __half)
