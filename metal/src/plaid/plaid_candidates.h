// plaid_candidates, variant bitmap.
//
// Operation: per query the distinct documents in the lists of its cells that are allowed, ascending, then -1, and their
// number; and as a bitmap the cells. Cell -1 is none; other cells outside the centroids, and listed documents outside
// [0, documents), are reported and left out.
// Axes: tq query tokens, p cells to a token, nq queries, k centroids, l entries of all lists, w words of documents, kw
// words of cells, c places for candidates.
// Stages: offsets (listing.h); clear the bitmaps; mark a bit for each document that is met; then this.
// Scratch: nq+1 query offsets, k+1 list offsets, nq bitmaps of the documents, as uint.
// Geometry: clear: one thread a word, threadgroups of 256. mark: a threadgroup of 64 threads a cell of a token. Then a
// threadgroup of 256 threads a query.
// Threadgroup memory: offsets and the last stage 128 bytes. Requirements: simdgroup reductions.
// Variant: bits make documents distinct and put them in order; places are counts of bits.
#pragma once
#include "args/plaid_candidates_args.h"
#include "plaid/listing.h"

enum { GATHER_THREADS = 256, MARK_THREADS = 64 };

// Words of scratch.
static inline long document_words(constant plaid_candidates_args &a) { return (a.documents + 31) / 32; }
static inline long seen_at(constant plaid_candidates_args &a, long i) { return a.nq + 1 + a.k + 1 + i * document_words(a); }

template <typename T>
[[kernel]] void plaid_candidates_offsets(device const long *query_off [[buffer(PLAID_CANDIDATES_QUERY_OFF)]],
                                         device const long *list_off [[buffer(PLAID_CANDIDATES_LIST_OFF)]],
                                         device uint *trusted [[buffer(PLAID_CANDIDATES_BUFFER_SCRATCH)]],
                                         device atomic_uint *status [[buffer(PLAID_CANDIDATES_BUFFER_STATUS)]],
                                         constant plaid_candidates_args &a [[buffer(PLAID_CANDIDATES_BUFFER_ARGS)]],
                                         uint side [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]],
                                         uint lane [[thread_index_in_simdgroup]], uint group [[simdgroup_index_in_threadgroup]],
                                         uint groups [[simdgroups_per_threadgroup]]) {
  threadgroup uint part[MAX_SIMDGROUPS];
  lanes l = {index, OFFSETS_THREADS, lane, group, groups};
  trust_listing(side, query_off, a.nq, a.tq, PLAID_CANDIDATES_QUERY_OFF, list_off, a.k, a.l, PLAID_CANDIDATES_LIST_OFF, trusted, l, part, status, a.tag);
}

template <typename T>
[[kernel]] void plaid_candidates_clear(device uint *scratch [[buffer(PLAID_CANDIDATES_BUFFER_SCRATCH)]], device uint *live [[buffer(PLAID_CANDIDATES_LIVE)]],
                                       constant plaid_candidates_args &a [[buffer(PLAID_CANDIDATES_BUFFER_ARGS)]], uint p [[thread_position_in_grid]]) {
  long i = p;
  if (i < a.nq * document_words(a)) scratch[seen_at(a, 0) + i] = 0;
  if (a.live != 0 && i < a.nq * a.kw) live[i] = 0;
}

// query_of is the query that token t belongs to, -1 for one before the first or after the last.
static inline long query_of(device const uint *trusted, long nq, long t) {
  long low = 0, high = nq + 1; // offsets before low are at most t, those from high on are more
  while (low < high) {
    long middle = (low + high) / 2;
    if (long(trusted[middle]) <= t) low = middle + 1;
    else high = middle;
  }
  return low == 0 || low > nq ? -1 : low - 1;
}

static inline void set_bit(device uint *words, long i) {
  atomic_fetch_or_explicit((device atomic_uint *)(words + i / 32), 1u << (i % 32), memory_order_relaxed);
}

template <typename T>
[[kernel]] void plaid_candidates_mark(device const int *cell [[buffer(PLAID_CANDIDATES_CELL)]], device const int *doc [[buffer(PLAID_CANDIDATES_LIST_DOC)]],
                                      device uint *live [[buffer(PLAID_CANDIDATES_LIVE)]], device uint *scratch [[buffer(PLAID_CANDIDATES_BUFFER_SCRATCH)]],
                                      device atomic_uint *status [[buffer(PLAID_CANDIDATES_BUFFER_STATUS)]],
                                      constant plaid_candidates_args &a [[buffer(PLAID_CANDIDATES_BUFFER_ARGS)]],
                                      uint at [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]]) {
  long i = query_of(scratch, a.nq, at / a.p), x = cell[at];
  if (i < 0) return; // no barrier follows
  if (x < 0 || x >= a.k) {
    if (x != -1) report(status, a.tag, 1, PLAID_CANDIDATES_CELL, at);
    return;
  }
  if (a.live != 0 && index == 0) set_bit(live + i * a.kw, x);
  segment list = segment_at(scratch + a.nq + 1, x);
  for (long e = list.begin + index; e < list.end; e += MARK_THREADS) {
    long j = doc[e];
    if (j < 0 || j >= a.documents) report(status, a.tag, 2, PLAID_CANDIDATES_LIST_DOC, e);
    else set_bit(scratch + seen_at(a, i), j);
  }
}

template <typename T>
[[kernel]] void plaid_candidates_bitmap(device const uint *allowed [[buffer(PLAID_CANDIDATES_ALLOWED)]],
                                        device int *candidate [[buffer(PLAID_CANDIDATES_CANDIDATE)]], device long *count [[buffer(PLAID_CANDIDATES_COUNT)]],
                                        device const uint *scratch [[buffer(PLAID_CANDIDATES_BUFFER_SCRATCH)]],
                                        constant plaid_candidates_args &a [[buffer(PLAID_CANDIDATES_BUFFER_ARGS)]], uint i [[threadgroup_position_in_grid]],
                                        uint index [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                                        uint group [[simdgroup_index_in_threadgroup]], uint groups [[simdgroups_per_threadgroup]]) {
  threadgroup uint part[MAX_SIMDGROUPS];
  lanes l = {index, GATHER_THREADS, lane, group, groups};
  device const uint *seen = scratch + seen_at(a, i);
  device int *mine = candidate + long(i) * a.c;
  long found = 0;
  for (long base = 0; base < document_words(a); base += GATHER_THREADS) {
    long word = base + index;
    uint bits = word < document_words(a) ? seen[word] : 0, all;
    if (a.allowed != 0 && bits != 0) bits &= allowed[word];
    long at = found + group_prefix(popcount(bits), l, part, all);
    for (; bits != 0; bits &= bits - 1) mine[at++] = int(word * 32 + ctz(bits));
    found += all;
  }
  for (long e = found + index; e < a.c; e += GATHER_THREADS) mine[e] = -1;
  if (index == 0) count[i] = found;
}
