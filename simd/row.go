package simd

import (
	"math"
	"slices"
	"unsafe"

	"github.com/likbench/likbench/backend"
)

// Row kernels work on groups of 32 elements whatever the register width: a lane of a
// reduction holds the same element of each group of a block, so that AVX2, AVX-512 and
// NEON give the same bits. A tail is padded with a neutral element and runs through the
// same routine, so a bit never depends on where a row ends.
//
// Float32 companions of a row (weights, partial sums, exponentials) are in places: the
// order in which a group is held in registers, see rowPlace.
const (
	rowGroup = 32
	// rowBlock elements are added in f32, 128 to a lane, before their sum goes to f64:
	// long rows would otherwise lose what they add late.
	rowBlock = 4096
)

// Element types of a row, as indices of a rowUnit's routines.
const (
	elemF32 = iota
	elemBF16
	elemF16
	rowTypes
)

func rowType(t backend.DType) int {
	switch t {
	case backend.BF16:
		return elemBF16
	case backend.F16:
		return elemF16
	}
	return elemF32
}

func rowSize(t int) int {
	if t == elemF32 {
		return 4
	}
	return 2
}

// rowPlace is where element i of a row stands in its float32 companions: even elements of
// a bf16 group before odd ones, since a shift and a mask split two bf16 faster than a
// shuffle spreads them.
func rowPlace(t, i int) int {
	if t != elemBF16 {
		return i
	}
	return i&^(rowGroup-1) | i&1<<4 | i&(rowGroup-1)>>1
}

// cleanNaN takes the payload from a NaN: rounding to bf16 might carry into its exponent.
func cleanNaN(v float32) float32 {
	if v != v {
		return float32(math.NaN())
	}
	return v
}

// rowUnit is the arithmetic of a level on whole groups, by element type. Pointers are to
// any element, aligned to its size. A store argument nt that is not 0 writes around the
// cache and needs an address that is a multiple of 64; ahead is the distance in bytes at
// which a routine prefetches an input. Where two passes read two inputs, each prefetches
// one, so that the memory is busy in both.
type rowUnit struct {
	variant  string
	requires []string
	half     []string // what f16 requires
	class    string   // units of a class give the same bits

	// max keeps the larger of lanes and elements; a NaN stays.
	max [rowTypes]func(x *byte, groups int, lanes *float32)
	// extremes are, from low to high, the largest signed, smallest unsigned and largest unsigned code of 16-bit elements of at
	// least one group, if the unit has it.
	extremes [rowTypes]func(x *byte, groups int) uint64
	// find returns the first group with an element equal to value, or groups.
	find [rowTypes]func(x *byte, groups int, value float32) int
	// square adds x² to lanes, dot adds a·b.
	square [rowTypes]func(x *byte, groups int, lanes *float32)
	dot    [rowTypes]func(a, b *byte, groups int, lanes *float32, ahead int)
	// scale writes e·s.
	scale [rowTypes]func(e *float32, y *byte, groups int, s float32, nt int)
	// exp writes e = c·exp(x-max) for max ≥ x and adds it to lanes; row begins a softmaxTop and c is the unit's,
	// the same for the row: 1 for f32, near it for other types.
	exp [rowTypes]func(x *byte, e *float32, groups int, lanes, row *float32, ahead int)
	// pipe does so and before that writes what e was, times the scale of row, to y around the cache, if the unit has it.
	// Index 1 of the first axis is for rows that are near.
	pipe [2][rowTypes]func(x *byte, e *float32, groups int, lanes, row *float32, ahead int, y *byte)
	// softmaxGrad writes dx = y·(dy-dot).
	softmaxGrad [rowTypes]func(y, dy, dx *byte, groups int, dot float32, ahead, nt int)
	// rmsScale writes y = x·r·w. Index 1 of the first axis rounds x·r to the element type.
	rmsScale [2][rowTypes]func(x *byte, w *float32, y *byte, groups int, r float32, ahead, nt int)
	// rmsPipe does so around the cache and adds the squares of a later row to lanes, if the unit has it.
	rmsPipe [2][rowTypes]func(x *byte, w *float32, y *byte, groups int, r float32, next *byte, lanes *float32, ahead int)
	// rmsDot adds dy·w·x to lanes.
	rmsDot [rowTypes]func(dy, x *byte, w *float32, groups int, lanes *float32, ahead int)
	// rmsDotWeight does so too, and adds dy·(x·r) to part, x·r rounded with index 1.
	rmsDotWeight [2][rowTypes]func(dy, x *byte, w, part *float32, groups int, lanes *float32, r float32, ahead int)
	// rmsGrad writes dx = r·(dy·w) - c·x.
	rmsGrad [rowTypes]func(dy, x *byte, w *float32, dx *byte, groups int, r, c float32, ahead, nt int)
	// rmsGradPipe does so around the cache, and rmsDotWeight for a later row, if the unit has it.
	rmsGradPipe [2][rowTypes]func(dy, x *byte, w *float32, dx *byte, groups int, r, c float32, nextDY, nextX *byte, part, lanes *float32, nextR float32, ahead int)
	// fence orders stores around the cache before later ones; nil where there are none. The
	// device's own signals to other goroutines lock the bus and would do; once per range of
	// tiles it costs nothing, where once per row it cost a sixth of softmax.
	fence func()
	// topk returns the first group with an element ≥ bound, or groups. NaN is not.
	topk func(x *float32, groups int, bound float32) int
}

// rowUnits are the units of every architecture, so that tables are the same everywhere: one
// whose assembly is not in this build has portable routines, and no device loads it.
func rowUnits() []*rowUnit {
	out := append(rowAssembly(), &rowGeneric)
	for _, name := range []string{"avx512", "avx2", "neon"} {
		if slices.ContainsFunc(out, func(u *rowUnit) bool { return u.variant == name }) {
			continue
		}
		u := rowGeneric
		u.variant, u.requires, u.class = name, []string{name}, rowFused
		if name == "avx2" {
			u.half = []string{"f16c"}
		}
		out = append(out, &u)
	}
	return out
}

// rowFused is the class of the assembly units: same lanes, same order, fused products.
const rowFused = "fused"

// needs is what an instance with these element types requires.
func (u *rowUnit) needs(types ...backend.DType) []string {
	for _, t := range types {
		if t == backend.F16 {
			return append(append([]string(nil), u.requires...), u.half...)
		}
	}
	return u.requires
}

// rowLocal is the head of a worker's own memory: lanes of a reduction and padded tails.
type rowLocal struct {
	lanes rowLanes
	rows  [rmsTogether]rowLanes // of several rows at once
	tails [4][rowGroup]float32  // f32 or, in the first half, a 16-bit type
	top   softmaxTop
}

// rowLanes are the lanes of a reduction.
type rowLanes [rowGroup]float32

const rowLocalBytes = int64(unsafe.Sizeof(rowLocal{}))

func (t *Task) row() *rowLocal { return (*rowLocal)(unsafe.Pointer(unsafe.SliceData(t.Local))) }

// rowScratch is what follows the head, as float32.
func (t *Task) rowScratch() []float32 { return Words[float32](t.Local[rowLocalBytes:]) }

// padded is n rounded up to whole groups.
func padded(n int64) int64 { return (n + rowGroup - 1) &^ (rowGroup - 1) }

// step moves p by n elements of type t.
func step(p *byte, t, n int) *byte {
	return (*byte)(unsafe.Add(unsafe.Pointer(p), n*rowSize(t)))
}

// bytesAt are the n elements of type t at p.
func bytesAt(p *byte, t, n int) []byte { return unsafe.Slice(p, n*rowSize(t)) }

// Neutral elements by type, as the bytes of one element.
var (
	rowZero   = [4]byte{}
	rowNegInf = [rowTypes][4]byte{elemF32: {0, 0, 0x80, 0xff}, elemBF16: {0x80, 0xff}, elemF16: {0, 0xfc}}
)

// tail copies n < 32 elements into buffer i and pads them with the neutral element.
func (l *rowLocal) tail(i int, p *byte, t, n int, neutral [4]byte) *byte {
	q := (*byte)(unsafe.Pointer(&l.tails[i]))
	b := bytesAt(q, t, rowGroup)
	size := rowSize(t)
	copy(b, bytesAt(p, t, n))
	for k := n * size; k < len(b); k += size {
		copy(b[k:k+size], neutral[:size])
	}
	return q
}

// out is buffer i as the target of a padded tail, and untail copies its n elements to p.
func (l *rowLocal) out(i int) *byte { return (*byte)(unsafe.Pointer(&l.tails[i])) }

func (l *rowLocal) untail(i int, p *byte, t, n int) {
	copy(bytesAt(p, t, n), bytesAt(l.out(i), t, n))
}

// fold adds the lanes in f64, in a fixed order, and clears them.
func (l *rowLanes) fold() float64 {
	var s [4]float64
	for i := 0; i < rowGroup; i += 4 {
		s[0] += float64(l[i])
		s[1] += float64(l[i+1])
		s[2] += float64(l[i+2])
		s[3] += float64(l[i+3])
	}
	*l = rowLanes{}
	return (s[0] + s[1]) + (s[2] + s[3])
}

// rowMax is the largest of n elements, NaN if one is, -Inf of none.
func (u *rowUnit) rowMax(l *rowLocal, x *byte, t, n int) float32 {
	for i := range l.lanes {
		l.lanes[i] = negInf32
	}
	g := n / rowGroup
	if g > 0 {
		u.max[t](x, g, &l.lanes[0])
	}
	if r := n % rowGroup; r > 0 {
		u.max[t](l.tail(0, step(x, t, g*rowGroup), t, r, rowNegInf[t]), 1, &l.lanes[0])
	}
	m := negInf32
	for _, v := range l.lanes {
		if v > m || v != v {
			m = v
		}
		if m != m {
			break
		}
	}
	l.lanes = rowLanes{}
	return m
}

// rowFind is the lowest position equal to value, which is not NaN, or -1.
func (u *rowUnit) rowFind(x *byte, t, n int, value float32) int {
	g := n / rowGroup
	at := rowGroup * g
	if g > 0 {
		at = rowGroup * u.find[t](x, g, value)
	}
	for i := at; i < n; i++ {
		if loadRow(x, t, i) == value {
			return i
		}
	}
	return -1
}

// rowSquare is the sum of n squares.
func (u *rowUnit) rowSquare(l *rowLocal, x *byte, t, n int) float64 {
	l.lanes = rowLanes{}
	var sum float64
	for n > 0 {
		b := min(n, rowBlock)
		g, r := b/rowGroup, b%rowGroup
		u.square[t](x, g, &l.lanes[0])
		if r > 0 {
			u.square[t](l.tail(0, step(x, t, g*rowGroup), t, r, rowZero), 1, &l.lanes[0])
		}
		sum += l.lanes.fold()
		x, n = step(x, t, b), n-b
	}
	return sum
}

// rowDot is the sum of n products.
func (u *rowUnit) rowDot(l *rowLocal, a, b *byte, t, n, ahead int) float64 {
	l.lanes = rowLanes{}
	var sum float64
	for n > 0 {
		c := min(n, rowBlock)
		g, r := c/rowGroup, c%rowGroup
		u.dot[t](a, b, g, &l.lanes[0], ahead)
		if r > 0 {
			ra := l.tail(0, step(a, t, g*rowGroup), t, r, rowZero)
			rb := l.tail(1, step(b, t, g*rowGroup), t, r, rowZero)
			u.dot[t](ra, rb, 1, &l.lanes[0], 0)
		}
		sum += l.lanes.fold()
		a, b, n = step(a, t, c), step(b, t, c), n-c
	}
	return sum
}

// fillRow sets n elements.
func fillRow(p *byte, t, n int, value float32) {
	if t == elemF32 {
		for i := range n {
			storeRow(p, t, i, value)
		}
		return
	}
	if n == 0 {
		return
	}
	storeRow(p, t, 0, value)
	w := unsafe.Slice((*uint16)(unsafe.Pointer(p)), n)
	for i := range w {
		w[i] = w[0]
	}
}

// rowTileElements makes a tile some 20 µs of work.
const rowTileElements = 1 << 16

// rowsPerTile is how many rows of n elements make a tile; short rows cost by the row.
func rowsPerTile(n int64) int64 { return max(1, rowTileElements/max(n, 256)) }

// rowTiles is the number of tiles of rows of n elements.
func rowTiles(rows, n int64) int64 {
	p := rowsPerTile(n)
	return (rows + p - 1) / p
}

// aroundBytes is the output size from which it is written around the cache: it would push
// out its own inputs, and a write that misses reads the line first.
const aroundBytes = 16 << 20

// around says, as 1 or 0, whether rows of n elements at p, stride bytes apart, go around
// the cache. In-place outputs do not: their lines are there already.
func around(p unsafe.Pointer, t int, rows, n int64, inPlace bool) int {
	row := n * int64(rowSize(t))
	if inPlace || rows*row < aroundBytes || row%64 != 0 || uintptr(p)%64 != 0 {
		return 0
	}
	return 1
}

// drain ends a range of tiles that wrote with nt.
func (u *rowUnit) drain(nt int) {
	if nt != 0 && u.fence != nil {
		u.fence()
	}
}

// prefetchAhead is the prefetch distance for rows stride bytes apart: the next row while
// several fit the level 2 cache, else a fixed lead over the hardware's own.
func prefetchAhead(stride int) int {
	if stride <= 64<<10 {
		return stride
	}
	return 2 << 10
}
