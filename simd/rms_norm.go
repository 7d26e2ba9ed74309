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

func rmsForward(u *rowUnit, t *Task, a *kernels.RMSNormArgs) {
	rows, n, e := a.X.Dims[0], int(a.X.Dims[1]), rowType(a.X.DType)
	l, rstd := t.row(), Slice[float32](&a.RStd)
	var w *float32
	if n > 0 {
		w = &Words[float32](t.Scratch)[0]
	}
	x, y := (*byte)(Pointer(&a.X)), (*byte)(Pointer(&a.Y))
	stride := int(a.X.RowStride())
	nt := around(unsafe.Pointer(y), e, rows, int64(n), x == y)
	ahead := prefetchAhead(stride * rowSize(e))
	round := 0
	if a.Casting != kernels.CastGemma {
		round = 1
	}
	per := rowsPerTile(int64(n))
	for i := int(t.Lo * per); i < int(min(t.Hi*per, rows)); i++ {
		px, py := step(x, e, i*stride), step(y, e, i*n)
		raceRead(unsafe.Pointer(px), int64(n*rowSize(e)))
		raceWrite(unsafe.Pointer(py), int64(n*rowSize(e)))
		r := rms(u.rowSquare(l, px, e, n), n, e, a.Eps, a.Casting)
		rstd[i] = r
		g, rest := n/rowGroup, n%rowGroup
		u.rmsScale[round][e](px, w, py, g, r, ahead, nt)
		if rest > 0 {
			o := g * rowGroup
			p := l.tail(0, step(px, e, o), e, rest, rowZero)
			u.rmsScale[round][e](p, &words(w, g)[0], l.out(1), 1, r, 0, 0)
			l.untail(1, step(py, e, o), e, rest)
		}
	}
	u.drain(nt)
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
	n, e := int(a.X.Dims[1]), rowType(a.X.DType)
	if n == 0 {
		return
	}
	all, l := Words[float32](t.Scratch), t.row()
	w := &all[0]
	rstd := Slice[float32](&a.RStd)
	dy, x, dx := (*byte)(Pointer(&a.DY)), (*byte)(Pointer(&a.X)), (*byte)(Pointer(&a.DX))
	nt := around(unsafe.Pointer(dx), e, a.X.Dims[0], int64(n), dx == dy)
	ahead := prefetchAhead(n * rowSize(e))
	round := 0
	if a.Casting != kernels.CastGemma {
		round = 1
	}
	var part *float32
	if !a.DW.Absent() {
		m := int(padded(int64(n)))
		row := all[(1+int(tile))*m:][:m]
		clear(row)
		part = &row[0]
	}
	bytes := int64(n * rowSize(e))
	for i := int(lo); i < int(hi); i++ {
		py, px, pd := step(dy, e, i*n), step(x, e, i*n), step(dx, e, i*n)
		raceRead(unsafe.Pointer(py), bytes)
		raceRead(unsafe.Pointer(px), bytes)
		raceWrite(unsafe.Pointer(pd), bytes)
		r := cleanNaN(rstd[i])
		dot := u.rmsDots(l, py, px, w, part, e, n, round, r, ahead)
		c := float32(float64(r) * float64(r) * float64(r) / float64(n) * dot)
		g, rest := n/rowGroup, n%rowGroup
		if rest == 0 {
			u.rmsGrad[e](py, px, w, pd, g, r, c, ahead, nt)
			continue
		}
		o := g * rowGroup
		ty := l.tail(0, step(py, e, o), e, rest, rowZero)
		tx := l.tail(1, step(px, e, o), e, rest, rowZero)
		u.rmsGrad[e](py, px, w, pd, g, r, c, ahead, nt)
		u.rmsGrad[e](ty, tx, &words(w, g)[0], l.out(2), 1, r, c, 0, 0)
		l.untail(2, step(pd, e, o), e, rest)
	}
	u.drain(nt)
}

// rmsDots is the sum of dy·w·x; with part it also adds dy·(x·r) to it.
func (u *rowUnit) rmsDots(l *rowLocal, dy, x *byte, w, part *float32, t, n, round int, r float32, ahead int) float64 {
	run := func(dy, x *byte, w, part *float32, groups, ahead int) {
		if part == nil {
			u.rmsDot[t](dy, x, w, groups, &l.lanes[0], ahead)
		} else {
			u.rmsDotWeight[round][t](dy, x, w, part, groups, &l.lanes[0], r, ahead)
		}
	}
	l.lanes = [rowGroup]float32{}
	var sum float64
	for o := 0; o < n; o += rowBlock {
		b := min(n-o, rowBlock)
		g, rest := b/rowGroup, b%rowGroup
		at := func(p *float32, i int) *float32 {
			if p == nil {
				return nil
			}
			return (*float32)(unsafe.Add(unsafe.Pointer(p), 4*i))
		}
		run(step(dy, t, o), step(x, t, o), at(w, o), at(part, o), g, ahead)
		if rest > 0 {
			o := o + g*rowGroup
			ty := l.tail(0, step(dy, t, o), t, rest, rowZero)
			tx := l.tail(1, step(x, t, o), t, rest, rowZero)
			run(ty, tx, at(w, o), at(part, o), 1, 0)
		}
		sum += l.fold()
	}
	return sum
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
