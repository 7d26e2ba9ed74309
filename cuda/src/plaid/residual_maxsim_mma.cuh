// residual_maxsim in f16 on warp-level products. A block of four warps takes places one after the other, for up to eight chunks
// of 32 query tokens at once, which may be of one query or of several. Query fragments lie in shared memory. A warp decodes 32
// document tokens to fragments in registers, centroid + weight in f16, and multiplies them with every chunk whose query has
// this document at this place, so that queries with the same candidates share the decoding. Inverse norms multiply products.
//
// Lane l has tokens l/4 + 8h, h < 4, of its warp, and of each row of products query tokens 8(l%4) .. 8(l%4)+7.
#pragma once
#include "args/residual_maxsim_args.h"
#include "common/order.cuh"
#include "plaid/plaid_element.cuh"
#include "plaid/plaid_fixed.cuh"
#include "plaid/plaid_listing.cuh"
#include "plaid/plaid_mma.cuh"
#include "plaid/residual_half.cuh"

namespace plaid {

constexpr int kHalfWarps = 4, kHalfThreads = kHalfWarps * kLanes;
constexpr int kHalfTokens = 32;                     // of a warp in a round
constexpr int kHalfRound = kHalfWarps * kHalfTokens;
constexpr int kChunks = 8;                          // most of a pass
constexpr int kHalfPlaces = kHalfThreads / kChunks; // whose documents a block looks up at a time
constexpr int kChunkBytes = 8192;                   // query fragments of a chunk at most

struct HalfState {
  // The chunks of the pass.
  int chunks;
  long long query[kChunks], first[kChunks]; // query, first token
  int rows[kChunks];
  bool head[kChunks]; // the query's first chunk
  // The documents of the chunks' queries at the places looked up.
  long long lo[kHalfPlaces][kChunks], n[kHalfPlaces][kChunks];
  float best[2][kChunks][kHalfWarps][kLanes];
};

// Words is the number of packed words of a lane.
template <class Pack, int Words> struct HalfScreen {
  static constexpr int kSteps = Words * Pack::kRegisters / 2; // products of 16 components
  static constexpr int kPairs = kSteps / 2;                   // 16-byte pieces of a lane's query fragment

  const residual_maxsim_args& a;
  HalfState& s;
  const Faults& faults;
  unsigned fragments; // shared address: kChunkBytes for each chunk
  Pack pack;
  int lane, warp, words;

  unsigned v[2][kSteps][4]; // fragments of two times 16 tokens
  float inverse[4];
  bool in[4];
  bool all;

  __device__ __forceinline__ HalfScreen(const residual_maxsim_args& a, HalfState& s, const Faults& faults, unsigned dynamic)
      : a(a), s(s), faults(faults), fragments(dynamic), pack((const float*)a.weight),
        lane(threadIdx.x % kLanes), warp(threadIdx.x / kLanes), words((int)a.rb / 4) {}

  // gather lists the chunks of the queries from i on, as many as there is room for, and returns the query after them.
  __device__ __forceinline__ long long gather(long long i, int capacity) {
    __syncthreads(); // the pass before is over
    int n = 0;
    for (; i < a.nq; i++) {
      const Span q = segment((const long long*)a.query_off, i, a.tq);
      const int need = (int)min(max((q.size() + kLanes - 1) / kLanes, 1ll), (long long)kChunks); // the binding refuses longer ones
      if (n > 0 && n + need > capacity) break;
      for (int c = 0; c < need && n < capacity; c++, n++) {
        if (threadIdx.x != 0) continue;
        s.query[n] = i, s.first[n] = q.lo + c * kLanes, s.rows[n] = (int)min(max(q.size() - c * kLanes, 0ll), (long long)kLanes), s.head[n] = c == 0;
      }
    }
    if (threadIdx.x == 0) s.chunks = n;
    __syncthreads();
    return i;
  }

  // loadQueries writes the fragments of the pass's chunks.
  __device__ __forceinline__ void loadQueries() const {
    const int column = lane / 4;
    for (int x = warp; x < s.chunks * 4 * Words; x += kHalfWarps) {
      const int c = x / (4 * Words), n = x / Words % 4, w = x % Words;
      const int q = column / 2 * 8 + n * 2 + column % 2, word = lane % 4 + 4 * w;
      unsigned r[Pack::kRegisters] = {};
      if (q < s.rows[c] && word < words)
        Pack::arrange((const uint4*)((const unsigned short*)a.query + (s.first[c] + q) * a.d + word * (32 / Pack::kBits)), r);
#pragma unroll
      for (int i = 0; i < Pack::kRegisters / 4; i++) storeShared16(fragment(c, w * Pack::kRegisters / 4 + i, n), {r[4 * i], r[4 * i + 1], r[4 * i + 2], r[4 * i + 3]});
    }
  }

  // fragment is where two products' registers of a lane lie.
  __device__ __forceinline__ unsigned fragment(int c, int pair, int n) const { return fragments + c * kChunkBytes + ((pair * 4 + n) * kLanes + lane) * 16; }

  static __device__ __forceinline__ void storeShared16(unsigned at, uint4 w) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(w.x), "r"(w.y), "r"(w.z), "r"(w.w) : "memory");
  }

  // lookUp finds the documents of all chunks at the places [e0, e0+places).
  __device__ __forceinline__ void lookUp(long long e0, int places) {
    __syncthreads(); // those before have been read
    const int p = threadIdx.x / kChunks, c = threadIdx.x % kChunks;
    if (p < places && c < s.chunks) {
      const Span t = entryTokens(a, faults, s.query[c], e0 + p, s.head[c]);
      s.lo[p][c] = t.lo, s.n[p][c] = t.size();
    }
    __syncthreads();
  }

  // decode makes fragments of n <= 32 tokens from u.
  __device__ __forceinline__ void decode(long long u, int n) {
    const int d = (int)a.d, rb = (int)a.rb;
    int code[4];
#pragma unroll
    for (int h = 0; h < 4; h++) {
      const int t = lane / 4 + 8 * h;
      code[h] = t < n ? ((const int*)a.code)[u + t] : -1;
      inverse[h] = t < n && a.inv_norm ? ((const float*)a.inv_norm)[u + t] : 1.0f;
    }
    unsigned word[4][Words];
#pragma unroll
    for (int h = 0; h < 4; h++) {
      const int t = lane / 4 + 8 * h;
      const unsigned* row = (const unsigned*)((const unsigned char*)a.packed + u * a.rb + t * rb);
#pragma unroll
      for (int w = 0; w < Words; w++) word[h][w] = t < n && lane % 4 + 4 * w < words ? row[lane % 4 + 4 * w] : 0;
      in[h] = t < n && code[h] >= 0 && code[h] < a.k;
      if (t < n && !in[h]) faults.badCode(u + t);
      if (!in[h]) code[h] = 0;
    }
    all = __all_sync(kAllLanes, in[0] && in[1] && in[2] && in[3]);
#pragma unroll
    for (int h = 0; h < 4; h++) {
      const unsigned short* centroid = (const unsigned short*)a.centroid + (long long)code[h] * d;
#pragma unroll
      for (int w = 0; w < Words; w++) {
        unsigned c[Pack::kRegisters] = {};
        if (lane % 4 + 4 * w < words) Pack::arrange((const uint4*)(centroid + (lane % 4 + 4 * w) * (32 / Pack::kBits)), c);
#pragma unroll
        for (int r = 0; r < Pack::kRegisters; r++) v[h / 2][(w * Pack::kRegisters + r) / 2][r % 2 * 2 + h % 2] = c[r];
      }
    }
#pragma unroll
    for (int h = 0; h < 4; h++)
#pragma unroll
      for (int w = 0; w < Words; w++) {
        unsigned x[Pack::kRegisters];
        pack.weights(word[h][w], x);
        const bool there = lane % 4 + 4 * w < words; // what is not must stay finite: zeros of the query meet it
#pragma unroll
        for (int r = 0; r < Pack::kRegisters; r++) {
          unsigned& y = v[h / 2][(w * Pack::kRegisters + r) / 2][r % 2 * 2 + h % 2];
          y = there ? addHalves(y, x[r]) : 0;
        }
      }
    if (a.normalize) normalize();
  }

  // normalize finds inverse norms from the decoded tokens.
  __device__ __forceinline__ void normalize() {
#pragma unroll
    for (int h = 0; h < 4; h++) {
      float sum = 0;
#pragma unroll
      for (int k = 0; k < kSteps; k++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
          const unsigned y = v[h / 2][k][i * 2 + h % 2];
          const float x0 = F16::widen((unsigned short)y), x1 = F16::widen((unsigned short)(y >> 16));
          sum = fmaf(x0, x0, fmaf(x1, x1, sum));
        }
      sum += __shfl_xor_sync(kAllLanes, sum, 1);
      sum += __shfl_xor_sync(kAllLanes, sum, 2);
      inverse[h] = inverseNorm(sum);
    }
  }

  // take adds the products with a chunk to its maxima.
  __device__ __forceinline__ void take(int c, float (&m)[8]) const {
    float acc[2][4][4];
#pragma unroll
    for (int i = 0; i < 32; i++) acc[i / 16][i / 4 % 4][i % 4] = 0.0f;
#pragma unroll
    for (int p = 0; p < kPairs; p++)
#pragma unroll
      for (int n = 0; n < 4; n++) {
        const uint4 b = loadShared16(fragment(c, p, n));
#pragma unroll
        for (int t = 0; t < 2; t++) mmaF16(acc[t][n], v[t][2 * p], b.x, b.y), mmaF16(acc[t][n], v[t][2 * p + 1], b.z, b.w);
      }
#pragma unroll
    for (int h = 0; h < 4; h++)
#pragma unroll
      for (int i = 0; i < 8; i++) {
        float x = acc[h / 2][i / 2][h % 2 * 2 + i % 2] * inverse[h];
        if (!all) x = in[h] ? x : negativeInfinity();
        m[i] = maxNaN(m[i], x);
      }
  }

  // document leaves the maxima of a document for the chunks of a set in s.best[turn].
  __device__ __forceinline__ void document(long long lo, long long n, unsigned set, int turn) {
    const int rounds = (int)((n + kHalfRound - 1) / kHalfRound);
#pragma unroll 1
    for (int r = 0; r < rounds; r++) {
      const long long at = (long long)r * kHalfRound + warp * kHalfTokens;
      const int count = (int)min(max(n - at, 0ll), (long long)kHalfTokens);
      if (count > 0) decode(lo + at, count);
#pragma unroll 1
      for (unsigned rest = set; rest; rest &= rest - 1) {
        const int c = __ffs(rest) - 1;
        if (count == 0 && r > 0) continue;
        float m[8];
#pragma unroll
        for (int i = 0; i < 8; i++) m[i] = negativeInfinity();
        if (count > 0) take(c, m);
        leave(m, s.best[turn][c][warp], r == 0);
      }
    }
  }

  // leave joins the maxima of the warp's lanes, by query token, with those of the rounds before.
  __device__ __forceinline__ void leave(float (&m)[8], float* best, bool first) const {
    // Each step gives half of what is left away and takes the other half.
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const bool upper = lane & 16;
      const float give = upper ? m[i] : m[i + 4], keep = upper ? m[i + 4] : m[i];
      m[i] = maxNaN(keep, __shfl_xor_sync(kAllLanes, give, 16));
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const bool upper = lane & 8;
      const float give = upper ? m[i] : m[i + 2], keep = upper ? m[i + 2] : m[i];
      m[i] = maxNaN(keep, __shfl_xor_sync(kAllLanes, give, 8));
    }
    const bool upper = lane & 4;
    const float give = upper ? m[0] : m[1], keep = upper ? m[1] : m[0];
    const float joined = maxNaN(keep, __shfl_xor_sync(kAllLanes, give, 4));
    float& b = best[lane % 4 * 8 + (lane & 16 ? 4 : 0) + (lane & 8 ? 2 : 0) + (lane & 4 ? 1 : 0)]; // this lane's in all rounds
    b = first ? joined : maxNaN(b, joined);
  }

  // place scores one place for the pass's queries.
  __device__ __forceinline__ void place(int p, long long e, int turn) {
    unsigned rest = (1u << s.chunks) - 1;
    while (rest) {
      const int c0 = __ffs(rest) - 1;
      const long long lo = s.lo[p][c0], n = s.n[p][c0];
      unsigned set = 0;
      for (int c = c0; c < s.chunks; c++)
        if (s.lo[p][c] == lo && s.n[p][c] == n) set |= 1u << c;
      rest &= ~set;
      if (n > 0) document(lo, n, set, turn);
    }
    __syncthreads(); // the next place writes the other half
    for (int c = 0; c < s.chunks; c++)
      if (s.head[c] && (p + c) % kHalfWarps == warp) write(c, p, e, turn);
  }

  // write sums a query's maxima, which begin at chunk c.
  __device__ __forceinline__ void write(int c, int p, long long e, int turn) {
    const long long query = s.query[c];
    const int shift = ((const int*)a.shift)[query];
    FixedSum sum;
    for (int x = c; x < s.chunks && s.query[x] == query; x++) {
      float best = s.best[turn][x][0][lane];
#pragma unroll
      for (int w = 1; w < kHalfWarps; w++) best = maxNaN(best, s.best[turn][x][w][lane]);
      if (s.n[p][c] > 0 && lane < s.rows[x]) sum.add(best, stepsOf(shift));
    }
    sum.join();
    if (lane != 0) return;
    if (sum.beyond()) faults.beyond(query);
    ((float*)a.score)[query * a.c + e] = fixedScore(s.n[p][c] > 0 ? sum.fixed() : kFixedNegInf, shift);
  }

  static __device__ __forceinline__ unsigned addHalves(unsigned a, unsigned b) {
    unsigned r;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
  }
};

// halfScreen is the kernel. Block (x, y) takes a run of places for every pass y of gridDim.y.
template <class Pack, int Words> __device__ __forceinline__ void halfScreen(const residual_maxsim_args& a, unsigned dynamic, HalfState& s) {
  const Faults faults = {a.status, a.tag, 8, 2, 10};
  const int capacity = (int)dynamicShared() / kChunkBytes;
  HalfScreen<Pack, Words> w(a, s, faults, dynamic);
  checkAxes(a, 1, 4);
  long long pass = 0;
  for (long long i = 0; i < a.nq; pass++) {
    i = w.gather(i, capacity);
    if (pass % gridDim.y != blockIdx.y) continue;
    w.loadQueries(); // lookUp's barrier follows
    long long most = 0;
    for (int c = 0; c < s.chunks; c++) most = max(most, livePlaces(a, s.query[c]));
    for (int c = 0; c < s.chunks; c++)
      if (s.head[c]) fillPlaces(a, s.query[c], most);
    const long long each = (most + gridDim.x - 1) / gridDim.x, e1 = min((blockIdx.x + 1) * each, most);
    for (long long e = blockIdx.x * each; e < e1; e += kHalfPlaces) {
      const int places = (int)min(e1 - e, (long long)kHalfPlaces);
      w.lookUp(e, places);
      for (int p = 0; p < places; p++) w.place(p, e + p, p % 2);
    }
  }
}

}  // namespace plaid
