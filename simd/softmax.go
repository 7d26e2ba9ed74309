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
)

func kernelSoftmax(u *rowUnit) Body[kernels.SoftmaxArgs] {
	return Body[kernels.SoftmaxArgs]{
		Tiles: func(a *kernels.SoftmaxArgs, _ *backend.Call) int64 { return rowTiles(a.X.Dims[0], a.X.Dims[1]) },
		Local: func(c *backend.Call) int64 { return rowLocalBytes + 8*min(padded(c.Axes[softmaxAxisN]), softmaxRow) },
		Run: func(t *Task, a *kernels.SoftmaxArgs) {
			n, e := int(a.X.Dims[1]), rowType(a.X.DType)
			x, y := (*byte)(Pointer(&a.X)), (*byte)(Pointer(&a.Y))
			stride := int(a.X.RowStride())
			s := softmaxRows{rowUnit: u, l: t.row(), t: e, n: n, ahead: prefetchAhead(stride * rowSize(e)),
				nt: around(unsafe.Pointer(y), e, a.X.Dims[0], int64(n), x == y)}
			room := t.rowScratch()
			s.e, s.spare = room[:len(room)/2], room[len(room)/2:]
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
	e, spare  []float32 // exponentials of a row, or of a block of it; of the row before
	t, n      int
	ahead, nt int
	done      *byte   // output of the row before, whose exponentials in spare await their sum
	scaleDone float32 // its reciprocal
}

// row maps one row. Its extremes need no arithmetic: nothing has probability, or everything is NaN.
func (s *softmaxRows) row(x, y *byte) {
	top := s.rowMax(s.l, x, s.t, s.n)
	switch {
	case math.IsInf(float64(top), -1):
		fillRow(y, s.t, s.n, 0)
	case math.IsNaN(float64(top)) || math.IsInf(float64(top), 1):
		fillRow(y, s.t, s.n, float32(math.NaN()))
	case s.n > len(s.e):
		s.wide(x, y, top)
	case s.nt != 0 && s.pipe[s.t] != nil && s.n%rowGroup == 0:
		s.piped(x, y, top)
	default:
		sum := s.exps(x, s.n, top, true)
		s.write(y, s.n, float32(1/sum))
	}
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

// piped writes the row before while it computes this one.
func (s *softmaxRows) piped(x, y *byte, top float32) {
	if s.done == nil {
		s.scaleDone = float32(1 / s.exps(x, s.n, top, true))
	} else {
		s.l.lanes = rowLanes{}
		var sum float64
		for o := 0; o < s.n; o += rowBlock {
			b := min(s.n-o, rowBlock)
			s.pipe[s.t](step(x, s.t, o), &s.e[o], b/rowGroup, &s.l.lanes[0], top, s.ahead, &s.spare[o], step(s.done, s.t, o), s.scaleDone)
			sum += s.l.lanes.fold()
		}
		s.scaleDone = float32(1 / sum)
	}
	s.done = y
	s.e, s.spare = s.spare, s.e
}

// finish writes the last row of a range of tiles.
func (s *softmaxRows) finish() {
	if s.done != nil {
		s.scale[s.t](&s.spare[0], s.done, s.n/rowGroup, s.scaleDone, s.nt)
		s.done = nil
	}
}

// exps writes e^(x-top) of n elements to the buffer and returns their sum, block by block.
// keep puts the blocks behind one another.
func (s *softmaxRows) exps(x *byte, n int, top float32, keep bool) float64 {
	s.l.lanes = rowLanes{}
	var sum float64
	for o := 0; o < n; o += rowBlock {
		b := min(n-o, rowBlock)
		e := s.e
		if keep {
			e = e[o:]
		}
		g, r := b/rowGroup, b%rowGroup
		s.exp[s.t](step(x, s.t, o), &e[0], g, &s.l.lanes[0], top, s.ahead)
		if r > 0 {
			p := s.l.tail(0, step(x, s.t, o+g*rowGroup), s.t, r, rowNegInf[s.t])
			s.exp[s.t](p, &e[g*rowGroup], 1, &s.l.lanes[0], top, 0)
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
