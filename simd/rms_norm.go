package simd

import (
	"math"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/backend/num"
)

var _ = bindRMSNorm()

func bindRMSNorm() bool {
	for _, u := range rowUnits() {
		for _, i := range kernels.RMSNorm.Instances() {
			Bind(kernels.RMSNorm, u.binding(i, "n"), kernelRMSNorm(u))
		}
		for _, i := range kernels.RMSNormBackward.Instances() {
			Bind(kernels.RMSNormBackward, u.binding(i, "n"), kernelRMSNormBackward(u))
		}
	}
	return true
}

// binding is the unit's variant of an instance whose rows run along axis.
func (u *rowUnit) binding(i kernel.Instance, axis string) backend.Binding {
	return backend.Binding{Kernel: i.Name, Variant: u.variant, Requires: u.needs(i.Types[:]...), Class: u.class,
		Tile: map[string]int64{axis: rowGroup}}
}

// Positions of operands and axes of rms_norm and rms_norm_backward.
const (
	rmsAxisRows, rmsAxisN = 0, 1
	rmsBackwardDW         = 5
)

func kernelRMSNorm(u *rowUnit) Body[kernels.RMSNormArgs] {
	return Body[kernels.RMSNormArgs]{
		Tiles:     func(a *kernels.RMSNormArgs, _ *backend.Call) int64 { return rowTiles(a.X.Dims[0], a.X.Dims[1]) },
		Workspace: func(c *backend.Call) int64 { return 4 * padded(c.Axes[rmsAxisN]) },
		Local:     func(*backend.Call) int64 { return rowLocalBytes },
		Start: func(t *Task, a *kernels.RMSNormArgs) {
			rmsWeight(Words[float32](t.Scratch), &a.Weight, int(a.X.Dims[1]), rowType(a.X.DType), a.Offset, a.Casting)
		},
		Run: func(t *Task, a *kernels.RMSNormArgs) { rmsForward(u, t, a) },
	}
}

// rmsWeight writes offset + weight in places, ones without a weight, zeros beyond n. t is
// the type of the rows.
func rmsWeight(w []float32, weight *backend.View, n, t int, offset float64, c kernels.Casting) {
	clear(w)
	if weight.Absent() {
		for i := range n {
			w[rowPlace(t, i)] = 1
		}
		return
	}
	p, wt := (*byte)(Pointer(weight)), rowType(weight.DType)
	raceRead(unsafe.Pointer(p), weight.Bytes())
	for i := range n {
		v := float32(offset + float64(loadRow(p, wt, i)))
		if c == kernels.CastNone {
			v = roundRow(t, v)
		}
		w[rowPlace(t, i)] = cleanNaN(v)
	}
}

// rms is r of a row from the sum of its squares, rounded to the element type at each step in the
// none mode.
func rms(sum float64, n, t int, eps float64, c kernels.Casting) float32 {
	var mean float64
	if n > 0 {
		mean = sum / float64(n)
	}
	if c != kernels.CastNone {
		return float32(1 / math.Sqrt(mean+eps))
	}
	round := func(v float64) float64 {
		switch t {
		case elemBF16:
			return num.BF16ToFloat64(num.BF16FromFloat64(v))
		case elemF16:
			return num.F16ToFloat64(num.F16FromFloat64(v))
		}
		return float64(float32(v))
	}
	return float32(round(1 / math.Sqrt(round(round(mean)+round(eps)))))
}

// rmsTogether rows are passed over in stretches of rmsStretch columns, so that the weight and
// the partial sums of a stretch stay in the level 1 cache from row to row: with the rows
// themselves they would not.
const (
	rmsTogether = 4
	rmsStretch  = 1024
)

// rmsRows is what the rows of a tile share.
type rmsRows struct {
	*rowUnit
	l         *rowLocal
	w, part   *float32 // in places; part is nil where DW is not wanted
	t, n      int
	round     int // 1: x·r is rounded to the element type
	ahead, nt int
	r, c      [rmsTogether]float32
	dot       [rmsTogether]float64
}

func newRMSRows(u *rowUnit, t *Task, x *backend.View, c kernels.Casting) rmsRows {
	m := rmsRows{rowUnit: u, l: t.row(), t: rowType(x.DType), n: int(x.Dims[1]), round: 1}
	if c == kernels.CastGemma {
		m.round = 0
	}
	if m.n > 0 {
		m.w = &Words[float32](t.Scratch)[0]
	}
	m.ahead = rmsTogether * int(x.RowStride()) * rowSize(m.t)
	if m.ahead > 256<<10 { // two groups of rows would not fit a level 2 cache
		m.ahead = 2 << 10
	}
	return m
}

// stretches visits the row in stretches of whole groups, then its tail of less than a group.
func (m *rmsRows) stretches(lo, hi int, whole func(o, groups int), tail func(o, rest int)) {
	o := lo
	for ; o+rowGroup <= hi; o += rmsStretch {
		whole(o, min(hi-o, rmsStretch)/rowGroup)
	}
	if rest := (hi - lo) % rowGroup; rest > 0 {
		tail(hi-rest, rest)
	}
}

// place is element o of float32 companions.
func place(p *float32, o int) *float32 {
	if p == nil {
		return nil
	}
	return (*float32)(unsafe.Add(unsafe.Pointer(p), 4*o))
}

func rmsForward(u *rowUnit, t *Task, a *kernels.RMSNormArgs) {
	m := newRMSRows(u, t, &a.X, a.Casting)
	rows, rstd := a.X.Dims[0], Slice[float32](&a.RStd)
	x, y, stride := (*byte)(Pointer(&a.X)), (*byte)(Pointer(&a.Y)), int(a.X.RowStride())
	m.nt = around(unsafe.Pointer(y), m.t, rows, int64(m.n), x == y)
	bytes := int64(m.n * rowSize(m.t))
	per := rowsPerTile(int64(m.n))
	hi := int(min(t.Hi*per, rows))
	lo := int(t.Lo * per)
	raceRows(x, m.t, stride, lo, hi, bytes, raceRead)
	raceRows(y, m.t, m.n, lo, hi, bytes, raceWrite)
	piped := m.nt != 0 && m.rmsPipe[m.round][m.t] != nil && m.n%rowGroup == 0
	for i := lo; i < hi; i += rmsTogether {
		count := min(rmsTogether, hi-i)
		if i == lo || !piped {
			for j := range count {
				m.dot[j] = u.rowSquare(m.l, step(x, m.t, (i+j)*stride), m.t, m.n)
			}
		}
		for j := range count {
			m.r[j] = rms(m.dot[j], m.n, m.t, a.Eps, a.Casting)
			rstd[i+j] = m.r[j]
		}
		if piped {
			m.scalePiped(count, min(rmsTogether, hi-i-count), step(x, m.t, i*stride), stride, step(y, m.t, i*m.n))
		} else {
			m.scale(count, step(x, m.t, i*stride), stride, step(y, m.t, i*m.n))
		}
	}
	u.drain(m.nt)
}

// raceRows tells the race detector of bytes of each row.
func raceRows(p *byte, t, stride, lo, hi int, bytes int64, touch func(unsafe.Pointer, int64)) {
	for i := lo; i < hi; i++ {
		touch(unsafe.Pointer(step(p, t, i*stride)), bytes)
	}
}

// scalePiped writes count rows and sums the squares of the next rows behind them into dot.
func (m *rmsRows) scalePiped(count, next int, x *byte, stride int, y *byte) {
	f, plain := m.rmsPipe[m.round][m.t], m.rmsScale[m.round][m.t]
	m.dot, m.l.rows = [rmsTogether]float64{}, [rmsTogether]rowLanes{}
	for b := 0; b < m.n; b += rowBlock {
		m.stretches(b, min(b+rowBlock, m.n), func(o, groups int) {
			for j := range count {
				px, py := step(x, m.t, j*stride+o), step(y, m.t, j*m.n+o)
				if j < next {
					f(px, place(m.w, o), py, groups, m.r[j], step(px, m.t, count*stride), &m.l.rows[j][0], m.ahead)
				} else {
					plain(px, place(m.w, o), py, groups, m.r[j], m.ahead, m.nt)
				}
			}
		}, nil)
		for j := range next {
			m.dot[j] += m.l.rows[j].fold()
		}
	}
}

// scale writes count rows of y = x·r·w.
func (m *rmsRows) scale(count int, x *byte, stride int, y *byte) {
	f := m.rmsScale[m.round][m.t]
	m.stretches(0, m.n, func(o, groups int) {
		for j := range count {
			f(step(x, m.t, j*stride+o), place(m.w, o), step(y, m.t, j*m.n+o), groups, m.r[j], m.ahead, m.nt)
		}
	}, func(o, rest int) {
		for j := range count {
			p := m.l.tail(0, step(x, m.t, j*stride+o), m.t, rest, rowZero)
			f(p, place(m.w, o), m.l.out(1), 1, m.r[j], 0, 0)
			m.l.untail(1, step(y, m.t, j*m.n+o), m.t, rest)
		}
	})
}

// rmsBackwardRows is how many rows make a tile: they share one row of partial sums of DW, so
// that these stay a small part of the traffic, and no f32 sum has more than 512 terms.
func rmsBackwardRows(n int64) int64 { return min(max(1<<18/max(n, 1), 16), 512) }

func rmsBackwardTiles(rows, n int64) int64 {
	p := rmsBackwardRows(n)
	return (rows + p - 1) / p
}

func kernelRMSNormBackward(u *rowUnit) Body[kernels.RMSNormBackwardArgs] {
	return Body[kernels.RMSNormBackwardArgs]{
		Tiles: func(a *kernels.RMSNormBackwardArgs, _ *backend.Call) int64 {
			return rmsBackwardTiles(a.X.Dims[0], a.X.Dims[1])
		},
		Workspace: func(c *backend.Call) int64 { // the weight, then a row of partial sums for each tile
			row := 4 * padded(c.Axes[rmsAxisN])
			if c.Operands[rmsBackwardDW].Absent() {
				return row
			}
			return row * (1 + rmsBackwardTiles(c.Axes[rmsAxisRows], c.Axes[rmsAxisN]))
		},
		Local: func(*backend.Call) int64 { return rowLocalBytes },
		Start: func(t *Task, a *kernels.RMSNormBackwardArgs) {
			n := padded(a.X.Dims[1])
			rmsWeight(Words[float32](t.Scratch)[:n], &a.Weight, int(a.X.Dims[1]), rowType(a.X.DType), a.Offset, kernels.CastGemma)
		},
		Run: func(t *Task, a *kernels.RMSNormBackwardArgs) {
			per := rmsBackwardRows(a.X.Dims[1])
			for i := t.Lo; i < t.Hi; i++ {
				rmsBackward(u, t, a, i, i*per, min((i+1)*per, a.X.Dims[0]))
			}
		},
		Finish: rmsWeightGradient,
	}
}

// rmsBackward does the rows of one tile and their part of DW.
func rmsBackward(u *rowUnit, t *Task, a *kernels.RMSNormBackwardArgs, tile, lo, hi int64) {
	m := newRMSRows(u, t, &a.X, a.Casting)
	if m.n == 0 {
		return
	}
	rstd := Slice[float32](&a.RStd)
	dy, x, dx := (*byte)(Pointer(&a.DY)), (*byte)(Pointer(&a.X)), (*byte)(Pointer(&a.DX))
	m.nt = around(unsafe.Pointer(dx), m.t, a.X.Dims[0], int64(m.n), dx == dy)
	if !a.DW.Absent() {
		n := int(padded(int64(m.n)))
		row := Words[float32](t.Scratch)[(1+int(tile))*n:][:n]
		clear(row)
		m.part = &row[0]
	}
	bytes := int64(m.n * rowSize(m.t))
	raceRows(dy, m.t, m.n, int(lo), int(hi), bytes, raceRead)
	raceRows(x, m.t, m.n, int(lo), int(hi), bytes, raceRead)
	raceRows(dx, m.t, m.n, int(lo), int(hi), bytes, raceWrite)
	piped := m.nt != 0 && m.part != nil && m.rmsGradPipe[m.round][m.t] != nil && m.n%rowGroup == 0
	for i := int(lo); i < int(hi); i += rmsTogether {
		count := min(rmsTogether, int(hi)-i)
		o := i * m.n
		py, px, pd := step(dy, m.t, o), step(x, m.t, o), step(dx, m.t, o)
		if i == int(lo) || !piped {
			m.take(rstd[i:][:count])
			m.dots(count, py, px)
		}
		m.coefficients()
		if !piped {
			m.grad(count, py, px, pd)
			continue
		}
		now := m.r
		next := min(rmsTogether, int(hi)-i-count)
		m.take(rstd[i+count:][:next])
		m.gradPiped(count, next, now, py, px, pd)
	}
	u.drain(m.nt)
}

// take sets r of the next rows.
func (m *rmsRows) take(rstd []float32) {
	for j, r := range rstd {
		m.r[j] = cleanNaN(r)
	}
}

// dots sets the sums of dy·w·x of count rows, and with part adds dy·(x·r) to it, row by row.
func (m *rmsRows) dots(count int, dy, x *byte) {
	run := func(j int, dy, x *byte, o, groups, ahead int) {
		lanes := &m.l.rows[j][0]
		if m.part == nil {
			m.rmsDot[m.t](dy, x, place(m.w, o), groups, lanes, ahead)
		} else {
			m.rmsDotWeight[m.round][m.t](dy, x, place(m.w, o), place(m.part, o), groups, lanes, m.r[j], ahead)
		}
	}
	m.dot, m.l.rows = [rmsTogether]float64{}, [rmsTogether]rowLanes{}
	for b := 0; b < m.n; b += rowBlock {
		m.stretches(b, min(b+rowBlock, m.n), func(o, groups int) {
			for j := range count {
				run(j, step(dy, m.t, j*m.n+o), step(x, m.t, j*m.n+o), o, groups, m.ahead)
			}
		}, func(o, rest int) {
			for j := range count {
				ty := m.l.tail(0, step(dy, m.t, j*m.n+o), m.t, rest, rowZero)
				tx := m.l.tail(1, step(x, m.t, j*m.n+o), m.t, rest, rowZero)
				run(j, ty, tx, o, 1, 0)
			}
		})
		for j := range count {
			m.dot[j] += m.l.rows[j].fold()
		}
	}
}

// coefficients sets c = r³/n·dot.
func (m *rmsRows) coefficients() {
	for j := range m.c {
		r := float64(m.r[j])
		m.c[j] = float32(r * r * r / float64(m.n) * m.dot[j])
	}
}

// grad writes count rows of dx = r·(dy·w) - c·x.
func (m *rmsRows) grad(count int, dy, x, dx *byte) {
	f := m.rmsGrad[m.t]
	m.stretches(0, m.n, func(o, groups int) {
		for j := range count {
			p := j*m.n + o
			f(step(dy, m.t, p), step(x, m.t, p), place(m.w, o), step(dx, m.t, p), groups, m.r[j], m.c[j], m.ahead, m.nt)
		}
	}, func(o, rest int) {
		for j := range count {
			p := j*m.n + o
			ty, tx := m.l.tail(0, step(dy, m.t, p), m.t, rest, rowZero), m.l.tail(1, step(x, m.t, p), m.t, rest, rowZero)
			f(ty, tx, place(m.w, o), m.l.out(2), 1, m.r[j], m.c[j], 0, 0)
			m.l.untail(2, step(dx, m.t, p), m.t, rest)
		}
	})
}

// gradPiped writes count rows of r now, and does the first pass over the next rows behind them.
func (m *rmsRows) gradPiped(count, next int, now [rmsTogether]float32, dy, x, dx *byte) {
	f, plain := m.rmsGradPipe[m.round][m.t], m.rmsGrad[m.t]
	m.dot, m.l.rows = [rmsTogether]float64{}, [rmsTogether]rowLanes{}
	for b := 0; b < m.n; b += rowBlock {
		m.stretches(b, min(b+rowBlock, m.n), func(o, groups int) {
			for j := range count {
				p := j*m.n + o
				py, px, pd := step(dy, m.t, p), step(x, m.t, p), step(dx, m.t, p)
				if j < next {
					q := count * m.n
					f(py, px, place(m.w, o), pd, groups, now[j], m.c[j], step(py, m.t, q), step(px, m.t, q), place(m.part, o), &m.l.rows[j][0], m.r[j], m.ahead)
				} else {
					plain(py, px, place(m.w, o), pd, groups, now[j], m.c[j], m.ahead, m.nt)
				}
			}
		}, nil)
		for j := range next {
			m.dot[j] += m.l.rows[j].fold()
		}
	}
}

// rmsWeightGradient adds the tiles' parts of DW in f64, in the order of the rows.
func rmsWeightGradient(t *Task, a *kernels.RMSNormBackwardArgs) {
	n := int(a.X.Dims[1])
	if a.DW.Absent() || n == 0 {
		return
	}
	m := int(padded(int64(n)))
	parts := Words[float32](t.Scratch)[m:]
	dw, wt, e := (*byte)(Pointer(&a.DW)), rowType(a.DW.DType), rowType(a.X.DType)
	raceWrite(unsafe.Pointer(dw), a.DW.Bytes())
	tiles := int(rmsBackwardTiles(a.X.Dims[0], a.X.Dims[1]))
	var sum [512]float64 // columns at a time: their sums stay in the level 1 cache
	for lo := 0; lo < n; lo += len(sum) {
		s := sum[:min(len(sum), m-lo)]
		clear(s)
		for b := range tiles {
			for j, v := range parts[b*m+lo:][:len(s)] {
				s[j] += float64(v)
			}
		}
		for j := range min(len(s), n-lo) {
			storeRow64(dw, wt, lo+j, s[rowPlace(e, j)])
		}
	}
}

// storeRow64 rounds v once to element i of a row.
func storeRow64(p *byte, t, i int, v float64) {
	q := unsafe.Pointer(step(p, t, i))
	switch t {
	case elemBF16:
		*(*uint16)(q) = num.BF16FromFloat64(v)
	case elemF16:
		*(*uint16)(q) = num.F16FromFloat64(v)
	default:
		*(*float32)(q) = float32(v)
	}
}
