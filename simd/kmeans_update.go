package simd

import (
	"math"
	"slices"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

var _ = bindKMeansUpdate()

func bindKMeansUpdate() bool {
	for _, u := range kmeansUnits() {
		Bind(kernels.KMeansUpdate, backend.Binding{Kernel: "kmeans_update", Variant: u.variant, Requires: u.requires,
			Class: "exact", // integers: no order shows
			Tile:  map[string]int64{"d": kmeansBlock, "n": 8}}, kernelKMeans(u))
	}
	return true
}

// kmeansUnit is the arithmetic of a level.
type kmeansUnit struct {
	variant  string
	requires []string
	// add adds to sum[i], for kmeansBlock components i, the values token[index[j]*stride+i]·scale
	// of count tokens, each rounded half to even. It is false, and sum as it was, where a
	// magnitude is not below limit, a bound below which every level converts. It may read 64
	// bytes beyond the index, for what comes next.
	add func(token *float32, index *int32, count, stride int, scale float64, limit float32, sum *int64) bool
}

// kmeansUnits are the units of every architecture, as rowUnits.
func kmeansUnits() []*kmeansUnit {
	out := append(kmeansAssembly(), &kmeansGeneric)
	for _, name := range []string{"avx512", "avx2", "neon"} {
		if slices.ContainsFunc(out, func(u *kmeansUnit) bool { return u.variant == name }) {
			continue
		}
		u := kmeansGeneric
		u.variant, u.requires = name, []string{name}
		out = append(out, &u)
	}
	return out
}

// kmeansGeneric is the portable unit and the reference of the others.
var kmeansGeneric = kmeansUnit{variant: "generic", add: kmeansAddGeneric}

func kmeansAddGeneric(token *float32, index *int32, count, stride int, scale float64, limit float32, sum *int64) bool {
	total := (*[kmeansBlock]int64)(unsafe.Pointer(sum))
	part := *total
	for _, at := range unsafe.Slice(index, count) {
		for i, x := range (*[kmeansBlock]float32)(unsafe.Pointer(add(token, int(at)*stride))) {
			if !(x < limit && -x < limit) {
				return false
			}
			part[i] += int64(float64(float64(x)*scale)+kmeansMagic) - kmeansMagic
		}
	}
	*total = part
	return true
}

const (
	// kmeansBlock components are added up in registers, over all tokens of a centroid.
	kmeansBlock = 16
	// kmeansMagic: adding 1.5·2^52 rounds a float64 below 2^51 to an integer, half to even.
	kmeansMagic = 3 << 51
	// kmeansWork is the components that a tile aims at, some 20 µs.
	kmeansWork = 1 << 16
	kmeansMost = 1024 // tiles
)

// Operands of kmeans_update by position.
const kmeansToken, kmeansCode = 0, 1

// kmeansTiles cuts the tokens, sorted by centroid, into equal runs.
func kmeansTiles(n, d int64) int64 {
	return min(max(n*max(d, 1)/kmeansWork, 1), max(n, 1), kmeansMost)
}

// kmeansLayout is the byte offsets of the launch's scratch: the tokens sorted by centroid,
// where each centroid's begin, and the sums of a tile for the centroid that the tile before
// began.
type kmeansLayout struct{ start, part, bytes int64 }

func kmeansShared(n, d, k int64) (l kmeansLayout) {
	l.start = align64(4 * n)
	l.part = l.start + align64(8*(k+1))
	l.bytes = l.part + 8*d*kmeansTiles(n, d)
	return l
}

func kernelKMeans(u *kmeansUnit) Body[kernels.KMeansUpdateArgs] {
	return Body[kernels.KMeansUpdateArgs]{
		Tiles: func(a *kernels.KMeansUpdateArgs, _ *backend.Call) int64 {
			return kmeansTiles(a.Token.Dims[0], a.Token.Dims[1])
		},
		Workspace: func(c *backend.Call) int64 { return kmeansShared(c.Axes[0], c.Axes[1], c.Axes[2]).bytes },
		Start: func(t *Task, a *kernels.KMeansUpdateArgs) {
			w := newKMeans(u, t, a)
			w.sort(t)
		},
		Run: func(t *Task, a *kernels.KMeansUpdateArgs) {
			w := newKMeans(u, t, a)
			for i := t.Lo; i < t.Hi; i++ {
				w.run(t, i)
			}
		},
		Finish: func(t *Task, a *kernels.KMeansUpdateArgs) {
			w := newKMeans(u, t, a)
			w.merge()
		},
	}
}

// kmeans is one worker's part of a launch.
type kmeans struct {
	*kmeansUnit
	n, d, k, tiles int64
	token          []float32
	code           []int32
	sum, count     []int64
	shift          int
	scale          float64
	limit          float32
	order          []int32 // tokens sorted by centroid
	start          []int64 // of each centroid in order; then their end
	part           []int64 // [tiles][d]
}

func newKMeans(u *kmeansUnit, t *Task, a *kernels.KMeansUpdateArgs) kmeans {
	w := kmeans{kmeansUnit: u, n: a.Token.Dims[0], d: a.Token.Dims[1], k: a.Sum.Dims[0],
		token: Slice[float32](&a.Token), code: Slice[int32](&a.Code), sum: Slice[int64](&a.Sum), count: Slice[int64](&a.Count),
		shift: int(a.Shift), scale: math.Ldexp(1, int(a.Shift)), limit: float32(math.Ldexp(1, 51-int(a.Shift)))}
	w.tiles = kmeansTiles(w.n, w.d)
	l := kmeansShared(w.n, w.d, w.k)
	w.order, w.start = Words[int32](t.Scratch[:4*w.n]), Words[int64](t.Scratch[l.start:][:8*(w.k+1)])
	w.part = Words[int64](t.Scratch[l.part:l.bytes])
	return w
}

// sort counts the tokens of each centroid and lists them.
func (w *kmeans) sort(t *Task) {
	clear(w.start)
	next := w.count // the place of each centroid's next token
	clear(next)
	raceRead(unsafe.Pointer(unsafe.SliceData(w.code)), 4*w.n)
	for i, c := range w.code {
		switch {
		case uint64(c) < uint64(w.k):
			next[c]++
		case c != -1:
			t.Fail(1, kmeansCode, int64(i))
		}
	}
	at := int64(0)
	for c, n := range next {
		w.start[c], next[c] = at, at
		at += n
	}
	w.start[w.k] = at
	for i, c := range w.code {
		if uint64(c) < uint64(w.k) {
			w.order[next[c]] = int32(i)
			next[c]++
		}
	}
	for c := range next {
		next[c] = w.start[c+1] - w.start[c]
	}
}

// run adds up the tokens of one run, [lo, hi) of the order, and clears centroids without
// tokens that stand there. What belongs to a centroid that began before goes to part.
func (w *kmeans) run(t *Task, tile int64) {
	all := w.start[w.k]
	lo, hi := all*tile/w.tiles, all*(tile+1)/w.tiles
	first, _ := slices.BinarySearch(w.start[:w.k], lo) // the first centroid that begins at or after lo
	if end := min(w.start[first], hi); end > lo {
		w.total(t, w.order[lo:end], w.part[tile*w.d:][:w.d])
	}
	for c := int64(first); c < w.k && (w.start[c] < hi || tile == w.tiles-1); c++ {
		w.total(t, w.order[w.start[c]:max(min(w.start[c+1], hi), w.start[c])], w.sum[c*w.d:][:w.d])
	}
}

// total sets sum to that of some tokens.
func (w *kmeans) total(t *Task, tokens []int32, sum []int64) {
	clear(sum)
	if len(tokens) == 0 {
		return
	}
	i, d := 0, int(w.d)
	for ; i+kmeansBlock <= d; i += kmeansBlock {
		if !w.add(&w.token[i], &tokens[0], len(tokens), d, w.scale, w.limit, &sum[i]) {
			w.convert(t, tokens, i, i+kmeansBlock, sum)
		}
	}
	w.convert(t, tokens, i, d, sum)
}

// convert adds components [lo, hi) of any magnitude, and reports those beyond the sum's range.
func (w *kmeans) convert(t *Task, tokens []int32, lo, hi int, sum []int64) {
	for _, at := range tokens {
		row := int64(at) * w.d
		for i, x := range w.token[row+int64(lo) : row+int64(hi)] {
			v := float64(x) * w.scale
			if !(math.Abs(v) < 0x1p62) {
				t.Fail(2, kmeansToken, row+int64(lo+i))
				continue
			}
			sum[lo+i] += int64(math.RoundToEven(v))
		}
	}
}

// merge adds the parts of centroids that several tiles share.
func (w *kmeans) merge() {
	all := w.start[w.k]
	c := int64(0)
	for tile := range w.tiles {
		lo := all * tile / w.tiles
		for c < w.k && w.start[c+1] <= lo {
			c++
		}
		if c < w.k && w.start[c] < lo && lo < all*(tile+1)/w.tiles {
			sum := w.sum[c*w.d:][:w.d]
			for i, v := range w.part[tile*w.d:][:w.d] {
				sum[i] += v
			}
		}
	}
}
