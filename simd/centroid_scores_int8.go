package simd

import (
	"slices"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

var _ = bindCentroidScoresInt8()

func bindCentroidScoresInt8() bool {
	for _, u := range int8Units() {
		Bind(kernels.CentroidScoresInt8, backend.Binding{Kernel: "centroid_scores_int8", Variant: u.variant, Requires: u.requires,
			Class: "exact", // integers, then one rounding at a time
			Tile:  map[string]int64{"tq": int64(u.base.lanes), "k": 12, "d": 16}}, kernelCentroidScoresInt8(u))
	}
	return true
}

// int8Unit is the integer arithmetic of a level. A panel has a word for each token and group of
// components.
type int8Unit struct {
	variant  string
	requires []string
	base     *centroidUnit // for what follows the products
	together int           // components of a word
	block    int           // words are a multiple of it
	// pack makes a panel of n tokens; the lanes beyond hold any token, components beyond d
	// are 0. It may have a row of words more than components make. room has 8 converted rows.
	pack func(tokens *int8, n, d int, panel *int32, lanes int, room *byte, pitch int)
	// convert makes the rows that dots reads, pitch bytes apart, components beyond d any
	// value that their 0 in the panel cancels.
	convert func(rows *int8, n, d int, dst *byte, pitch int)
	// dots sets out[t*lanes+j] to the dot product of converted row t and the panel's token j.
	dots func(panel *int32, rows *byte, pitch, words, n int, out *int32, lanes int)
	// scale replaces out[t*lanes+j] by its value in float32 times query[j]·centroid[t].
	scale func(out *float32, n, lanes int, query, centroid *float32)
}

// int8Units are the units of every architecture, as rowUnits.
func int8Units() []*int8Unit {
	out := append(int8Assembly(), &int8Generic)
	for _, x := range []struct {
		name     string
		requires []string
	}{
		{"avx512vnni", []string{"avx512", "avx512_vnni"}}, {"avx512", []string{"avx512"}}, {"avx2", []string{"avx2", "f16c"}},
		{"neondot", []string{"neon", "dotprod"}}, {"neon", []string{"neon"}},
	} {
		if slices.ContainsFunc(out, func(u *int8Unit) bool { return u.variant == x.name }) {
			continue
		}
		u := int8Generic
		u.variant, u.requires = x.name, x.requires
		out = append(out, &u)
	}
	return out
}

// int8Generic is the portable unit and the reference of the others: a component to a word,
// rows of 16 bits.
var int8Generic = int8Unit{variant: "generic", base: &centroidGeneric, together: 1, block: 1,
	pack: int8PackGeneric, convert: int8WidenGeneric, dots: int8DotsGeneric, scale: int8ScaleGeneric}

func int8PackGeneric(tokens *int8, n, d int, panel *int32, lanes int, _ *byte, _ int) {
	src, dst := unsafe.Slice(tokens, n*d), unsafe.Slice(panel, d*lanes)
	clear(dst)
	for j := range n {
		for i, v := range src[j*d:][:d] {
			dst[i*lanes+j] = int32(v)
		}
	}
}

// int8WidenGeneric makes rows of 16 bits, zeros beyond d.
func int8WidenGeneric(rows *int8, n, d int, dst *byte, pitch int) {
	src := unsafe.Slice(rows, n*d)
	for t := range n {
		row := unsafe.Slice((*int16)(unsafe.Pointer(add(dst, t*pitch))), pitch/2)
		for i, v := range src[t*d:][:d] {
			row[i] = int16(v)
		}
		clear(row[d:])
	}
}

func int8DotsGeneric(panel *int32, rows *byte, pitch, words, n int, out *int32, lanes int) {
	q, o := unsafe.Slice(panel, words*lanes), unsafe.Slice(out, n*lanes)
	for t := range n {
		sums := o[t*lanes:][:lanes]
		clear(sums)
		for i, c := range unsafe.Slice((*int16)(unsafe.Pointer(add(rows, t*pitch))), words) {
			for j, v := range q[i*lanes:][:lanes] {
				sums[j] += int32(c) * v
			}
		}
	}
}

func int8ScaleGeneric(out *float32, n, lanes int, query, centroid *float32) {
	dots, x := unsafe.Slice((*int32)(unsafe.Pointer(out)), n*lanes), unsafe.Slice(out, n*lanes)
	q, c := unsafe.Slice(query, lanes), unsafe.Slice(centroid, n)
	for t := range n {
		for j := range lanes {
			x[t*lanes+j] = float32(dots[t*lanes+j]) * float32(q[j]*c[t])
		}
	}
}

// int8Packed bounds the bytes of a token in a panel, with the row that it may have more.
func int8Packed(d int64) int64 { return 4*roundUp(d, 16) + 4 }

// int8Pitch is the bytes of a converted row: whole registers of 16-bit components.
func int8Pitch(d int64) int64 { return 2 * roundUp(d, 32) }

// scoresInt8 is what the quantised form has beyond the other.
type scoresInt8 struct {
	*int8Unit
	words                     int // of components
	query, centroid           []int8
	queryScale, centroidScale []float32
	rows                      []byte    // of a chunk, converted
	lane                      []float32 // query scales of the group's lanes
}

func kernelCentroidScoresInt8(u *int8Unit) Body[kernels.CentroidScoresInt8Args] {
	open := func(t *Task, a *kernels.CentroidScoresInt8Args) scores {
		w := scores{centroidUnit: u.base, cellOutput: cellOutputOf(&a.Score, &a.ScoreHalf, &a.Cell, &a.CellScore)}
		w.scoresShape = scoresShapeOf(u.base, a.Query.Dims[0], a.Query.Dims[1], a.Centroid.Dims[0], w.cells(), int8Packed(a.Query.Dims[1]))
		l := w.open(t, int8Packed(w.d), int8Pitch(w.d))
		w.quantised = scoresInt8{int8Unit: u, words: ceil(int(w.d), u.together*u.block) * u.block, query: Slice[int8](&a.Query), centroid: Slice[int8](&a.Centroid),
			queryScale: Slice[float32](&a.QueryScale), centroidScale: Slice[float32](&a.CentroidScale),
			rows: t.Local[l.rows:l.scale], lane: Words[float32](t.Local[l.scale:l.bound])}
		return w
	}
	return Body[kernels.CentroidScoresInt8Args]{
		Tiles: func(a *kernels.CentroidScoresInt8Args, _ *backend.Call) int64 {
			s := scoresShapeOf(u.base, a.Query.Dims[0], a.Query.Dims[1], a.Centroid.Dims[0], cellsOf(&a.Cell, &a.CellScore), int8Packed(a.Query.Dims[1]))
			return s.groups * s.splits
		},
		Workspace: func(c *backend.Call) int64 { return scoresWorkspace(c.Axes[0], c.Axes[2], c.Axes[3]) },
		Local: func(c *backend.Call) int64 {
			d := max(c.Axes[1], 1)
			return scoresLocal(u.base, c.Axes[0], c.Axes[2], c.Axes[3], int8Packed(d), int8Pitch(d)).bytes
		},
		Start: func(t *Task, a *kernels.CentroidScoresInt8Args) {
			w := open(t, a)
			w.start()
		},
		Run: func(t *Task, a *kernels.CentroidScoresInt8Args) {
			w := open(t, a)
			for i := t.Lo; i < t.Hi; i++ {
				w.run(i%w.groups, i/w.groups)
			}
		},
		Finish: func(t *Task, a *kernels.CentroidScoresInt8Args) {
			w := open(t, a)
			w.merge()
		},
	}
}

// packGroup makes the panels of the tokens [lo, hi).
func (q *scoresInt8) packGroup(w *scores, lo, hi int64) {
	raceRead(unsafe.Pointer(&q.query[lo*w.d]), (hi-lo)*w.d)
	raceRead(unsafe.Pointer(&q.centroid[0]), w.k*w.d)
	panels := Words[int32](w.panels)
	for at := lo; at < hi; at += w.full {
		q.pack(&q.query[at*w.d], int(min(w.full, hi-at)), int(w.d), &panels[(at-lo)*int64(q.words+1)], int(w.panelOf(hi-at)), &q.rows[0], int(int8Pitch(w.d)))
	}
	clear(q.lane)
	copy(q.lane, q.queryScale[lo:hi])
}

// score sets out to the scores of a panel, whose first token is token of the group.
func (q *scoresInt8) score(w *scores, out []float32, token, c, rows, lanes int64) {
	panel := &Words[int32](w.panels)[token*int64(q.words+1)]
	q.dots(panel, &q.rows[0], int(int8Pitch(w.d)), q.words, int(rows), (*int32)(unsafe.Pointer(&out[0])), int(lanes))
	q.scale(&out[0], int(rows), int(lanes), &q.lane[token], &q.centroidScale[c])
}

// exact is one score.
func (q *scoresInt8) exact(w *scores, token, c int64) float32 {
	var sum int32
	row := q.centroid[c*w.d:][:w.d]
	for i, v := range q.query[token*w.d:][:w.d] {
		sum += int32(v) * int32(row[i])
	}
	return float32(sum) * float32(q.queryScale[token]*q.centroidScale[c])
}
