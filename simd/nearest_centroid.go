package simd

import (
	"slices"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/kernels"
)

var _ = bindNearestCentroid()

func bindNearestCentroid() bool {
	for _, u := range centroidUnits() {
		Bind(kernels.NearestCentroid, backend.Binding{Kernel: "nearest_centroid", Variant: u.variant, Requires: u.requires, Class: centroidClass,
			Tile: map[string]int64{"n": int64(u.lanes), "k": 12, "d": 8}}, kernelNearest(u))
	}
	return true
}

// centroidClass: chains of fused multiply-adds over ascending components have the same bits
// wherever they run.
const centroidClass = "exact"

// centroidUnit is the arithmetic of a level between tokens and centroids. A panel holds
// tokens, a lane each, and meets one centroid after another: no sum crosses lanes,
// centroids are read as they lie, and the best one is kept lane by lane. The lanes of a
// panel are a multiple of width.
type centroidUnit struct {
	variant  string
	requires []string
	width    int // lanes of a vector
	lanes    int // of a full panel, at most 32
	// pack makes a panel of n tokens, from 1 to lanes; the lanes beyond hold any token.
	pack func(tokens *float32, n, d int, panel *float32, lanes int)
	// dots sets out[t*lanes+j] to the canonical dot product of centroid t and the panel's
	// token j, for n centroids. A NaN may have any bits.
	dots func(panel, centroids *float32, d, n int, out *float32, lanes int)
	// nearest raises best[j] to the largest of those products, winner[j] to first+t of the
	// lowest t that has it; a NaN stays. room has n*lanes elements that it may use.
	nearest func(panel, centroids *float32, d, n int, best *float32, winner *int32, first int, room *float32, lanes int)
	// above returns the first t < n that has a lane with dots[t*lanes+j] not at or below
	// bound[j], NaN included, and n if there is none; and the lanes of t as bits.
	above func(dots *float32, n, lanes int, bound *float32) (t int, hits uint32)
	// insert offers products to lists of p slots, lane by lane: value[s*lanes+j] is descending,
	// index has first and the number of the row it came from, and a NaN in a list is below
	// everything. It stops at a row with a NaN, and returns its number, or n. Nil where lists
	// are kept one by one.
	insert func(dots *float32, n, lanes, first int, value *float32, index *int32, p int) int
	// rows copies count elements, at least 8, of each of n rows, at least 1; strides are in
	// elements. Nil: one by one.
	rows func(dst *float32, dstStride int, src *float32, srcStride, count, n int)
	// half writes dst[t*stride+j] = dots[t*lanes+j] rounded to f16, for j < lanes.
	half func(dots *float32, n, lanes int, dst *uint16, stride int)
}

// centroidUnits are the units of every architecture, as rowUnits.
func centroidUnits() []*centroidUnit {
	out := append(centroidAssembly(), &centroidGeneric)
	for _, name := range []string{"avx512", "avx2", "neon"} {
		if slices.ContainsFunc(out, func(u *centroidUnit) bool { return u.variant == name }) {
			continue
		}
		u := centroidGeneric
		u.variant, u.requires = name, []string{name}
		out = append(out, &u)
	}
	return out
}

// centroidGeneric is the portable unit and the reference of the others. Its panels are
// plain rows, which canon.Matrix wants.
var centroidGeneric = centroidUnit{
	variant: "generic", width: 1, lanes: 16,
	pack: centroidPackGeneric, dots: centroidDotsGeneric, nearest: centroidNearestGeneric,
	above: centroidAboveGeneric, half: centroidHalfGeneric,
}

func centroidPackGeneric(tokens *float32, n, d int, panel *float32, lanes int) {
	dst := unsafe.Slice(panel, lanes*d)
	copy(dst, unsafe.Slice(tokens, n*d))
	clear(dst[n*d:])
}

func centroidDotsGeneric(panel, centroids *float32, d, n int, out *float32, lanes int) {
	canon.Matrix(unsafe.Slice(out, n*lanes), unsafe.Slice(centroids, n*d), n, unsafe.Slice(panel, lanes*d), lanes, d)
}

func centroidNearestGeneric(panel, centroids *float32, d, n int, best *float32, winner *int32, first int, room *float32, lanes int) {
	centroidDotsGeneric(panel, centroids, d, n, room, lanes)
	maxsimWinnerGeneric(room, n, lanes, best, winner, first)
}

// panelOf is the lanes of a panel of n tokens.
func (u *centroidUnit) panelOf(n int64) int64 { return min(roundUp(n, int64(u.width)), int64(u.lanes)) }

const (
	// nearestPacked is what the packed tokens of a tile may take: a quarter of a 512 KiB
	// level 2 cache, which the centroids stream through.
	nearestPacked = 128 << 10
	// nearestMost is the tokens of a tile beyond which nothing is gained: all of them share
	// each reading of the centroids.
	nearestMost = 256
	// nearestTiles is the tiles that few tokens are cut into.
	nearestTiles = 64
	// nearestRows is what of the centroids stays in a level 1 cache while a tile's panels
	// meet it, beside the panel.
	nearestRows = 12 << 10
)

// nearestGroup is the tokens of a tile, whole panels.
func (u *centroidUnit) nearestGroup(n, d int64) int64 {
	lanes := int64(u.lanes)
	most := min(nearestPacked/(4*d)/lanes*lanes, nearestMost)
	return max(min(roundUp(ceilDiv(n, nearestTiles), lanes), most), lanes)
}

// nearestChunk is the centroids that a panel meets at a time: a multiple of every tile.
func nearestChunk(d int64) int64 { return max(min(nearestRows/(48*d)*12, 96), 12) }

// nearestLayout is the byte offsets of a worker's memory: packed tokens, then best products,
// winners and room for the products of a chunk.
type nearestLayout struct{ best, winner, room, bytes int64 }

func (u *centroidUnit) nearestLocal(n, d int64) (l nearestLayout) {
	lanes := int64(u.lanes)
	l.best = min(max(nearestPacked, 4*lanes*d), 4*roundUp(n, lanes)*d) // monotone, unlike the group
	l.winner = l.best + 4*nearestMost
	l.room = l.winner + 4*nearestMost
	l.bytes = l.room + 4*96*lanes
	return l
}

func kernelNearest(u *centroidUnit) Body[kernels.NearestCentroidArgs] {
	return Body[kernels.NearestCentroidArgs]{
		Tiles: func(a *kernels.NearestCentroidArgs, _ *backend.Call) int64 {
			n, d := a.Token.Dims[0], a.Token.Dims[1]
			return ceilDiv(n, u.nearestGroup(n, d))
		},
		Local: func(c *backend.Call) int64 { return u.nearestLocal(c.Axes[0], max(c.Axes[1], 1)).bytes },
		Run: func(t *Task, a *kernels.NearestCentroidArgs) {
			w := newNearest(u, t, a)
			for i := t.Lo; i < t.Hi; i++ {
				w.run(t, i*w.group, min((i+1)*w.group, w.n))
			}
		},
	}
}

// nearest is one worker's part of a launch.
type nearest struct {
	*centroidUnit
	n, k, d, group  int64
	token, centroid []float32
	code            []int32
	score           []float32
	panels          []float32 // [panels][d][lanes] or as the unit packs
	best            []float32
	winner          []int32
	room            []float32
}

func newNearest(u *centroidUnit, t *Task, a *kernels.NearestCentroidArgs) nearest {
	w := nearest{centroidUnit: u, n: a.Token.Dims[0], d: a.Token.Dims[1], k: a.Centroid.Dims[0],
		token: Slice[float32](&a.Token), centroid: Slice[float32](&a.Centroid), code: Slice[int32](&a.Code), score: Slice[float32](&a.Score)}
	w.group = u.nearestGroup(w.n, w.d)
	l := u.nearestLocal(w.n, w.d)
	w.panels, w.best = Words[float32](t.Local[:l.best]), Words[float32](t.Local[l.best:l.winner])
	w.winner, w.room = Words[int32](t.Local[l.winner:l.room]), Words[float32](t.Local[l.room:])
	return w
}

// run does the tokens [lo, hi).
func (w *nearest) run(t *Task, lo, hi int64) {
	lanes := int64(w.lanes)
	raceRead(unsafe.Pointer(&w.token[lo*w.d]), (hi-lo)*w.d*4)
	raceRead(unsafe.Pointer(&w.centroid[0]), w.k*w.d*4)
	for at := lo; at < hi; at += lanes {
		w.pack(&w.token[at*w.d], int(min(lanes, hi-at)), int(w.d), &w.panels[(at-lo)*w.d], int(w.panelOf(hi-at)))
	}
	for j := range w.best {
		w.best[j], w.winner[j] = negInf32, 0 // where all products are -Inf the first wins
	}
	chunk := nearestChunk(w.d)
	for c := int64(0); c < w.k; c += chunk {
		rows := int(min(chunk, w.k-c))
		for at := int64(0); at < hi-lo; at += lanes {
			w.nearest(&w.panels[at*w.d], &w.centroid[c*w.d], int(w.d), rows,
				&w.best[at], &w.winner[at], int(c), &w.room[0], int(w.panelOf(hi-lo-at)))
		}
	}
	for i := lo; i < hi; i++ {
		best, code := w.best[i-lo], w.winner[i-lo]
		if best != best {
			best, code = canonicalNaN, -1
			t.Fail(1, nearestToken, i)
		}
		w.code[i] = code
		if w.score != nil {
			w.score[i] = best
		}
	}
}

// nearestToken is the operand that a NaN is reported for.
const nearestToken = 0
