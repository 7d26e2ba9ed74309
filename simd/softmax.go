package simd

import (
	"math"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

var _ = bindSoftmax()

func bindSoftmax() bool {
	for _, u := range rowUnits() {
		for _, i := range kernels.Softmax.Instances() {
			Bind(kernels.Softmax, u.binding(i, "n"), kernelSoftmax(u))
		}
		for _, i := range kernels.SoftmaxBackward.Instances() {
			Bind(kernels.SoftmaxBackward, u.binding(i, "n"), kernelSoftmaxBackward(u))
		}
	}
	return true
}

const (
	softmaxAxisN = 1
	// softmaxRow is the widest row whose exponentials are kept, 64 KiB of a level 2 cache;
	// a wider one computes them twice.
	softmaxRow = 16384
	// softmaxFar is the size of a maximum from which any other bf16 of a row is at least 2^11 below, and from which
	// the exponentials of 16-bit elements would not be exact enough.
	softmaxFar = 1 << 20
	// softmaxNear below its maximum, an exponential is still a normal number.
	softmaxNear = 86
)

// softmaxTop is what the exponentials of a row need, and room where a routine repeats it over its registers.
type softmaxTop struct {
	max        float32
	low, magic float32 // of 16-bit elements: the least that has an exponential, and what takes max and adds the bias of an exponent
	scale      float32 // of the row before
	_          [12]float32
	room       [4][16]float32
}

// set prepares for a row. Every unit gives the same exponentials from these, so they are computed here. In a row that is near
// all exponentials of 16-bit elements are normal numbers.
func (s *softmaxTop) set(top, scale float32, near bool) {
	const magic = 0x1.8p23 // the low bits of a sum with it are its whole part
	whole := float32(float32(top*math.Log2E)+magic) - magic
	s.max, s.scale = top, scale
	s.low, s.magic = float32((whole-127)*math.Ln2), magic-whole
	if !near {
		s.magic += 127
	}
}

func kernelSoftmax(u *rowUnit) Body[kernels.SoftmaxArgs] {
	return Body[kernels.SoftmaxArgs]{
		Tiles: func(a *kernels.SoftmaxArgs, _ *backend.Call) int64 { return rowTiles(a.X.Dims[0], a.X.Dims[1]) },
		Local: func(c *backend.Call) int64 { return rowLocalBytes + 4*min(padded(c.Axes[softmaxAxisN]), softmaxRow) },
		Run: func(t *Task, a *kernels.SoftmaxArgs) {
			n, e := int(a.X.Dims[1]), rowType(a.X.DType)
			x, y := (*byte)(Pointer(&a.X)), (*byte)(Pointer(&a.Y))
			stride := int(a.X.RowStride())
			s := softmaxRows{rowUnit: u, l: t.row(), t: e, n: n, ahead: prefetchAhead(stride * rowSize(e)),
				nt: around(unsafe.Pointer(y), e, a.X.Dims[0], int64(n), x == y)}
			s.e = t.rowScratch()
			per := rowsPerTile(int64(n))
			for i := int(t.Lo * per); i < int(min(t.Hi*per, a.X.Dims[0])); i++ {
				px, py := step(x, e, i*stride), step(y, e, i*n)
				raceRead(unsafe.Pointer(px), int64(n*rowSize(e)))
				raceWrite(unsafe.Pointer(py), int64(n*rowSize(e)))
				s.row(px, py)
			}
			s.finish()
			u.drain(s.nt)
		},
	}
}

// softmaxRows is what the rows of a tile share.
type softmaxRows struct {
	*rowUnit
	l         *rowLocal
	e         []float32 // exponentials of a row, or of a block of it
	t, n      int
	ahead, nt int
	done      *byte   // output of the row before, whose exponentials in e await their sum
	scaleDone float32 // its reciprocal
}

// row maps one row. Its extremes need no arithmetic: nothing has probability, or everything is NaN.
func (s *softmaxRows) row(x, y *byte) {
	top, near := s.extreme(x)
	switch {
	case math.IsInf(float64(top), -1):
		fillRow(y, s.t, s.n, 0)
	case math.IsNaN(float64(top)) || math.IsInf(float64(top), 1):
		fillRow(y, s.t, s.n, float32(math.NaN()))
	case s.t != elemF32 && math.Abs(float64(top)) >= softmaxFar:
		s.far(x, y, top)
	case s.n > len(s.e):
		s.wide(x, y, top)
	case s.nt != 0 && s.pipe[0][s.t] != nil && s.n%rowGroup == 0:
		s.piped(x, y, top, near)
	default:
		sum := s.exps(x, s.n, top, true)
		s.write(y, s.n, float32(1/sum))
	}
}

// extreme is the maximum of a row, NaN if one is, and whether the least element of 16 bits is near.
func (s *softmaxRows) extreme(x *byte) (top float32, near bool) {
	f := s.extremes[s.t]
	if f == nil || s.n%rowGroup != 0 || s.n == 0 {
		return s.rowMax(s.l, x, s.t, s.n), false
	}
	c := f(x, s.n/rowGroup)
	codes := [3]uint16{uint16(c), uint16(c >> 16), uint16(c >> 32)} // largest signed, smallest and largest unsigned
	load := func(i int) float32 { return loadRow((*byte)(unsafe.Pointer(&codes)), s.t, i) }
	least := load(2) // of elements below 0; a NaN with a sign is above -Inf
	if codes[2] < 1<<15 {
		least = 0
	}
	if top = load(0); codes[0] >= 1<<15 {
		top = load(1)
	}
	if least != least {
		top = least
	}
	return top, top-least <= softmaxNear
}

// wide computes the exponentials twice, since they do not fit the buffer.
func (s *softmaxRows) wide(x, y *byte, top float32) {
	var sum float64
	for o := 0; o < s.n; o += rowBlock {
		sum += s.exps(step(x, s.t, o), min(rowBlock, s.n-o), top, false)
	}
	r := float32(1 / sum)
	for o := 0; o < s.n; o += rowBlock {
		b := min(rowBlock, s.n-o)
		s.exps(step(x, s.t, o), b, top, false)
		s.write(step(y, s.t, o), b, r)
	}
}

// far shares the probability between the maxima: e^x of all others is 0 beside theirs.
func (s *softmaxRows) far(x, y *byte, top float32) {
	count := 0
	for i := range s.n {
		if loadRow(x, s.t, i) == top {
			count++
		}
	}
	for i := range s.n {
		v := float32(0)
		if loadRow(x, s.t, i) == top {
			v = float32(1 / float64(count))
		}
		storeRow(y, s.t, i, v)
	}
}

// piped writes the row before while it computes this one, over its exponentials.
func (s *softmaxRows) piped(x, y *byte, top float32, near bool) {
	if s.done == nil {
		s.scaleDone = float32(1 / s.exps(x, s.n, top, true))
	} else {
		s.l.lanes = rowLanes{}
		s.l.top.set(top, s.scaleDone, near)
		f := s.pipe[0][s.t]
		if near {
			f = s.pipe[1][s.t]
		}
		var sum float64
		for o := 0; o < s.n; o += rowBlock {
			b := min(s.n-o, rowBlock)
			f(step(x, s.t, o), &s.e[o], b/rowGroup, &s.l.lanes[0], &s.l.top.max, s.ahead, step(s.done, s.t, o))
			sum += s.l.lanes.fold()
		}
		s.scaleDone = float32(1 / sum)
	}
	s.done = y
}

// finish writes the last row of a range of tiles.
func (s *softmaxRows) finish() {
	if s.done != nil {
		s.scale[s.t](&s.e[0], s.done, s.n/rowGroup, s.scaleDone, s.nt)
		s.done = nil
	}
}

// exps writes e^(x-top) of n elements to the buffer and returns their sum, block by block.
// keep puts the blocks behind one another.
func (s *softmaxRows) exps(x *byte, n int, top float32, keep bool) float64 {
	s.l.lanes = rowLanes{}
	s.l.top.set(top, 0, false)
	var sum float64
	for o := 0; o < n; o += rowBlock {
		b := min(n-o, rowBlock)
		e := s.e
		if keep {
			e = e[o:]
		}
		g, r := b/rowGroup, b%rowGroup
		s.exp[s.t](step(x, s.t, o), &e[0], g, &s.l.lanes[0], &s.l.top.max, s.ahead)
		if r > 0 {
			p := s.l.tail(0, step(x, s.t, o+g*rowGroup), s.t, r, rowNegInf[s.t])
			s.exp[s.t](p, &e[g*rowGroup], 1, &s.l.lanes[0], &s.l.top.max, 0)
		}
		sum += s.l.lanes.fold()
	}
	return sum
}

// write scales n exponentials into the output.
func (s *softmaxRows) write(y *byte, n int, r float32) {
	g, rest := n/rowGroup, n%rowGroup
	if g > 0 {
		s.scale[s.t](&s.e[0], y, g, r, s.nt)
	}
	if rest > 0 {
		s.scale[s.t](&s.e[g*rowGroup], s.l.out(0), 1, r, 0)
		s.l.untail(0, step(y, s.t, g*rowGroup), s.t, rest)
	}
}

func kernelSoftmaxBackward(u *rowUnit) Body[kernels.SoftmaxBackwardArgs] {
	return Body[kernels.SoftmaxBackwardArgs]{
		Tiles: func(a *kernels.SoftmaxBackwardArgs, _ *backend.Call) int64 { return rowTiles(a.Y.Dims[0], a.Y.Dims[1]) },
		Local: func(*backend.Call) int64 { return rowLocalBytes },
		Run:   func(t *Task, a *kernels.SoftmaxBackwardArgs) { softmaxBackward(u, t, a) },
	}
}

func softmaxBackward(u *rowUnit, t *Task, a *kernels.SoftmaxBackwardArgs) {
	n, e, l := int(a.Y.Dims[1]), rowType(a.Y.DType), t.row()
	y, dy, dx := (*byte)(Pointer(&a.Y)), (*byte)(Pointer(&a.DY)), (*byte)(Pointer(&a.DX))
	nt := around(unsafe.Pointer(dx), e, a.Y.Dims[0], int64(n), dx == dy)
	bytes := n * rowSize(e)
	ahead := prefetchAhead(bytes)
	per := rowsPerTile(int64(n))
	for i := int(t.Lo * per); i < int(min(t.Hi*per, a.Y.Dims[0])); i++ {
		py, pd, px := step(y, e, i*n), step(dy, e, i*n), step(dx, e, i*n)
		raceRead(unsafe.Pointer(py), int64(bytes))
		raceRead(unsafe.Pointer(pd), int64(bytes))
		raceWrite(unsafe.Pointer(px), int64(bytes))
		dot := float32(u.rowDot(l, py, pd, e, n, ahead))
		g, rest := n/rowGroup, n%rowGroup
		o := g * rowGroup
		if rest > 0 {
			ty := l.tail(0, step(py, e, o), e, rest, rowZero)
			td := l.tail(1, step(pd, e, o), e, rest, rowZero)
			u.softmaxGrad[e](ty, td, l.out(2), 1, dot, 0, 0)
		}
		u.softmaxGrad[e](py, pd, px, g, dot, ahead, nt)
		if rest > 0 {
			l.untail(2, step(px, e, o), e, rest)
		}
	}
	u.drain(nt)
}
