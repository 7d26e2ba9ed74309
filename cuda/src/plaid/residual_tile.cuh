// What a block knows of tiles of documents (residual_tiles.cuh), and what a lane has of one.
#pragma once
#include "common/order.cuh"
#include "plaid/plaid_listing.cuh"

namespace plaid {

constexpr int kTileTokens = 16;
constexpr int kTilePlaces = kLanes;    // of a query, that a block looks up at a time
constexpr int kTileLongest = 1 << 24;  // tokens of a document; the binding refuses more
constexpr int kBestWords = kLanes + 1; // of a row of maxima; odd, so that rows start in different banks

// TileState is also what a block knows of its work, so that registers are free for products.
template <int Warps> struct TileState {
  long long query, before;     // of the group the first query, and the chunks of the launch before it
  long long live, each;        // places of a query, places of a block
  int queries, step, batch;    // queries of the group; places at a time, how often
  long long first[Warps];                  // query tokens of the group
  int count[Warps], chunks[Warps + 1]; // their number, chunks of the queries before
  unsigned lo[Warps * kLanes];                    // documents by query and place
  int n[Warps * kLanes];
  int start[Warps * (kTilePlaces + 1)]; // tiles of the places before
  int sums[Warps];
};

// Chunk is up to 32 query tokens of a query of the group.
struct Chunk {
  int query, rows;
  long long first, place; // first token; place among the chunks of the launch
};

// ScoreRows is where a chunk's centroid scores lie: the first, bytes between rows, how many of a row may be read.
template <class Store> struct ScoreRows {
  const Store* first;
  unsigned stride;
  long long readable;
};

// Part is a warp's share of a chunk's tiles.
struct Part {
  int chunk, index, of;
};

// Tile is what a lane has of its two tokens of a tile: packed words, which make place for those of the tile two on.
template <int Words> struct Tile {
  unsigned word[2][Words];
  unsigned token[2]; // whose words were asked for last, or are next
};

// Scores are centroid scores and inverse norms of a lane's two tokens.
template <int Vectors> struct Scores {
  uint4 v[2][Vectors];
  float inverse[2];
  bool strange[2]; // the code is unknown; where reads are not plain
};

// What an unknown code has instead of scores.
__device__ const uint4 kLeftOut16 = {0xfc00fc00u, 0xfc00fc00u, 0xfc00fc00u, 0xfc00fc00u}; // -inf in f16
__device__ const uint4 kLeftOut32[2] = {{0xff800000u, 0xff800000u, 0xff800000u, 0xff800000u}, {0xff800000u, 0xff800000u, 0xff800000u, 0xff800000u}};

// joinRows is, after maxima of eight query tokens of a lane, the maximum over the lanes with the same: of query token
// Tiles::tileColumn.
__device__ __forceinline__ float joinRows(float (&m)[8]) {
  const int lane = threadIdx.x % kLanes;
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
  return maxNaN(keep, __shfl_xor_sync(kAllLanes, give, 4));
}

}  // namespace plaid
