// What the bodies that start from centroid scores share. Documents are cut into tiles of 16 tokens; of a tile's product with 32
// query tokens, a chunk, lane l has tokens l/4 and l/4+8 with query tokens 8(l%4) .. 8(l%4)+7, so that it reads neighbouring
// centroid scores, from global memory to registers, a tile or two ahead. Maxima stay in registers until the document ends.
//
// A block takes a group of queries, up to one for a warp, and the documents at some of their places. Where all queries have the
// same documents there, its warps decode a stage of a tile each to shared memory, and each multiplies them with a chunk of its
// own (together). Elsewhere a warp goes through the documents of its query and decodes for itself (alone), as it does where there
// is one chunk only: then all warps share the places, and each has an equal run of tiles. These are two kernels with the same
// grid, each of which passes over what is the other's: in one, each has too few registers. Where rows of packed words fill the
// lanes, what is alone comes through a ring in shared memory (wholes).
//
// Rows past the end of a document repeat its last token, which no maximum notices.
#pragma once
#include "plaid/residual_ring.cuh"
#include "plaid/residual_tile.cuh"

namespace plaid {

// Tiles goes through documents. Body multiplies and finishes:
//	Store, State                         type of a centroid score; what the block has beside a TileState
//	Sum                                  of maxima, in ascending order of query tokens, to be kept in State
//	kWords, kSteps                       packed words of a lane and token; products of 32 bytes a tile
//	kWarps                               of a block
//	chunksBefore(i)                      chunks of the queries before i, if it wants to know
//	rows(chunk)                          where its centroid scores lie
//	load(chunk)                          query tokens; reports whether -inf stays what it is in products
//	decode(low, high, v)                 fragments from the words of two tokens
//	multiply(source)                     multiplies fragments, source(w, v), which come by word
//	take(score, inverse, in, all)        has the maxima take the products
//	join()                               the maximum of query token tileColumn(lane), over the lanes
// Shared and Whole are what a kernel is for: the places where the chunks of a group share documents, or all others; rows that fill
// the lanes. Together they would not fit the registers.
template <class Body, class Args, bool Shared, bool Whole> struct Tiles {
  using Store = typename Body::Store;
  using State = typename Body::State;
  static constexpr int kTileWarps = Body::kWarps, kTileThreads = kTileWarps * kLanes, kBestBytes = kTileThreads * kBestWords * 4;
  static constexpr int kStageBytes = kTileWarps * kTileTokens * 4; // a word for each token of a stage
  static constexpr int kWords = Body::kWords, kSteps = Body::kSteps, kWordSteps = kSteps / kWords, kVectors = sizeof(Store) / 2;
  static constexpr int kFragmentBytes = kTileWarps * kSteps * kLanes * 16;
  // Shared memory: maxima; then, where chunks share documents, fragments and inverse norms of two stages, codes and
  // descriptions of four.
  static constexpr int kInverses = kBestBytes + 2 * kFragmentBytes, kCells = kInverses + 2 * kStageBytes, kCell = 80, kMark = 64, kCellsEnd = kCells + 4 * kTileWarps * kCell;
  // Where rows are whole, each warp has a ring instead.
  using Ring = plaid::Ring<kWords, State>;
  static constexpr int kShared = Shared ? kCellsEnd : kBestBytes + (Whole ? kTileWarps * Ring::kBytes : 0);
  using Tile = plaid::Tile<kWords>;
  using Scores = plaid::Scores<kVectors>;

  const Args& a;
  State& s;
  Body& body;
  const Faults& faults;
  unsigned char* dynamic;
  const unsigned char* packed; // at the lane's words of a row
  // Scores of the chunk: the first row at the lane's query tokens, bytes between rows, how many of the eight are wanted.
  const unsigned char* base;
  unsigned stride;
  int columns;
  bool plain; // all eight are read at once, and so are a lane's words of a row; units are finite

  __device__ __forceinline__ Tiles(const Args& a, State& s, Body& body, const Faults& faults, unsigned char* dynamic)
      : a(a), s(s), body(body), faults(faults), dynamic(dynamic) {
    const int first = lane() % 4 * kWords;
    packed = (const unsigned char*)a.packed + (first * 4 < a.rb ? first * 4 : 0);
  }

  static __device__ __forceinline__ int lane() { return threadIdx.x % kLanes; }
  static __device__ __forceinline__ int warp() { return threadIdx.x / kLanes; }
  __device__ __forceinline__ unsigned* best(int row) const { return (unsigned*)dynamic + row * kBestWords; }

  // look turns to a chunk.
  __device__ __forceinline__ void look(const Chunk& c) {
    const int q = lane() % 4 * 8;
    columns = max(min(c.rows - q, 8), 0);
    const ScoreRows<Store> r = body.rows(c);
    const int at = columns > 0 ? q : 0;
    base = (const unsigned char*)(r.first + at), stride = r.stride;
    const bool words = a.rb % (4 * kWords) == 0 && a.packed % (4 * kWords) == 0, finite = body.load(c);
    plain = __all_sync(kAllLanes, finite && words && (unsigned long long)base % 16 == 0 && stride % 16 == 0 && at + 8 <= r.readable);
  }

  __device__ __forceinline__ const unsigned char* scoresAt(int code) const { return base + (unsigned long long)(unsigned)code * stride; }

  template <bool Plain> static __device__ __forceinline__ void loadScores(const unsigned char* p, int columns, uint4 (&to)[kVectors]) {
    if constexpr (Plain) {
#pragma unroll
      for (int i = 0; i < kVectors; i++) to[i] = __ldg((const uint4*)p + i);
      return;
    }
    unsigned v[4 * kVectors] = {};
#pragma unroll
    for (int i = 0; i < 8; i++)
      if (i < columns) {
        if constexpr (sizeof(Store) == 2)
          v[i / 2] |= (unsigned)__ldg((const unsigned short*)p + i) << i % 2 * 16;
        else
          v[i] = __ldg((const unsigned*)p + i);
      }
#pragma unroll
    for (int i = 0; i < kVectors; i++) to[i] = {v[4 * i], v[4 * i + 1], v[4 * i + 2], v[4 * i + 3]};
  }

  // Lanes past the end of a row take its first words; their query components are zeros.
  template <bool Plain> __device__ __forceinline__ void loadWords(unsigned token, unsigned (&to)[kWords]) const {
    const unsigned* p = (const unsigned*)(packed + (unsigned long long)token * (unsigned)a.rb);
    if constexpr (!Plain) {
      const int left = (int)a.rb / 4 - lane() % 4 * kWords;
#pragma unroll
      for (int i = 0; i < kWords; i++) to[i] = __ldg(p + (i < left ? i : 0));
    } else if constexpr (kWords == 1)
      to[0] = __ldg(p);
    else if constexpr (kWords == 2) {
      const uint2 v = __ldg((const uint2*)p);
      to[0] = v.x, to[1] = v.y;
    } else {
      const uint4 v = __ldg((const uint4*)p);
      to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
    }
  }

  __device__ __forceinline__ int codeOf(unsigned token) const { return __ldg((const int*)a.code + token); }
  __device__ __forceinline__ float inverseOf(unsigned token) const { return a.inv_norm ? __ldg((const float*)a.inv_norm + token) : 1.0f; }
  __device__ __forceinline__ bool known(int code) const { return (unsigned)code < (unsigned)a.k; }

  // leave joins the maxima of a document's tiles so far into a row.
  __device__ __forceinline__ void leave(int row) { atomicMax(best(row) + tileColumn(), orderKey(body.join())); }

  // tileColumn is the query token whose maximum the lane has after a join.
  static __device__ __forceinline__ int tileColumn() {
    const int l = lane();
    return l % 4 * 8 + (l & 16 ? 4 : 0) + (l & 8 ? 2 : 0) + (l & 4 ? 1 : 0);
  }

  // --- alone

  // Walk hands out the tiles of a list.
  struct Walk {
    int at, left; // place in s.lo, its tokens from the tile on
    unsigned token;

    // next moves on if there is more.
    __device__ __forceinline__ void next(const State& s, unsigned (&to)[2], bool more) {
      const int row = lane() / 4;
      to[0] = token + min(row, left - 1), to[1] = token + min(row + 8, left - 1);
      if (!more) return;
      token += kTileTokens, left -= kTileTokens;
      if (left > 0) return;
      do at++;
      while (s.n[at] == 0);
      token = s.lo[at], left = s.n[at];
    }
  };

  template <bool Plain> __device__ __forceinline__ void fetchWords(Tile& t) const {
#pragma unroll
    for (int h = 0; h < 2; h++) loadWords<Plain>(t.token[h], t.word[h]);
  }
  __device__ __forceinline__ void fetchCodes(const Tile& t, int (&code)[2]) const {
#pragma unroll
    for (int h = 0; h < 2; h++) code[h] = codeOf(t.token[h]);
  }

  // fetchScores looks at the codes of a tile, which have come. What is left out gets the score -inf, and a norm that keeps it.
  template <bool Plain> __device__ __forceinline__ void fetchScores(const Tile& t, const int (&code)[2], Scores& to) const {
    const bool strange[2] = {!known(code[0]), !known(code[1])};
#pragma unroll
    for (int h = 0; h < 2; h++) to.inverse[h] = inverseOf(t.token[h]);
    if (Plain) {
      const unsigned char* from[2] = {scoresAt(code[0]), scoresAt(code[1])};
      if (__any_sync(kAllLanes, strange[0] || strange[1]))
#pragma unroll
        for (int h = 0; h < 2; h++)
          if (strange[h]) {
            from[h] = (const unsigned char*)(sizeof(Store) == 2 ? &kLeftOut16 : kLeftOut32);
            to.inverse[h] = 1.0f;
            faults.badCode(t.token[h]);
          }
      loadScores<true>(from[0], 8, to.v[0]), loadScores<true>(from[1], 8, to.v[1]);
      return;
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
      if (strange[h]) faults.badCode(t.token[h]);
      to.strange[h] = strange[h];
      loadScores<false>(scoresAt(strange[h] ? 0 : code[h]), columns, to.v[h]);
    }
  }

  // step multiplies a tile and starts to bring the words of the tile two on in its place, scores of the next, and codes of the
  // one two on.
  template <bool Plain> __device__ __forceinline__ void step(Tile& t, Tile& next, Scores& scores, int (&code)[2], Walk& ahead, bool more) {
    body.multiply([&](int w, unsigned (&v)[kWordSteps][4]) { body.decode(t.word[0][w], t.word[1][w], v); });
    fetchWords<Plain>(t);
    if (Plain) {
      const bool in[2] = {true, true};
      body.take(scores.v, scores.inverse, in, true);
    } else {
      const bool in[2] = {!scores.strange[0], !scores.strange[1]};
      body.take(scores.v, scores.inverse, in, __all_sync(kAllLanes, in[0] && in[1]));
    }
    fetchScores<Plain>(next, code, scores), fetchCodes(t, code);
    ahead.next(s, next.token, more);
  }

  // share is a part of the tiles of a list: the first, how many.
  static __device__ __forceinline__ void share(const int* start, int places, const Part& part, int& first, int& left) {
    first = (int)((long long)start[places] * part.index / part.of);
    left = (int)((long long)start[places] * (part.index + 1) / part.of) - first;
  }

  // placeOf is the place of a tile of a list.
  static __device__ __forceinline__ int placeOf(const int* start, int places, int tile) {
    int place = 0;
    for (int i = lane(); i < places; i += kLanes) place += start[i + 1] <= tile;
    return (int)__reduce_add_sync(kAllLanes, (unsigned)place);
  }

  // alone goes through a part of the tiles of a list of places. Maxima go to rows from row on.
  template <bool Plain> __device__ __forceinline__ void alone(int list, int places, int row, const Part& part) {
    const int* start = s.start + list * (kTilePlaces + 1);
    int first, left; // tile, tiles
    share(start, places, part, first, left);
    if (left <= 0) return;
    const int place = placeOf(start, places, first);
    int at = list * kTilePlaces + place, before = kTileTokens * (first - start[place]);
    Walk ahead = {at, s.n[at] - before, s.lo[at] + before};
    int run = min(start[place + 1] - first, left); // tiles of the place
    row += place - at;
    Tile t, u;
    Scores scores;
    int code[2]; // of the next tile
    ahead.next(s, t.token, left > 1), fetchCodes(t, code), fetchWords<Plain>(t);
    ahead.next(s, u.token, left > 2), fetchWords<Plain>(u);
    fetchScores<Plain>(t, code, scores), fetchCodes(u, code);
    ahead.next(s, t.token, left > 3);
    auto more = [&](Tile& t, Tile& next) {
      step<Plain>(t, next, scores, code, ahead, left > 4);
      if (--run == 0) {
        leave(row + at);
        if (left <= 1) return false;
        do at++;
        while (s.n[at] == 0);
        run = min((s.n[at] + kTileTokens - 1) / kTileTokens, left - 1);
      }
      left--;
      return true;
    };
    for (;;) {
      if (!more(t, u) || !more(u, t)) return;
    }
  }

  // --- alone, rows of packed words whole

  // segmentScores starts to bring the scores of a tile of a segment: codes of the lane's first token.
  __device__ __forceinline__ void segmentScores(unsigned codes, uint4 (&to)[2][kVectors]) const {
    loadScores<true>(scoresAt((int)loadShared(codes)), 8, to[0]), loadScores<true>(scoresAt((int)loadShared(codes + 32)), 8, to[1]);
  }

  // multiplySegment multiplies a tile of a segment: words, and codes, of the lane's first token.
  __device__ __forceinline__ void multiplySegment(unsigned words, unsigned codes, const uint4 (&score)[2][kVectors]) {
    unsigned low[kWords], high[kWords];
    loadShared(words, low), loadShared(words + 8 * Ring::kRow, high);
    codes += Ring::kInverses - Ring::kCodes;
    const float inverse[2] = {__uint_as_float(loadShared(codes)), __uint_as_float(loadShared(codes + 32))};
    const bool in[2] = {true, true};
    body.multiply([&](int w, unsigned (&v)[kWordSteps][4]) { body.decode(low[w], high[w], v); });
    body.take(score, inverse, in, true);
  }

  // wholes is alone where rows of packed words are whole and reads plain.
  __device__ __forceinline__ void wholes(int list, int places, int row, const Part& part) {
    const int* start = s.start + list * (kTilePlaces + 1);
    int first, left; // tile, tiles
    share(start, places, part, first, left);
    if (left <= 0) return;
    const int place = placeOf(start, places, first);
    row -= list * kTilePlaces;
    Ring ring(a, s, sharedAddress(dynamic) + kBestBytes + warp() * Ring::kBytes, left, list * kTilePlaces + place, kTileTokens * (first - start[place]));
    unsigned words = lane() / 4 * Ring::kRow + lane() % 4 * (4 * kWords), codes = Ring::kCodes + lane() / 4 * 4, slot = ring.first;
    pin(words), pin(codes);
    constexpr unsigned kUpperWords = kTileTokens * Ring::kRow, kUpperCodes = 4 * kTileTokens;
    uint4 score[2][2][kVectors];
    copyWait<Ring::kSlots - 1>();
    __syncwarp();
    ring.check(slot, a.k, faults);
    segmentScores(slot + codes, score[0]), segmentScores(slot + codes + kUpperCodes, score[1]);
    for (;;) {
      const unsigned next = ring.after(slot);
      copyWait<Ring::kSlots - 2>();
      __syncwarp(); // the next segment is there
      const unsigned mark = loadShared(slot + Ring::kMark);
      left -= mark & Ring::kTwo ? 2 : 1;
      if ((mark & (Ring::kTwo | Ring::kNone)) == Ring::kTwo) {
        multiplySegment(slot + words, slot + codes, score[0]);
        multiplySegment(slot + words + kUpperWords, slot + codes + kUpperCodes, score[1]);
      } else if (!(mark & Ring::kNone))
        multiplySegment(slot + words, slot + codes, score[0]);
      if (left > 0) ring.check(next, a.k, faults), segmentScores(next + codes, score[0]), segmentScores(next + codes + kUpperCodes, score[1]);
      __syncwarp(); // the segment has been read
      ring.ask(slot);
      if (mark & Ring::kLast) leave(row + mark / Ring::kPlace);
      if (left <= 0) break;
      slot = next;
    }
    copyWait<0>();
  }

  // --- together

  // Feed is the tile that a warp decodes next, and those it has begun to load: codes two stages ahead of the stage that is
  // multiplied, words and inverse norms one.
  struct Feed {
    int place, tile, n; // tokens of the document from the tile on; not positive: no tile
    unsigned token[2], own;
    unsigned word[2][kWords];
    float inverse;
    int code;

    // next moves a stage on.
    __device__ __forceinline__ void next(const State& s, int tiles) {
      const int l = lane();
      tile += kTileWarps, n = 0;
      if (tile >= tiles) return;
      while (s.start[place + 1] <= tile) place++;
      const int at = kTileTokens * (tile - s.start[place]);
      n = s.n[place] - at;
      const unsigned first = s.lo[place] + at;
      token[0] = first + min(l / 4, n - 1), token[1] = first + min(l / 4 + 8, n - 1), own = first + min(l % kTileTokens, n - 1);
    }
  };

  __device__ __forceinline__ uint4* fragments(unsigned tile) const {
    return (uint4*)(dynamic + kBestBytes + tile % (2 * kTileWarps) * (kSteps * kLanes * 16)) + lane();
  }
  __device__ __forceinline__ float* inverses(unsigned tile) const { return (float*)(dynamic + kInverses + tile % (2 * kTileWarps) * (kTileTokens * 4)); }
  // cell has the codes of a tile; at kMark what marks says.
  __device__ __forceinline__ unsigned char* cell(unsigned tile) const { return dynamic + kCells + tile % (4 * kTileWarps) * kCell; }
  __device__ __forceinline__ int* codes(unsigned tile) const { return (int*)cell(tile); }
  // marks says of a tile, above bit 16, which codes are known, below, its place.
  __device__ __forceinline__ unsigned* marks(unsigned tile) const { return (unsigned*)(cell(tile) + kMark); }

  __device__ __forceinline__ void beginCodes(Feed& f) const {
    if (f.n > 0) f.code = codeOf(f.own);
  }
  __device__ __forceinline__ void leaveCodes(const Feed& f, int stage) const {
    if (f.n <= 0) return;
    const bool in = known(f.code);
    const unsigned mask = __ballot_sync(kAllLanes, in);
    if (!in) faults.badCode(f.own);
    if (lane() < kTileTokens) codes(stage * kTileWarps + warp())[lane()] = in ? f.code : 0;
    if (lane() == 0) *marks(stage * kTileWarps + warp()) = mask << 16 | f.place;
  }
  template <bool Plain> __device__ __forceinline__ void beginWords(Feed& f) const {
    if (f.n <= 0) return;
    loadWords<Plain>(f.token[0], f.word[0]), loadWords<Plain>(f.token[1], f.word[1]);
    f.inverse = inverseOf(f.own);
  }
  // leaveWords decodes. Where there is no tile, it leaves what nobody reads.
  __device__ __forceinline__ void leaveWords(const Feed& f, int stage) const {
#pragma unroll
    for (int w = 0; w < kWords; w++) {
      unsigned v[kWordSteps][4];
      body.decode(f.word[0][w], f.word[1][w], v);
#pragma unroll
      for (int i = 0; i < kWordSteps; i++) fragments(stage * kTileWarps + warp())[(w * kWordSteps + i) * kLanes] = {v[i][0], v[i][1], v[i][2], v[i][3]};
    }
    if (lane() < kTileTokens) inverses(stage * kTileWarps + warp())[lane()] = f.inverse;
  }

  // scoresOf starts to bring the scores of a tile whose stage's codes are there.
  template <bool Plain> __device__ __forceinline__ void scoresOf(const unsigned char* cell, uint4 (&to)[2][kVectors]) const {
    const int* code = (const int*)cell + lane() / 4;
    loadScores<Plain>(scoresAt(code[0]), columns, to[0]), loadScores<Plain>(scoresAt(code[8]), columns, to[1]);
  }

  // leaveOut gives codes that are not known the score -inf, and a norm that keeps it.
  __device__ __forceinline__ void leaveOut(unsigned mark, uint4 (&score)[2][kVectors], float (&inverse)[2]) {
#pragma unroll
    for (int h = 0; h < 2; h++) {
      if (mark >> (16 + lane() / 4 + 8 * h) & 1) continue;
      inverse[h] = 1.0f;
#pragma unroll
      for (int v = 0; v < kVectors; v++) score[h][v] = sizeof(Store) == 2 ? kLeftOut16 : kLeftOut32[0];
    }
  }

  // multiplyShared multiplies a tile of a stage.
  template <bool Plain> __device__ __forceinline__ void multiplyShared(const unsigned char* fragment, unsigned mark, const uint4 (&score)[2][kVectors], const float (&inverse)[2]) {
    body.multiply([&](int w, unsigned (&v)[kWordSteps][4]) {
#pragma unroll
      for (int x = 0; x < kWordSteps; x++) {
        const uint4 f = ((const uint4*)fragment)[(w * kWordSteps + x) * kLanes];
        v[x][0] = f.x, v[x][1] = f.y, v[x][2] = f.z, v[x][3] = f.w;
      }
    });
    bool in[2] = {true, true};
    if (!Plain)
#pragma unroll
      for (int h = 0; h < 2; h++) in[h] = (mark >> (16 + lane() / 4 + 8 * h) & 1) != 0;
    body.take(score, inverse, in, Plain || mark >> 16 == 0xffff);
  }

  // together goes through the tiles of the first list, all warps of the block at once. A warp multiplies its part of each
  // stage, of at most half as many as there are warps; part.of 0: none. Maxima go to rows from row on.
  template <bool Plain> __device__ __forceinline__ void together(int places, int row, const Part& part) {
    const int tiles = s.start[places], end = part.of > 0 ? tiles : 0, step = part.of;
    Feed f = {};
    f.tile = warp() - kTileWarps, f.inverse = 1.0f;
    f.next(s, tiles), beginCodes(f), beginWords<Plain>(f), leaveCodes(f, 0), leaveWords(f, 0);
    f.next(s, tiles), beginCodes(f), beginWords<Plain>(f), leaveCodes(f, 1);
    f.next(s, tiles), beginCodes(f);
    __syncthreads();
    uint4 score[2][kVectors];
    unsigned at = kCells + part.index * kCell; // of the tile that is multiplied next
    if (part.index < end) scoresOf<Plain>(dynamic + at, score);
    unsigned current = ~0u; // what marks say of the place unless a code is not known; at first, no place
    for (int stage = 0; stage * kTileWarps < tiles; stage++) {
      if (stage > 0) __syncthreads(); // this stage is there, and the one before has been read
      leaveWords(f, stage + 1), leaveCodes(f, stage + 2);
      beginWords<Plain>(f), f.next(s, tiles), beginCodes(f);
      const int last = min(end, (stage + 1) * kTileWarps);
      const unsigned char* fragment = (const unsigned char*)fragments(stage * kTileWarps + part.index);
      const float* inverses = this->inverses(stage * kTileWarps + part.index) + lane() / 4;
#pragma unroll 1
      for (int t = stage * kTileWarps + part.index; t < last; t += step) {
        const unsigned mark = *(const unsigned*)(dynamic + at + kMark);
        float inverse[2] = {inverses[0], inverses[8]};
        if (mark != current) {
          if (current != ~0u && (mark ^ current) & 0xffff) leave(row + (current & 0xffff));
          current = mark | 0xffff0000u;
          if (Plain && mark != current) leaveOut(mark, score, inverse);
        }
        multiplyShared<Plain>(fragment, mark, score, inverse);
        at += step * kCell;
        if (at >= kCellsEnd) at -= kCellsEnd - kCells;
        if (t + step < end) scoresOf<Plain>(dynamic + at, score);
        fragment += step * (kSteps * kLanes * 16), inverses += step * kTileTokens;
      }
    }
    if (current != ~0u) leave(row + (current & 0xffff));
  }

  // --- groups

  static __device__ __forceinline__ int sumUpTo(int v) {
#pragma unroll
    for (int o = 1; o < kLanes; o *= 2) {
      const int w = __shfl_up_sync(kAllLanes, v, o);
      if (lane() >= o) v += w;
    }
    return v;
  }

  __device__ __forceinline__ Chunk chunkAt(int index) const {
    int q = 0;
    while (s.chunks[q + 1] <= index) q++;
    const int before = (index - s.chunks[q]) * kLanes;
    return {q, min(s.count[q] - before, kLanes), s.first[q] + before, s.before + index};
  }

  __device__ __forceinline__ void clear() {
    const unsigned none = orderKey(negativeInfinity());
    for (int x = threadIdx.x; x < kBestBytes / 16; x += kTileThreads) ((uint4*)dynamic)[x] = {none, none, none, none};
  }

  // lookUp brings the documents at places from e on and clears the maxima. It reports whether all queries have the same
  // documents there. A single chunk has the places of all lists.
  __device__ __forceinline__ bool lookUp(long long i, int queries, long long e, int places, bool single) {
    __syncthreads(); // those before have been read
    const int query = single ? 0 : warp(), place = single ? (int)threadIdx.x : lane();
    Span t = {0, 0};
    if (query < queries && place < places) t = entryTokens(a, faults, i + query, e + place, true);
    const int n = (int)min(t.size(), (long long)kTileLongest);
    s.lo[threadIdx.x] = (unsigned)t.lo, s.n[threadIdx.x] = n;
    int tiles = sumUpTo((n + kTileTokens - 1) / kTileTokens);
    if (single) {
      if (lane() == kLanes - 1) s.sums[warp()] = tiles;
      __syncthreads();
      for (int w = 0; w < warp(); w++) tiles += s.sums[w];
    }
    int* start = s.start + query * (kTilePlaces + 1) + place;
    start[1] = tiles;
    if (place == 0) start[0] = 0;
    clear();
    __syncthreads();
    const bool same = query >= queries || (s.n[place] == n && (n == 0 || s.lo[place] == (unsigned)t.lo));
    return !__syncthreads_or(!same);
  }

  // pass multiplies chunks, up to one for a warp, of the group, from one on, with the documents looked up.
  __device__ __forceinline__ void pass(int first, int chunks, int places, bool load) {
    const int parts = min(kTileWarps / chunks, Shared ? kTileWarps / 2 : kTileWarps);
    Part part = {warp() % chunks, warp() / chunks, parts};
    if (part.index >= parts) part.of = 0;
    const Chunk c = chunkAt(first + part.chunk);
    if (load) look(c);
    const int row = part.chunk * kTilePlaces;
    if constexpr (Shared)
      __syncthreads_or(!plain) ? together<false>(places, row, part) : together<true>(places, row, part);
    else if (part.of > 0 && Whole && plain && a.packed % 16 == 0)
      wholes(c.query, places, row, part);
    else if (part.of > 0)
      plain && !Whole ? alone<true>(c.query, places, row, part) : alone<false>(c.query, places, row, part);
    __syncthreads();
  }

  __device__ __forceinline__ int chunks() const { return s.chunks[s.queries]; }
  __device__ __forceinline__ bool single() const { return chunks() == 1; }

  // Places of the batch: the first, and how many.
  __device__ __forceinline__ long long firstPlace() const { return blockIdx.x * s.each + (long long)s.batch * s.step; }
  __device__ __forceinline__ int places() const { return (int)min(min((blockIdx.x + 1) * s.each, s.live) - firstPlace(), (long long)s.step); }

  // add adds to the sums the maxima of a pass of chunks from one on, and leaves the scores after the last.
  __device__ __forceinline__ void add(int first) const {
    const int query = single() ? 0 : warp(), place = single() ? (int)threadIdx.x : lane();
    if (query >= s.queries || place >= places()) return;
    const long long i = s.query + query;
    typename Body::Sum sum(a, i);
    if (s.chunks[query] < first) sum.resume(s);
    for (int x = max(s.chunks[query], first); x < min(s.chunks[query + 1], first + kTileWarps); x++) {
      const unsigned* row = best((x - first) * kTilePlaces + place);
      const int rows = min(s.count[query] - (x - s.chunks[query]) * kLanes, kLanes);
      for (int q = 0; q < rows; q++) sum.add(orderValue(row[q]));
    }
    sum.keep(s);
    if (first + kTileWarps >= s.chunks[query + 1] && first < s.chunks[query + 1])
      ((float*)a.score)[i * a.c + firstPlace() + place] = s.n[threadIdx.x] > 0 ? sum.score(faults) : negativeInfinity();
  }

  // open begins a group: its queries and their chunks, of which a query has at least one, and what the block does of its places.
  __device__ __forceinline__ void open(long long i, int queries) {
    long long live = 0;
    for (int q = 0; q < queries; q++) live = max(live, livePlaces(a, i + q));
    for (int q = 0; q < queries; q++) fillPlaces(a, i + q, live);
    __syncthreads(); // those before have been read
    if (warp() == 0) {
      const Span q = lane() < queries ? segment((const long long*)a.query_off, i + lane(), a.tq) : Span{0, 0};
      const int chunks = sumUpTo(lane() < queries ? max((int)(q.size() + kLanes - 1) / kLanes, 1) : 0);
      if (lane() < kTileWarps) s.first[lane()] = q.lo, s.count[lane()] = (int)q.size(), s.chunks[lane() + 1] = chunks;
      if (lane() == kLanes - 1) {
        const long long each = (live + gridDim.x - 1) / gridDim.x, most = chunks == 1 ? kTileThreads : kTilePlaces;
        const long long batches = max((each + most - 1) / most, 1ll); // of equal size
        s.chunks[0] = 0, s.query = i, s.before = body.chunksBefore(i), s.queries = queries, s.live = live, s.each = each, s.step = (int)max((each + batches - 1) / batches, 1ll), s.batch = 0;
      }
    }
    __syncthreads();
  }

  // run is the kernel: grid (any, any); blocks of equal y have a group of queries.
  __device__ __forceinline__ void run() {
    const long long most = min((a.nq + gridDim.y - 1) / gridDim.y, (long long)kTileWarps);
    for (long long i = blockIdx.y * most; i < a.nq; i = s.query + gridDim.y * most) {
      bool looked = false;
      for (open(i, (int)min(a.nq - i, most)); places() > 0;) {
        const bool shared = lookUp(s.query, s.queries, firstPlace(), places(), single()) && !single();
        for (int first = 0; shared == Shared && first < chunks(); first += kTileWarps) {
          if (first > 0) {
            clear();
            __syncthreads();
          }
          pass(first, min(chunks() - first, kTileWarps), places(), !looked || chunks() > kTileWarps);
          looked = true;
          add(first);
          __syncthreads(); // the maxima have been read
        }
        if (threadIdx.x == 0) s.batch++;
        __syncthreads();
      }
    }
  }
};

}  // namespace plaid
