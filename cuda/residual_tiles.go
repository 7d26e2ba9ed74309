package cuda

import "math"

// residualTiles is the shape of a body that goes through tiles of 16 document tokens (residual_tiles.cuh): warps of a block,
// each of which has 32 query tokens, and blocks that a multiprocessor holds.
type residualTiles struct {
	warps, blocks int64
}

var int8Tiles = residualTiles{8, 2}

const (
	tileRow     = 33 * 4  // bytes of a row of maxima, of which each thread has one
	tileStep    = 2 * 512 // of fragments for a product of two stages' tiles
	tileRest    = 448     // of their codes, inverse norms and descriptions
	tileLongest = 1 << 24 // tokens of a document

	ringWords  = 2    // packed words of a lane where rows come through a ring
	ringPlaces = 4096 // from which it is taken: 8 % faster at 10,000 documents, no faster at 500
	ringBytes  = 3 * (32*(16*ringWords+4+4) + 16)
)

// shared is the shared memory of a block for tiles of so many products; where no documents are shared it has maxima only.
func (t residualTiles) shared(steps int64, shares bool) int64 {
	best := t.warps * 32 * tileRow
	if !shares {
		return best
	}
	return best + t.warps*(tileStep*steps+tileRest)
}

// ring is the shared memory of a block whose warps have rings, three segments of 32 tokens each.
func (t residualTiles) ring() int64 { return t.shared(0, false) + t.warps*ringBytes }

// grid is a launch of nq queries of up to longest tokens at places each: rows of blocks have groups of queries. One row
// fills the device once; of more, each has all blocks if that leaves them enough to do, so that the rows that run at a time
// read the same centroid scores. documents are those of the index.
func (t residualTiles) grid(g *Geometry, nq, places, documents, longest int64) {
	blocks := t.blocks * int64(g.Units)
	rows := CeilDiv(nq, max(t.warps/max(CeilDiv(longest, chunkRows), 1), 1))
	x := blocks
	if rows > 1 {
		x = max(CeilDiv(2*blocks, rows), min(blocks, places/16))
	}
	g.Plane(checkingBlocks(min(places, x), documents, t.warps*32, rows, blocks), rows, int(t.warps)*32)
}

// acceptTiles is what tiles ask of axes: query and document tokens, the longest document.
func (l *residualLimits) acceptTiles(tq, td, longest int64) error {
	switch {
	case tq > maxRagged || td > math.MaxInt32:
		return l.refuse("%d query and %d document tokens, at most %d and %d", tq, td, maxRagged, math.MaxInt32)
	case longest > tileLongest:
		return l.refuse("a document of %d tokens, at most %d", longest, tileLongest)
	}
	return nil
}
