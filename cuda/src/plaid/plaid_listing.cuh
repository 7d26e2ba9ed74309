// What the index kernels share: ragged axes, and the documents that a launch scores.
#pragma once
#include "common/status.cuh"

namespace plaid {

constexpr int kLanes = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

__device__ __forceinline__ float negativeInfinity() { return __uint_as_float(0xff800000u); }

struct Span {
  long long lo, hi;
  __device__ __forceinline__ long long size() const { return hi - lo; }
};

// segment is entry i of a ragged axis, clamped to the axis and never reversed.
__device__ __forceinline__ Span segment(const long long* off, long long i, long long axis) {
  long long lo = min(max(off[i], 0ll), axis), hi = min(max(off[i + 1], 0ll), axis);
  return {lo, max(lo, hi)};
}

// Faults numbers the operands of a kernel's data errors.
struct Faults {
  unsigned long long status, tag;
  int candidate, code, shift;
  __device__ __forceinline__ void badCandidate(long long at) const { raiseFault(status, tag, 1, candidate, at); }
  __device__ __forceinline__ void badCode(long long at) const { raiseFault(status, tag, 2, code, at); }
  __device__ __forceinline__ void beyond(long long query) const { raiseFault(status, tag, 3, shift, query); }
};

// entryTokens is the tokens of the document at place e of query i, none where the place is past the count, empty or names
// no document. One thread of those that ask reports.
template <class Args> __device__ __forceinline__ Span entryTokens(const Args& a, const Faults& f, long long i, long long e, bool report) {
  if (a.count && e >= ((const long long*)a.count)[i]) return {0, 0};
  const long long j = ((const int*)a.candidate)[i * a.c + e];
  if (j < 0 || j >= a.nd) {
    if (j != -1 && report) f.badCandidate(i * a.c + e);
    return {0, 0};
  }
  return segment((const long long*)a.doc_off, j, a.td);
}

// livePlaces is how many places of query i may name a document.
template <class Args> __device__ __forceinline__ long long livePlaces(const Args& a, long long i) {
  return a.count ? min(max(((const long long*)a.count)[i], 0ll), a.c) : a.c;
}

// fillPlaces scores the places of query i from the first on as those without documents; blocks of gridDim.x share them.
template <class Args> __device__ __forceinline__ void fillPlaces(const Args& a, long long i, long long first) {
#pragma unroll 1
  for (long long e = first + (long long)blockIdx.x * blockDim.x + threadIdx.x; e < a.c; e += (long long)gridDim.x * blockDim.x)
    ((float*)a.score)[i * a.c + e] = negativeInfinity();
}

// checkAxes reports offsets that leave their axes. Entries are divided among the threads of the launch.
template <class Args> __device__ __forceinline__ void checkAxes(const Args& a, int queryOff, int docOff) {
  const long long block = (long long)blockIdx.y * gridDim.x + blockIdx.x, blocks = (long long)gridDim.x * gridDim.y;
  const long long thread = block * blockDim.x + threadIdx.x, threads = blocks * blockDim.x;
  checkOffsets((const long long*)a.query_off, a.nq, a.tq, queryOff, a.status, a.tag, thread, threads);
  checkOffsets((const long long*)a.doc_off, a.nd, a.td, docOff, a.status, a.tag, thread, threads);
}

}  // namespace plaid
