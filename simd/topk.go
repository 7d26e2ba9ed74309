package simd

import (
	"math"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

var _ = bindTopK()

func bindTopK() bool {
	for _, u := range rowUnits() {
		for _, i := range kernels.TopK.Instances() {
			b := u.binding(i, "n")
			b.Class = "exact" // a total order leaves nothing to arithmetic
			Bind(kernels.TopK, b, kernelTopK(u))
		}
	}
	return true
}

// Axes of topk.
const (
	topkB, topkN, topkK = 0, 1, 2
)

const (
	// topkScan is the largest k that keeps a short list and scans against its threshold;
	// beyond, the whole row is ranked.
	topkScan = 4096
	// topkSlack is what the list holds beyond 2k, so that small k does not select all the time.
	topkSlack = 128
	// topkSplit scores make a part of a long row, and topkFew is the number of rows below
	// which rows are split: with more the rows themselves keep the workers busy.
	topkSplit = 1 << 16
	topkFew   = 32
	topkParts = 64
)

// topkPartsOf is how many parts each of b rows of n scores has.
func topkPartsOf(b, n int64) int64 {
	if b >= topkFew {
		return 1
	}
	return min(max(n/topkSplit, 1), topkParts)
}

// topkCapacity is the entries of the list.
func topkCapacity(n, k int64) int64 {
	if k > topkScan {
		return n
	}
	return min(n, 2*k+topkSlack)
}

func kernelTopK(u *rowUnit) Body[kernels.TopKArgs] {
	return Body[kernels.TopKArgs]{
		Tiles: func(a *kernels.TopKArgs, _ *backend.Call) int64 {
			b, n := a.Score.Dims[0], a.Score.Dims[1]
			return b * topkPartsOf(b, n)
		},
		Workspace: func(c *backend.Call) int64 { // the parts' best keys, and room to rank those of a row
			n, k := c.Axes[topkN], c.Axes[topkK]
			parts := topkPartsOf(1, n)
			if parts == 1 {
				return 0
			}
			return 8 * (min(c.Axes[topkB], topkFew-1) + 1) * min(parts*k, n+topkParts)
		},
		Local:  func(c *backend.Call) int64 { return 16 * topkCapacity(c.Axes[topkN], c.Axes[topkK]) },
		Run:    func(t *Task, a *kernels.TopKArgs) { topkRun(u, t, a) },
		Finish: topkMerge,
	}
}

// topkRow is one row of a launch.
type topkRow struct {
	score []float32 // the live ones
	label []int32   // nil: positions
	value []float32
	index []int32
}

func topkRowOf(a *kernels.TopKArgs, i int64) topkRow {
	n, k := a.Score.Dims[1], a.Value.Dims[1]
	live := n
	if c := Slice[int64](&a.Live); c != nil {
		live = min(max(c[i], 0), n)
	}
	var r topkRow
	if live > 0 {
		r.score = Slice[float32](&a.Score)[i*a.Score.RowStride():][:live]
	}
	if l := Slice[int32](&a.Label); l != nil {
		r.label = l[i*n:][:live]
	}
	r.value, r.index = Slice[float32](&a.Value)[i*k:][:k], Slice[int32](&a.Index)[i*k:][:k]
	return r
}

func topkRun(u *rowUnit, t *Task, a *kernels.TopKArgs) {
	b, n, k := a.Score.Dims[0], a.Score.Dims[1], int(a.Value.Dims[1])
	if k == 0 {
		return
	}
	room := Words[uint64](t.Local)
	list, spare := room[:len(room)/2], room[len(room)/2:]
	parts := topkPartsOf(b, n)
	for i := t.Lo; i < t.Hi; i++ {
		r := topkRowOf(a, i/parts)
		live := int64(len(r.score))
		if parts == 1 {
			raceRead(unsafe.Pointer(unsafe.SliceData(r.score)), 4*live)
			best := u.topkBest(r.score, 0, k, list, spare)
			topkSort(best, spare)
			r.write(best)
			continue
		}
		part := (n + parts - 1) / parts
		lo := min(i%parts*part, live)
		hi := min(lo+part, live)
		if p := r.score[lo:hi]; len(p) > 0 {
			raceRead(unsafe.Pointer(&p[0]), 4*int64(len(p)))
		}
		keep := min(int64(k), part)
		out := Words[uint64](t.Scratch)[i*keep:][:keep]
		best := u.topkBest(r.score[lo:hi], int(lo), k, list, spare)
		for j := copy(out, best); j < len(out); j++ {
			out[j] = topkNone
		}
	}
}

// topkMerge ranks the parts' keys where rows were split.
func topkMerge(t *Task, a *kernels.TopKArgs) {
	b, n, k := a.Score.Dims[0], a.Score.Dims[1], int(a.Value.Dims[1])
	parts := topkPartsOf(b, n)
	if parts == 1 || k == 0 {
		return
	}
	row := int(parts * min(int64(k), (n+parts-1)/parts))
	all := Words[uint64](t.Scratch)
	spare := all[int(b)*row:]
	for i := range b {
		best := all[int(i)*row:][:row]
		if len(best) > k {
			topkCut(best, spare, k)
			best = best[:k]
		}
		topkSort(best, spare)
		topkRowOf(a, i).write(best)
	}
}

// write fills the row's results from keys in order.
func (r topkRow) write(best []uint64) {
	raceWrite(unsafe.Pointer(&r.value[0]), 4*int64(len(r.value)))
	raceWrite(unsafe.Pointer(&r.index[0]), 4*int64(len(r.index)))
	for j := range r.value {
		if j < len(best) && best[j] != topkNone {
			at := int32(uint32(best[j]))
			r.value[j], r.index[j] = r.score[at], at
			if r.label != nil {
				r.index[j] = r.label[at]
			}
		} else {
			r.value[j], r.index[j] = negInf32, -1
		}
	}
}

// topkNone is behind every key.
const topkNone = math.MaxUint64

// topkKey orders scores as unsigned integers: larger scores first, -0 equal to +0, NaN
// last, and by index among equals.
func topkKey(score float32, index int) uint64 {
	b := math.Float32bits(score)
	switch {
	case score != score:
		b = math.MaxUint32
	case score == 0:
		b = 1<<31 - 1
	case b>>31 == 0:
		b ^= 1<<31 - 1
	}
	return uint64(b)<<32 | uint64(uint32(index))
}

// topkBest returns the min(k, len) best keys of scores whose first index is base, by
// index, in list. spare is as long.
func (u *rowUnit) topkBest(score []float32, base, k int, list, spare []uint64) []uint64 {
	n := min(len(score), len(list))
	for i, v := range score[:n] {
		list[i] = topkKey(v, base+i)
	}
	if k >= len(score) {
		return list[:n]
	}
	for at := n; ; {
		last := topkCut(list[:n], spare, k)
		if at == len(score) {
			return list[:k]
		}
		bound := topkBound(score[int(uint32(last))-base])
		if bound != bound {
			return list[:k]
		}
		n, at = u.topkGather(score, base, at, bound, list, k)
	}
}

// topkBound is the least score that ranks before threshold whatever its index, NaN if none does.
func topkBound(threshold float32) float32 {
	inf := float32(math.Inf(1))
	switch {
	case threshold != threshold:
		return -inf
	case threshold == inf:
		return float32(math.NaN())
	}
	return math.Nextafter32(threshold, inf)
}

// topkGather appends the keys of scores from at on that are not below bound until the list
// is full, and returns its length and where it stopped.
func (u *rowUnit) topkGather(score []float32, base, at int, bound float32, list []uint64, n int) (int, int) {
	for at < len(score) {
		if g := (len(score) - at) / rowGroup; g > 0 {
			at += rowGroup * u.topk(&score[at], g, bound)
		}
		end := min(at+rowGroup, len(score))
		if n+end-at > len(list) {
			break
		}
		for ; at < end; at++ {
			if v := score[at]; v >= bound {
				list[n] = topkKey(v, base+at)
				n++
			}
		}
	}
	return n, at
}
