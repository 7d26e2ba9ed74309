// MaxSim on Hopper's warpgroup products. A block has consumer warpgroups, one warp that feeds the copy engine, and
// one warp that adds maxima to scores:
//
//	feeder    walks the block's work, publishes segments, copies query rows and document tokens
//	consumer  multiplies query rows with tiles of 128 tokens, keeps maxima in registers, hands over a document's
//	summer    adds a document's row maxima per query and writes scores
//
// They meet only at transaction barriers and a named one: a ring of 16 KiB token slots (128 tokens x 128 bytes of
// K), one or two query buffers, a queue of segments and a ring of document maxima. A consumer's fold of one tile
// runs while other warpgroups multiply. maxsim_wgmma_rows.cuh and maxsim_wgmma_tokens.cuh have the consumers.
#pragma once
#include "common/early.cuh"
#include "lateinteraction/maxsim_wgmma_roles.cuh"
#include "lateinteraction/maxsim_wgmma_rows.cuh"
#include "lateinteraction/maxsim_wgmma_tokens.cuh"

namespace maxsim {

template <class Args> __device__ __forceinline__ Summer summer(const Operands<Args>& p) {
  return {p.query(), p.doc(), (const unsigned char*)p.a.query_mask, (const unsigned char*)p.a.doc_mask, (float*)p.a.score,
          p.a.empty_zero != 0};
}

template <class F, bool Split, class Args> __device__ __forceinline__ void addUp(const Operands<Args>& p, Shared<F>& s) {
  const Summer sum = summer(p);
  const int lane = threadIdx.x % kLanes;
  Count<kQueueLog> queue;
  Count<F::kRingLog> ring;
  for (;;) {
    barrierWait(sharedAddress(&s.queued[queue.slot()]), queue.parity());
    const Segment g = s.queue[queue.slot()];
    took(s, queue.slot());
    queue.step();
    if (g.j0 < 0) return;
    const float* factor = nullptr;
    if constexpr (F::kScaled && F::kParts > 1) {
      factor = (const float*)p.a.query_scale + g.row0;
      if (!plainFactors(factor, g.rows)) factor = nullptr;
    }
    for (int j = g.j0; j < g.j1; j++) {
      awaitHanded<F>(ring.slot());
      float* maxima = s.maxima[ring.slot()][0];
      if (F::kParts > 1) {
        for (int r = lane; r < g.rows; r += kLanes) {
          float m = maxima[padded(r)];
#pragma unroll
          for (int i = 1; i < F::kParts; i++) m = maxNaN(m, s.maxima[ring.slot()][i][padded(r)]);
          maxima[padded(r)] = factor ? m * factor[r] : m;
        }
        __syncwarp();
      }
      const bool head = Split && g.head && j == g.j0, tail = Split && g.tail && j == g.j1 - 1;
      if (head || tail) {
        float* part = (float*)p.a.scratch + (2ll * g.id + (head ? 0 : 1)) * F::kRows;
        for (int r = lane; r < g.rows; r += kLanes) part[r] = maxima[padded(r)];
      } else {
        sum.add(g.q0, g.q1, g.row0, g.rows, j, [&](int r) { return maxima[padded(r)]; });
      }
      barrierArrive(sharedAddress(&s.spent[ring.slot()])); // every lane that read
      ring.step();
    }
  }
}

// kThreads is the block's size. Four consumer warpgroups leave 96 registers a thread and need a few more: the
// feeder's warpgroup, then whole, gives up some of its own: 640 x 96 = 512 x 104 + 128 x 64 = 512 x 112 + 128 x 32.
template <class F> constexpr int kThreads = F::kGroups * 128 + (F::kGroups == 4 ? 128 : 64);

template <class F> __device__ __forceinline__ void initBarriers(Shared<F>& s, const Layout<F>& l, int lane) {
  constexpr int kWarps = F::kGroups * 4;
  if (lane < kSlots) barrierInit(sharedAddress(&s.full[lane]), 1), barrierInit(sharedAddress(&s.empty[lane]), l.owned ? 4 : kWarps);
  if (lane < 2) barrierInit(sharedAddress(&s.queryFull[lane]), 1), barrierInit(sharedAddress(&s.queryEmpty[lane]), kWarps);
  if (lane < kQueue) barrierInit(sharedAddress(&s.queued[lane]), 1), barrierInit(sharedAddress(&s.taken[lane]), (kWarps + 1) * kLanes);
  if (lane < Shared<F>::kRing) barrierInit(sharedAddress(&s.spent[lane]), kLanes);
  barriersVisible();
}

// stream is the kernel of a form. kQueryOff and kDocOff are the operand numbers of the offsets.
template <class E, class F, template <class, class, class> class Consumer, bool Split, int kQueryOff, int kDocOff, class Args>
__device__ __forceinline__ void stream(const Args& a, const TensorMap* queryMap, const TensorMap* docMap, const TensorMap* scaleMap) {
  constexpr int kWarps = F::kGroups * 4;
  __shared__ Shared<F> s;
  const Operands<Args> p = {a, queryMap, docMap, scaleMap};
  const long long rowBytes = a.d * (long long)E::kBytes;
  const Layout<F> l(rowBytes);
  const int warp = uniformWarp(), lane = threadIdx.x % kLanes;
  // Prefetches to the second-level cache do not wait for the kernel in front: whoever writes there is seen by all.
  const int guess = p.doc().guess(blockIdx.x + warp - kWarps, gridDim.x); // of warps kWarps and the next
  if (warp == kWarps + 1) readAhead<F>(a, rowBytes);
  if (warp >= kWarps && warp < kWarps + 2) readOffsetsAhead(p.query(), p.doc(), guess);
  if (warp == 0) initBarriers<F>(s, l, lane);
  if (threadIdx.x == kWarps * kLanes) {
    prefetchMap(*queryMap), prefetchMap(*docMap);
    if (F::kScaled) prefetchMap(*scaleMap);
  }
  awaitEarlier();
  letNext();
  if (warp >= kWarps && warp < kWarps + 2) p.doc().prefetch(guess);
  int longest = __reduce_max_sync(kAllLanes, longestQuery(p.query(), threadIdx.x, blockDim.x));
  if (lane == 0) s.longest[warp] = longest;
  __syncthreads();

  if (warp < kWarps) {
    if (F::kGroups == 4) registersUp<F::kScaled ? 112 : 104>();
    Consumer<E, F, Args>{p, s, l}.run();
    return;
  }
  if (F::kGroups == 4) registersDown<F::kScaled ? 32 : 64>();
  if (warp == kWarps) {
    Feeder<F, Split, Args> f{p, s, l};
    f.element = kSpan / E::kBytes;
    f.run(__reduce_max_sync(kAllLanes, lane < (int)blockDim.x / kLanes ? s.longest[lane] : 0));
  } else if (warp == kWarps + 1) {
    const int first = blockIdx.x * kLanes + lane, all = gridDim.x * kLanes;
    checkOffsets(p.query().off, a.nq, a.tq, kQueryOff, a.status, a.tag, first, all);
    checkOffsets(p.doc().off, a.nd, a.td, kDocOff, a.status, a.tag, first, all);
    addUp<F, Split>(p, s);
  }
}

constexpr int kJoinThreads = 128;

// join completes the documents that a split launch cut: block b takes those whose first part is block b's. It has
// the split launch's grid and cuts the work as that did.
template <int Rows, class Args> __device__ __forceinline__ void join(const Args& a) {
  __shared__ float maxima[Rows + Rows / 32];
  __shared__ int longest[kJoinThreads / kLanes];
  const Operands<Args> p = {a};
  const int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  awaitEarlier();
  letNext();
  int most = __reduce_max_sync(kAllLanes, longestQuery(p.query(), threadIdx.x, kJoinThreads));
  if (lane == 0) longest[warp] = most;
  __syncthreads();
  Work work = {p.query(), p.doc()};
  work.cut(__reduce_max_sync(kAllLanes, lane < kJoinThreads / kLanes ? longest[lane] : 0), Rows);
  Pieces<true> pieces(work, Rows);
  const Summer sum = summer(p);
  const float* parts = (const float*)a.scratch;
  Piece c;
  while (pieces.next(c)) { // the same in all threads, so that the barriers are met by all
    if (!c.tail || (c.head && c.j1 - c.j0 == 1)) continue;
    const int j = c.j1 - 1, rows = c.row1 - c.row0, more = pieces.piecesTo(work.doc.at(c.j1), c.id - blockIdx.x);
    for (int r = threadIdx.x; r < rows; r += kJoinThreads) {
      float m = parts[(2ll * c.id + 1) * Rows + r];
      for (int k = 1; k <= more; k++) m = maxNaN(m, parts[2ll * (c.id + k) * Rows + r]);
      maxima[padded(r)] = m;
    }
    __syncthreads();
    if (warp == 0) sum.add(c.q0, c.q1, c.row0, rows, j, [&](int r) { return maxima[padded(r)]; });
    __syncthreads();
  }
}

}  // namespace maxsim
