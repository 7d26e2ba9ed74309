// What the variants of plaid_candidates share.
#pragma once
#include "args/plaid_candidates_args.h"
#include "plaid/plaid_listing.cuh"

namespace plaid {

// markList sets the bits of a list's documents that lie in the words from first on. A warp takes it, and has kAhead documents
// of each lane on their way before it looks at one.
__device__ __forceinline__ void markList(const plaid_candidates_args& a, unsigned* bits, long long first, long long words, Span list) {
  constexpr int kAhead = 8;
  for (long long from = list.lo + threadIdx.x % kLanes; from < list.hi; from += kAhead * kLanes) {
    const int* doc = (const int*)a.list_doc + from;
    const int left = (int)min((list.hi - from + kLanes - 1) / kLanes, (long long)kAhead);
    int j[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; i++) j[i] = i < left ? doc[i * kLanes] : 0;
#pragma unroll
    for (int i = 0; i < kAhead; i++) {
      if (i >= left) break;
      const unsigned w = (unsigned)(j[i] / 32 - first); // of a span before: too large
      if (j[i] < 0 || j[i] >= a.documents)
        raiseFault(a.status, a.tag, 2, 3, from + i * kLanes);
      else if (w < words)
        atomicOr(bits + w, 1u << (j[i] % 32));
    }
  }
}

// fill writes -1 from row+at to row+end: the share of one thread of a number that work together.
__device__ __forceinline__ void fill(int* row, long long at, long long end, long long thread, long long threads) {
  const long long wide = min(at + (int)(-(unsigned long long)(row + at) & 15) / 4, end), pieces = (end - wide) / 4;
  if (at + thread < wide) row[at + thread] = -1;
  int4* to = (int4*)(row + wide);
  for (long long i = thread; i < pieces; i += threads) to[i] = make_int4(-1, -1, -1, -1);
  if (wide + pieces * 4 + thread < end) row[wide + pieces * 4 + thread] = -1;
}

}  // namespace plaid
