// How the tiled MaxSim bodies share work: groups of whole queries against runs of whole documents.
//
// Rows are query tokens, columns document tokens. Queries are packed: a group is consecutive whole queries whose
// rows fill a tile of kRows as well as they can; a query longer than the tile makes a group of several chunks.
// Documents are streamed: a block takes consecutive documents and cuts their tokens into tiles without regard
// to where documents begin, so that no column of a tile is wasted; maxima are taken per document. Which block
// takes what never changes a score's bits: a dot product depends on its two tokens alone, a maximum is exact,
// and a query's maxima are added in ascending order.
//
// Sizes are below 2^31 (the bindings see to it); offsets are clamped, and offsets that decrease give wrong
// scores but stay inside the operands.
#pragma once
#include "common/async.cuh"

namespace maxsim {

constexpr int kLanes = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

// Ragged is an axis cut by offsets.
struct Ragged {
  const long long* off;
  int n, axis;

  __device__ __forceinline__ int at(int i) const { return (int)min(max(off[i], 0ll), (long long)axis); }

  // guess is about where a value that lies part/parts into the offsets' range stands if they are evenly spaced.
  __device__ __forceinline__ int guess(int part, int parts) const { return min((int)((float)n * part / max(parts, 1)), n); }

  // prefetch starts loading what a search from a guess looks at first, and both ends.
  __device__ __forceinline__ void prefetch(int guess) const {
    const int lane = threadIdx.x % kLanes;
    prefetchLine(off + (lane < 3 ? min(max(guess + 16 * (lane - 1), 0), n) : lane == 3 ? n : 0));
  }

  // firstAtLeast2 finds, for two values at once, the lowest i of [0, n] with at(i) >= value (n if none) and
  // at(i) itself; end is at(n). All lanes call it. The first round looks at the 32 entries around a guess, which ends it where
  // lengths are even; further ones divide what is left by 32. The two searches share a round's latency. What is
  // found depends on value and guess alone, so that what is cut by it has one taker where offsets ascend.
  __device__ __forceinline__ void firstAtLeast2(int v0, int guess0, int v1, int guess1, int end, int* i0, int* t0, int* i1, int* t1) const {
    const int lane = threadIdx.x % kLanes;
    const int value[2] = {v0, v1};
    int lo[2], hi[2] = {n, n}, at_hi[2] = {end, end}, probe[2];
#pragma unroll
    for (int k = 0; k < 2; k++) {
      lo[k] = max(0, min((k == 0 ? guess0 : guess1) - kLanes / 2, n - kLanes + 1));
      probe[k] = at(min(lo[k] + lane, n));
    }
#pragma unroll
    for (int k = 0; k < 2; k++) {
      const int entries = min(kLanes, n + 1 - lo[k]); // of the window that exist
      int c = __popc(__ballot_sync(kAllLanes, lane < entries && probe[k] < value[k]));
      int first = __shfl_sync(kAllLanes, probe[k], min(c, kLanes - 1));
      if (c == entries) { // all lie below the answer
        lo[k] = min(lo[k] + c, n);
      } else {
        hi[k] = lo[k] + c, at_hi[k] = first;
        lo[k] = c > 0 ? hi[k] : 0;
      }
    }
    while (lo[0] < hi[0] || lo[1] < hi[1]) {
      int step[2];
#pragma unroll
      for (int k = 0; k < 2; k++) {
        step[k] = (hi[k] - lo[k] + kLanes - 1) / kLanes;
        int p = lo[k] + step[k] * (lane + 1) - 1;
        probe[k] = at(min(max(p, 0), hi[k])); // hi may be n, which has an entry
      }
#pragma unroll
      for (int k = 0; k < 2; k++) {
        if (lo[k] >= hi[k]) continue;
        int p = lo[k] + step[k] * (lane + 1) - 1;
        unsigned below = __ballot_sync(kAllLanes, p < hi[k] && probe[k] < value[k]);
        int c = __popc(below);                                // probes that lie below the answer
        int first = __shfl_sync(kAllLanes, probe[k], min(c, kLanes - 1)); // the next one, if it was a probe
        int next = lo[k] + step[k] * (c + 1) - 1;
        if (c < kLanes && next < hi[k]) hi[k] = next, at_hi[k] = first;
        lo[k] = min(lo[k] + step[k] * c, hi[k]);
      }
    }
    *i0 = lo[0], *t0 = at_hi[0], *i1 = lo[1], *t1 = at_hi[1];
  }
};

// Work is what a launch has to do, the same in all its blocks.
struct Work {
  Ragged query, doc;
  int row0, row1;     // rows that belong to queries
  int token0, token1; // tokens that belong to documents
  int uniform;        // rows of every query, 0 if they differ
  int span, groups;   // group g takes the queries that start in [row0 + g*span, row0 + (g+1)*span)

  // longest is the longest query's rows.
  __device__ __forceinline__ void cut(int longest, int rows) {
    row0 = query.at(0), row1 = max(row0, query.at(query.n));
    token0 = doc.at(0), token1 = max(token0, doc.at(doc.n));
    uniform = (long long)longest * query.n == row1 - row0 ? longest : 0;
    if (uniform > 0)
      span = max(1, rows / uniform) * uniform;
    else
      span = max(rows - longest + 1, rows / 2); // a group is at most span + longest - 1 rows
    groups = query.n == 1 ? 1 : max(1, (row1 - row0 + span - 1) / span);
  }
};

// longestQuery is this thread's share of the maximum over queries; a block's maximum is Work::cut's longest.
__device__ __forceinline__ int longestQuery(const Ragged& q, int thread, int threads) {
  int most = 0;
  if (q.n == 1) return 0; // one group whatever its length: the load would only delay the start
  for (int i = thread; i < q.n; i += threads) most = max(most, q.at(i + 1) - q.at(i));
  return most;
}

// Piece is a block's share of one group: queries [q0, q1), rows [row0, row1), documents [j0, j1) on tokens
// [t0, t1).
struct Piece {
  int q0, q1, row0, row1;
  int j0, j1, t0, t1;
  int id;          // counts the pieces of a launch; those of one group are consecutive
  bool head, tail; // the first (last) document began in the piece before (continues in the next)
};

// Pieces cuts groups x tokens evenly over the blocks. Without Split a block takes the documents that start in its
// part; with Split it takes the part's tokens, and a document over an edge is joined later. All lanes of a warp
// step together.
template <bool Split> struct Pieces {
  const Work& work;
  long long at, end;
  int width, rows; // rows of a tile: a group of several chunks is never split

  __device__ __forceinline__ Pieces(const Work& w, int rows) : work(w), rows(rows) {
    width = max(w.token1 - w.token0, 1);
    at = startOf(blockIdx.x), end = startOf(blockIdx.x + 1);
  }

  // startOf is the first point of a block's part of groups x tokens: even parts, of what is long to 2^-20 of it, since
  // long division costs too much at a kernel's start. Grids are below 4096 blocks. No part before the last one that has
  // anything is empty.
  __device__ __forceinline__ long long startOf(unsigned block) const {
    const unsigned long long all = (unsigned long long)work.groups * width;
    if (all >> 32 == 0) {
      const unsigned each = (unsigned)all / gridDim.x;
      return each * block + min(block, (unsigned)all - each * gridDim.x);
    }
    if (block >= gridDim.x) return all;
    const unsigned part = (block << 20) / gridDim.x;
    return ((all >> 12) * part >> 8) + ((all & 4095) * part >> 20);
  }

  // piecesTo counts the blocks after this one whose parts of group g reach up to the token.
  __device__ __forceinline__ int piecesTo(int token, int g) const {
    int n = 0;
    long long reach;
    do reach = work.token0 + min(startOf(blockIdx.x + ++n + 1) - (long long)g * width, (long long)width);
    while (reach < token && blockIdx.x + n + 1 < gridDim.x);
    return n;
  }

  __device__ __forceinline__ bool next(Piece& p) {
    if (at >= end) return false;
    const int g = work.groups == 1 ? 0 : (int)(at / width);
    int a = (int)(at - (long long)g * width), b = (int)min(end - (long long)g * width, (long long)width);
    at = (long long)g * width + b;
    queries(p, g);
    p.id = blockIdx.x + g, p.head = p.tail = false;
    documents(p, a, b, Split && p.row1 - p.row0 <= rows);
    return true;
  }

  // The end of one block's part is computed as the start of the next one's, so that every document, and with
  // split every token, has one taker.
  __device__ __forceinline__ void documents(Piece& p, int a, int b, bool split) const {
    p.j0 = 0, p.t0 = work.token0, p.j1 = work.doc.n, p.t1 = work.token1;
    if (a == 0 && b == width) return;
    int j0, t0, j1, t1;
    work.doc.firstAtLeast2(work.token0 + a, work.doc.guess(a, width), work.token0 + b, work.doc.guess(b, width), work.token1, &j0, &t0, &j1, &t1);
    if (a > 0) {
      p.head = split && (j0 == work.doc.n || t0 > work.token0 + a);
      p.j0 = p.head ? max(j0 - 1, 0) : j0, p.t0 = split ? work.token0 + a : t0;
    }
    if (b < width) {
      p.j1 = max(p.j0, j1);
      p.tail = split && t1 > work.token0 + b && p.j0 < p.j1; // offsets that decrease may leave no document
      p.t1 = split ? work.token0 + b : t1;
    }
    p.t1 = max(p.t0, p.t1);
  }

  __device__ __forceinline__ void queries(Piece& p, int g) const {
    const Work& w = work;
    if (w.groups == 1) {
      p.q0 = 0, p.q1 = w.query.n, p.row0 = w.row0, p.row1 = w.row1;
      return;
    }
    if (w.uniform > 0) {
      int per = w.span / w.uniform;
      p.q0 = min(g * per, w.query.n), p.q1 = min(p.q0 + per, w.query.n);
      p.row0 = w.row0 + p.q0 * w.uniform, p.row1 = w.row0 + p.q1 * w.uniform;
      return;
    }
    const int r0 = g * w.span, r1 = r0 + w.span, all = w.row1 - w.row0;
    w.query.firstAtLeast2(w.row0 + r0, w.query.guess(r0, all), w.row0 + r1, w.query.guess(min(r1, all), all), w.row1, &p.q0, &p.row0, &p.q1, &p.row1);
    if (g == 0) p.q0 = 0, p.row0 = w.row0;
    if (g == w.groups - 1) p.q1 = w.query.n, p.row1 = w.row1;
    p.q1 = max(p.q0, p.q1), p.row1 = max(p.row0, p.row1);
  }
};

}  // namespace maxsim
