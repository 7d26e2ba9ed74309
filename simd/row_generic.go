package simd

import (
	"math"
	"unsafe"

	"github.com/likbench/likbench/backend/num"
)

var negInf32 = float32(math.Inf(-1))

// rowGeneric is the portable unit and the reference of the others: the same lanes, but
// products and sums round apart, so it is a class of its own.
var rowGeneric = func() rowUnit {
	u := rowUnit{variant: "generic", class: "generic", topk: topkFindGeneric}
	for t := range rowTypes {
		u.max[t] = func(x *byte, groups int, lanes *float32) { rowMaxGeneric(t, x, groups, lanes) }
		u.find[t] = func(x *byte, groups int, value float32) int { return rowFindGeneric(t, x, groups, value) }
		u.square[t] = func(x *byte, groups int, lanes *float32) { rowDotGeneric(t, x, x, groups, lanes) }
		u.dot[t] = func(a, b *byte, groups int, lanes *float32, _ int) { rowDotGeneric(t, a, b, groups, lanes) }
		u.scale[t] = func(e *float32, y *byte, groups int, s float32, _ int) { rowScaleGeneric(t, e, y, groups, s) }
		u.exp[t] = func(x *byte, e *float32, groups int, lanes, row *float32, _ int) {
			softmaxExpGeneric(t, x, e, groups, lanes, *row)
		}
		u.softmaxGrad[t] = func(y, dy, dx *byte, groups int, dot float32, _, _ int) {
			softmaxGradGeneric(t, y, dy, dx, groups, dot)
		}
		for round := range 2 {
			u.rmsScale[round][t] = func(x *byte, w *float32, y *byte, groups int, r float32, _, _ int) {
				rmsScaleGeneric(t, round == 1, x, w, y, groups, r)
			}
			u.rmsDotWeight[round][t] = func(dy, x *byte, w, part *float32, groups int, lanes *float32, r float32, _ int) {
				rmsDotGeneric(t, round == 1, dy, x, w, part, groups, lanes, r)
			}
		}
		u.rmsDot[t] = func(dy, x *byte, w *float32, groups int, lanes *float32, _ int) {
			rmsDotGeneric(t, false, dy, x, w, nil, groups, lanes, 0)
		}
		u.rmsGrad[t] = func(dy, x *byte, w *float32, dx *byte, groups int, r, c float32, _, _ int) {
			rmsGradGeneric(t, dy, x, w, dx, groups, r, c)
		}
	}
	return u
}()

// rowWords is a group in float32, in places.
type rowWords [rowGroup]float32

// rowCodes is a group of 16-bit elements.
type rowCodes [rowGroup]uint16

// loadRow widens element i of a row.
func loadRow(p *byte, t, i int) float32 {
	q := unsafe.Pointer(step(p, t, i))
	switch t {
	case elemBF16:
		return num.BF16ToFloat32(*(*uint16)(q))
	case elemF16:
		return num.F16ToFloat32(*(*uint16)(q))
	}
	return *(*float32)(q)
}

// storeRow rounds v to element i of a row.
func storeRow(p *byte, t, i int, v float32) {
	q := unsafe.Pointer(step(p, t, i))
	switch t {
	case elemBF16:
		*(*uint16)(q) = num.BF16FromFloat32(v)
	case elemF16:
		*(*uint16)(q) = num.F16FromFloat32(v)
	default:
		*(*float32)(q) = v
	}
}

// loadGroup widens group g of a row.
func loadGroup(p *byte, t, g int) (w rowWords) {
	q := unsafe.Pointer(step(p, t, g*rowGroup))
	switch t {
	case elemBF16:
		for i, h := range (*rowCodes)(q) {
			w[rowPlace(t, i)] = num.BF16ToFloat32(h)
		}
	case elemF16:
		num.DecodeF16(w[:], (*rowCodes)(q)[:])
	default:
		w = *(*rowWords)(q)
	}
	return w
}

// storeGroup rounds a group to the row's type.
func storeGroup(p *byte, t, g int, w *rowWords) {
	q := unsafe.Pointer(step(p, t, g*rowGroup))
	switch t {
	case elemBF16:
		for i := range (*rowCodes)(q) {
			(*rowCodes)(q)[i] = num.BF16FromFloat32(w[rowPlace(t, i)])
		}
	case elemF16:
		num.EncodeF16((*rowCodes)(q)[:], w[:])
	default:
		*(*rowWords)(q) = *w
	}
}

// roundRow rounds v to type t and back.
func roundRow(t int, v float32) float32 {
	switch t {
	case elemBF16:
		return num.BF16ToFloat32(num.BF16FromFloat32(v))
	case elemF16:
		return num.F16ToFloat32(num.F16FromFloat32(v))
	}
	return v
}

// words is group g of a float32 array.
func words(p *float32, g int) *rowWords {
	return (*rowWords)(unsafe.Add(unsafe.Pointer(p), g*rowGroup*4))
}

func rowMaxGeneric(t int, x *byte, groups int, lanes *float32) {
	l := words(lanes, 0)
	for g := range groups {
		for i, v := range loadGroup(x, t, g) {
			if v > l[i] || v != v {
				l[i] = v
			}
		}
	}
}

func rowFindGeneric(t int, x *byte, groups int, value float32) int {
	for g := range groups {
		for _, v := range loadGroup(x, t, g) {
			if v == value {
				return g
			}
		}
	}
	return groups
}

func rowDotGeneric(t int, a, b *byte, groups int, lanes *float32) {
	l := words(lanes, 0)
	for g := range groups {
		p, q := loadGroup(a, t, g), loadGroup(b, t, g)
		for i := range l {
			l[i] += float32(p[i] * q[i])
		}
	}
}

func rowScaleGeneric(t int, e *float32, y *byte, groups int, s float32) {
	for g := range groups {
		w := *words(e, g)
		for i := range w {
			w[i] *= s
		}
		storeGroup(y, t, g, &w)
	}
}

func softmaxExpGeneric(t int, x *byte, e *float32, groups int, lanes *float32, max float32) {
	l := words(lanes, 0)
	for g := range groups {
		w := loadGroup(x, t, g)
		for i, v := range w {
			w[i] = float32(math.Exp(float64(v - max)))
			l[i] += w[i]
		}
		*words(e, g) = w
	}
}

func softmaxGradGeneric(t int, y, dy, dx *byte, groups int, dot float32) {
	for g := range groups {
		p, q := loadGroup(y, t, g), loadGroup(dy, t, g)
		for i := range p {
			p[i] *= q[i] - dot
		}
		storeGroup(dx, t, g, &p)
	}
}

func rmsScaleGeneric(t int, round bool, x *byte, w *float32, y *byte, groups int, r float32) {
	for g := range groups {
		p, q := loadGroup(x, t, g), words(w, g)
		for i, v := range p {
			v *= r
			if round {
				v = roundRow(t, v)
			}
			p[i] = v * q[i]
		}
		storeGroup(y, t, g, &p)
	}
}

func rmsDotGeneric(t int, round bool, dy, x *byte, w, part *float32, groups int, lanes *float32, r float32) {
	l := words(lanes, 0)
	for g := range groups {
		d, p, q := loadGroup(dy, t, g), loadGroup(x, t, g), words(w, g)
		for i := range d {
			l[i] += float32(float32(d[i]*q[i]) * p[i])
		}
		if part == nil {
			continue
		}
		s := words(part, g)
		for i := range d {
			v := p[i] * r
			if round {
				v = roundRow(t, v)
			}
			s[i] += float32(d[i] * v)
		}
	}
}

func rmsGradGeneric(t int, dy, x *byte, w *float32, dx *byte, groups int, r, c float32) {
	for g := range groups {
		d, p, q := loadGroup(dy, t, g), loadGroup(x, t, g), words(w, g)
		for i := range d {
			d[i] = float32(r*float32(d[i]*q[i])) - float32(c*p[i])
		}
		storeGroup(dx, t, g, &d)
	}
}

func topkFindGeneric(x *float32, groups int, bound float32) int {
	for g := range groups {
		for _, v := range words(x, g) {
			if v >= bound {
				return g
			}
		}
	}
	return groups
}
