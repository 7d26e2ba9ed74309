package simd

import (
	"math"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/kernels"
)

var _ = bindCentroidScores()

func bindCentroidScores() bool {
	for _, u := range centroidUnits() {
		requires := u.requires
		if u.variant == "avx2" {
			requires = []string{"avx2", "f16c"}
		}
		Bind(kernels.CentroidScores, backend.Binding{Kernel: "centroid_scores", Variant: u.variant, Requires: requires, Class: centroidClass,
			Tile: map[string]int64{"tq": int64(u.lanes), "k": 12, "d": 8}}, kernelCentroidScores(u))
	}
	return true
}

const (
	// scoresTiles is the tiles that few tokens are cut into, by ranges of centroids, and
	// scoresWork the multiply-adds that one aims at, some 40 µs: each has lists of its own.
	scoresTiles = 64
	scoresWork  = 1 << 21
	// scoresChunk is the most centroids that are scored at once.
	scoresChunk = 96
	// scoresLists is the bytes that the lists of a tile may take, unless one panel's need more.
	scoresLists = 4 << 20
)

// scoresShape is how a launch is cut: into groups of tokens and ranges of centroids, from
// the axes alone.
type scoresShape struct {
	tq, d, k, p   int64
	full          int64 // lanes of a full panel
	group         int64 // tokens of a tile, whole panels
	groups        int64
	splits        int64 // ranges of centroids
	chunk         int64
	capacity, top int64 // entries of a list, and what a range keeps of it
}

// scoresShapeOf: packed is the bytes of a token in a panel.
func scoresShapeOf(u *centroidUnit, tq, d, k, p, packed int64) scoresShape {
	s := scoresShape{tq: tq, d: d, k: k, p: p, full: int64(u.lanes), chunk: nearestChunk(d)}
	s.capacity = cellCapacity(k, p)
	most := min(nearestPacked/packed, nearestMost)
	if s.capacity > 0 {
		most = min(most, scoresLists/(8*s.capacity))
	}
	most = max(most/s.full*s.full, s.full)
	s.groups = ceilDiv(tq, most)
	s.group = roundUp(ceilDiv(tq, max(s.groups, 1)), s.full)
	work := float64(k) * float64(min(s.group, tq)) * float64(d) / scoresWork
	s.splits = max(min(scoresTiles/max(s.groups, 1), int64(work), ceilDiv(k, s.chunk)), 1)
	s.top = min(p, ceilDiv(k, s.splits)+12)
	return s
}

// centroids are those of a range, whole register tiles but for the last.
func (s *scoresShape) centroids(split int64) (lo, hi int64) {
	at := func(i int64) int64 {
		if i == s.splits {
			return s.k
		}
		return s.k * i / s.splits / 12 * 12
	}
	return at(split), at(split + 1)
}

// scoresWorkspace bounds what ranges share: the least score that each token's cells may have,
// then the keys that a range leaves for Finish. It is monotone; there are at most scoresTiles
// groups and ranges in all.
func scoresWorkspace(tq, k, p int64) int64 {
	return align64(4*tq) + 8*min(tq, nearestMost)*scoresTiles*min(p, k)
}

// scoresLayout is the byte offsets of a worker's memory: panels, products of a chunk, rows
// of a chunk where they are converted, query scales, bounds and lengths of the lists, the
// lists, the same by lanes, and room for one.
type scoresLayout struct{ out, rows, scale, bound, length, list, slot, spare, bytes int64 }

// scoresLocal bounds it monotonically; packed is the bytes of a token in a panel, row those of
// a converted row.
func scoresLocal(u *centroidUnit, tq, k, p, packed, row int64) (l scoresLayout) {
	lanes := int64(u.lanes)
	all := roundUp(tq, lanes)
	capacity := cellCapacity(k, p)
	l.out = align64(min(max(nearestPacked, packed*lanes), packed*all))
	l.rows = l.out + 4*scoresChunk*lanes
	l.scale = l.rows + align64(scoresChunk*row)
	l.bound = l.scale + 4*nearestMost
	l.length = l.bound + 4*nearestMost
	l.list = l.length + 8*nearestMost
	l.slot = l.list + min(max(scoresLists, 8*lanes*capacity), 8*all*capacity)
	l.spare = l.slot + 8*nearestMost*min(p, cellInsert)
	l.bytes = l.spare + 8*capacity
	return l
}

func kernelCentroidScores(u *centroidUnit) Body[kernels.CentroidScoresArgs] {
	open := func(t *Task, a *kernels.CentroidScoresArgs) scores {
		w := scores{centroidUnit: u, query: Slice[float32](&a.Query), centroid: Slice[float32](&a.Centroid),
			cellOutput: cellOutputOf(&a.Score, &a.ScoreHalf, &a.Cell, &a.CellScore)}
		w.scoresShape = scoresShapeOf(u, a.Query.Dims[0], a.Query.Dims[1], a.Centroid.Dims[0], w.cells(), 4*a.Query.Dims[1])
		w.open(t, 4*w.d, 0)
		return w
	}
	return Body[kernels.CentroidScoresArgs]{
		Tiles: func(a *kernels.CentroidScoresArgs, _ *backend.Call) int64 {
			s := scoresShapeOf(u, a.Query.Dims[0], a.Query.Dims[1], a.Centroid.Dims[0], cellsOf(&a.Cell, &a.CellScore), 4*a.Query.Dims[1])
			return s.groups * s.splits
		},
		Workspace: func(c *backend.Call) int64 { return scoresWorkspace(c.Axes[0], c.Axes[2], c.Axes[3]) },
		Local: func(c *backend.Call) int64 {
			return scoresLocal(u, c.Axes[0], c.Axes[2], c.Axes[3], 4*max(c.Axes[1], 1), 0).bytes
		},
		Start: func(t *Task, a *kernels.CentroidScoresArgs) {
			w := open(t, a)
			w.start()
		},
		Run: func(t *Task, a *kernels.CentroidScoresArgs) {
			w := open(t, a)
			for i := t.Lo; i < t.Hi; i++ {
				w.run(i%w.groups, i/w.groups)
			}
		},
		Finish: func(t *Task, a *kernels.CentroidScoresArgs) {
			w := open(t, a)
			w.merge()
		},
	}
}

// scores is one worker's part of a launch of either form.
type scores struct {
	*centroidUnit
	scoresShape
	cellOutput
	query, centroid []float32
	quantised       scoresInt8 // without a unit in float32
	panels          []byte
	out             []float32         // [chunk][lanes]
	bound           []float32         // what each token's list no longer takes
	length          []int             // of each token's list
	list            []uint64          // [group][capacity]
	slotValue       []float32         // [panels][p][lanes]
	slotIndex       []int32           // the same; -1 is an empty slot
	slotted         [nearestMost]bool // of each panel by its first token: its lists are in slots
	spare           []uint64
	least           []uint32 // upper half of the key of the last cell so far, of each token
	parts           []uint64 // [tq][splits][top]
}

// open lays the worker's memory out.
func (w *scores) open(t *Task, packed, row int64) scoresLayout {
	l := scoresLocal(w.centroidUnit, w.tq, w.k, w.p, packed, row)
	w.panels = t.Local[:l.out]
	w.out = Words[float32](t.Local[l.out:l.rows])
	w.bound = Words[float32](t.Local[l.bound:l.length])
	w.length = Words[int](t.Local[l.length:l.list])
	w.list, w.spare = Words[uint64](t.Local[l.list:l.slot]), Words[uint64](t.Local[l.spare:l.bytes])
	slots := t.Local[l.slot:l.spare]
	w.slotValue, w.slotIndex = Words[float32](slots[:len(slots)/2]), Words[int32](slots[len(slots)/2:])
	least := align64(4 * w.tq)
	w.least, w.parts = Words[uint32](t.Scratch[:least]), Words[uint64](t.Scratch[least:])
	return l
}

// start lets every score be a cell.
func (w *scores) start() {
	for i := range w.least {
		w.least[i] = math.MaxUint32
	}
}

// run scores one group of tokens against one range of centroids.
func (w *scores) run(group, split int64) {
	lo, hi := group*w.group, min((group+1)*w.group, w.tq)
	if lo >= hi {
		return // the groups are rounded up to panels
	}
	w.pack(lo, hi)
	w.begin(lo, int(hi-lo))
	first, end := w.centroids(split)
	for c := first; c < end; c += w.chunk {
		rows := min(w.chunk, end-c)
		if w.quantised.int8Unit != nil {
			q := &w.quantised
			q.convert(&q.centroid[c*w.d], int(rows), int(w.d), &q.rows[0], int(int8Pitch(w.d)))
		}
		for at := lo; at < hi; at += w.full {
			w.panel(lo, at, min(w.full, hi-at), c, rows)
		}
	}
	w.leave(lo, hi, split)
}

// pack makes the panels of the tokens [lo, hi).
func (w *scores) pack(lo, hi int64) {
	if w.quantised.int8Unit != nil {
		w.quantised.packGroup(w, lo, hi)
		return
	}
	raceRead(unsafe.Pointer(&w.query[lo*w.d]), 4*(hi-lo)*w.d)
	raceRead(unsafe.Pointer(&w.centroid[0]), 4*w.k*w.d)
	panels := Words[float32](w.panels)
	for at := lo; at < hi; at += w.full {
		w.centroidUnit.pack(&w.query[at*w.d], int(min(w.full, hi-at)), int(w.d), &panels[(at-lo)*w.d], int(w.panelOf(hi-at)))
	}
}

// panel scores count tokens from at on, those of one panel, against a chunk of centroids.
func (w *scores) panel(lo, at, count, c, rows int64) {
	lanes := w.panelOf(count)
	out := w.out
	direct := w.score != nil && count == lanes && w.scoreStride == lanes
	if direct {
		out = w.score[c*lanes+at:] // at is 0
		raceWrite(unsafe.Pointer(&out[0]), 4*rows*lanes)
	}
	if w.quantised.int8Unit != nil {
		w.quantised.score(w, out, at-lo, c, rows, lanes)
	} else {
		w.dots(&Words[float32](w.panels)[(at-lo)*w.d], &w.centroid[c*w.d], int(w.d), int(rows), &out[0], int(lanes))
	}
	w.scan(out, at-lo, count, lanes, c, rows)
	if w.score != nil && !direct {
		dst := w.score[c*w.scoreStride+at:][:(rows-1)*w.scoreStride+count]
		if w.centroidUnit.rows != nil && count >= 8 {
			for t := range rows {
				raceWrite(unsafe.Pointer(&dst[t*w.scoreStride]), 4*count)
			}
			w.centroidUnit.rows(&dst[0], int(w.scoreStride), &out[0], int(lanes), int(count), int(rows))
		} else {
			for t := range rows {
				copy(dst[t*w.scoreStride:][:count], out[t*lanes:])
			}
		}
	}
	if w.halves == nil {
		return
	}
	dst := &w.halves[c*w.halfStride+at]
	if count == lanes {
		for t := range rows {
			raceWrite(unsafe.Pointer(&w.halves[(c+t)*w.halfStride+at]), 2*count)
		}
		w.half(&out[0], int(rows), int(lanes), dst, int(w.halfStride))
		return
	}
	centroidHalfRows(&out[0], int(rows), int(lanes), dst, int(w.halfStride), 0, int(count))
}

// exact is one score again, for the sign of a zero, which keys do not hold.
func (w *scores) exact(token, c int64) float32 {
	if w.quantised.int8Unit != nil {
		return w.quantised.exact(w, token, c)
	}
	return canon.Dot(w.query[token*w.d:][:w.d], w.centroid[c*w.d:][:w.d])
}
