package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Predicates of VCMPPS that do not signal.
const (
	unordered    = 0x03
	ordered      = 0x07
	notLessEqual = 0x16 // greater, or unordered
)

// begin starts a routine of the maxsim source.
func begin(c *build.Context, name, signature string, doc ...string) {
	c.Function(name)
	c.Attributes(attr.NOSPLIT)
	c.Pragma("noescape")
	c.Doc(doc...)
	c.SignatureExpr(signature)
}

func load(c *build.Context, name string) reg.Register { return c.Load(c.Param(name), c.GP64()) }

// columns emits the loop over vectors of width bytes: body once per vector, with the column's
// first row in row, its byte offset in off and the row pitch in pitch.
func columns(c *build.Context, dots, lanes reg.Register, width uint32, body func(off, row, pitch reg.Register)) {
	off, row, pitch := c.GP64(), c.GP64(), c.GP64()
	c.MOVQ(lanes, pitch)
	c.SHLQ(U8(2), pitch)
	c.XORQ(off, off)
	c.Label("column")
	c.LEAQ(Mem{Base: dots, Index: off, Scale: 1}, row)
	body(off, row, pitch)
	c.ADDQ(U32(width), off)
	c.CMPQ(off, pitch)
	c.JLT(LabelRef("column"))
	c.VZEROUPPER()
	c.RET()
}

// scanMax: MAXPS with the running maximum as second source returns it for a NaN in either,
// so a NaN that is in it stays, and new ones are collected apart.
func scanMax(c *build.Context) {
	begin(c, "maxsimMaxAVX2", "func(dots *float32, n, lanes int, best *float32)",
		"maxsimMaxAVX2 raises best[j] to the largest of dots[t*lanes+j] over t < n, NaN if one of them",
		"or best[j] is NaN. lanes is a multiple of 8. Reference: maxsimMaxGeneric.")
	maxima(c, 32, 2, c.YMM, func() nanWatch {
		nan := c.YMM()
		return nanWatch{
			clear: func() { c.VXORPS(nan, nan, nan) },
			collect: func(x, y, spare reg.VecVirtual) {
				c.VCMPPS(U8(unordered), y, x, spare)
				c.VORPS(spare, nan, nan)
			},
			merge: func(m reg.VecVirtual) { c.VORPS(nan, m, m) }, // all bits set is a NaN
		}
	})
	begin(c, "maxsimMaxAVX512", "func(dots *float32, n, lanes int, best *float32)",
		"maxsimMaxAVX512 is maxsimMaxAVX2 for lanes a multiple of 16. Reference: maxsimMaxGeneric.")
	maxima(c, 64, 4, c.ZMM, func() nanWatch {
		numbers, ones := c.K(), c.ZMM()
		c.VPTERNLOGD(U8(0xff), ones, ones, ones)
		return nanWatch{
			clear: func() { c.KXNORW(numbers, numbers, numbers) },
			// A comparison under a mask is its conjunction: one operation less.
			collect: func(x, y, _ reg.VecVirtual) { c.VCMPPS(U8(ordered), y, x, numbers, numbers) },
			merge: func(m reg.VecVirtual) {
				c.KNOTW(numbers, numbers)
				c.VBLENDMPS(ones, m, numbers, m)
			},
		}
	})
}

// nanWatch is what a scan does about NaN: clear before a column, collect for each pair of
// rows, merge into the maximum.
type nanWatch struct {
	clear   func()
	collect func(x, y, spare reg.VecVirtual)
	merge   func(m reg.VecVirtual)
}

// maxima emits the loops of scanMax over vectors of width bytes: as many running maxima, 2 or
// 4, as the latency of the unit takes, and what watch does about NaN.
func maxima(c *build.Context, width uint32, chains int, vector func() reg.VecVirtual, watch func() nanWatch) {
	dots, n, lanes, best := load(c, "dots"), load(c, "n"), load(c, "lanes"), load(c, "best")
	t, pitch2 := c.GP64(), c.GP64()
	nan := watch()
	columns(c, dots, lanes, width, func(off, row, pitch reg.Register) {
		x, y, spare := vector(), vector(), vector()
		m := make([]reg.VecVirtual, chains)
		at := Mem{Base: best, Index: off, Scale: 1}
		for i := range m {
			m[i] = vector()
			if i == 0 {
				c.VMOVUPS(at, m[0])
			} else {
				c.VMOVAPS(m[0], m[i])
			}
		}
		nan.clear()
		c.LEAQ(Mem{Base: pitch, Index: pitch, Scale: 1}, pitch2)
		c.MOVQ(n, t)
		c.SUBQ(U32(4), t)
		c.JLT(LabelRef("few"))
		c.Label("four")
		for i := 0; i < 4; i += 2 {
			c.VMOVUPS(Mem{Base: row}, x)
			c.VMOVUPS(Mem{Base: row, Index: pitch, Scale: 1}, y)
			c.VMAXPS(m[i%chains], x, m[i%chains])
			c.VMAXPS(m[(i+1)%chains], y, m[(i+1)%chains])
			nan.collect(x, y, spare)
			c.ADDQ(pitch2, row)
		}
		c.SUBQ(U32(4), t)
		c.JGE(LabelRef("four"))
		c.Label("few")
		c.ADDQ(U32(4), t)
		c.JZ(LabelRef("end"))
		c.Label("one")
		c.VMOVUPS(Mem{Base: row}, x)
		c.VMAXPS(m[0], x, m[0])
		nan.collect(x, x, spare)
		c.ADDQ(pitch, row)
		c.DECQ(t)
		c.JNZ(LabelRef("one"))
		c.Label("end")
		for _, other := range m[1:] {
			c.VMAXPS(m[0], other, m[0])
		}
		nan.merge(m[0])
		c.VMOVUPS(m[0], at)
	})
}

// scanWinner replaces only for a strictly greater value or the first NaN, so the lowest
// index of equal maxima stays.
func scanWinner(c *build.Context) {
	begin(c, "maxsimWinnerAVX2", "func(dots *float32, n, lanes int, best *float32, winner *int32, first int)",
		"maxsimWinnerAVX2 is maxsimMaxAVX2 with winner[j] set to first+t wherever best[j] is raised by row t",
		"or becomes NaN there. Reference: maxsimWinnerGeneric.")
	dots, n, lanes, best := load(c, "dots"), load(c, "n"), load(c, "lanes"), load(c, "best")
	winner, first := load(c, "winner"), load(c, "first")
	t, one := c.GP64(), c.YMM()
	start := c.YMM()
	c.VMOVD(first.(reg.GPVirtual).As32(), start.AsX())
	c.VPBROADCASTD(start.AsX(), start)
	c.VPCMPEQD(one, one, one) // -1
	columns(c, dots, lanes, 32, func(off, row, pitch reg.Register) {
		m, w, now, x, take, real := c.YMM(), c.YMM(), c.YMM(), c.YMM(), c.YMM(), c.YMM()
		bestAt := Mem{Base: best, Index: off, Scale: 1}
		winnerAt := Mem{Base: winner, Index: off, Scale: 1}
		c.VMOVUPS(bestAt, m)
		c.VMOVDQU(winnerAt, w)
		c.VMOVDQA(start, now)
		c.MOVQ(n, t)
		c.Label("row")
		c.VMOVUPS(Mem{Base: row}, x)
		c.VCMPPS(U8(notLessEqual), m, x, take)
		c.VCMPPS(U8(ordered), m, m, real)
		c.VANDPS(real, take, take)
		c.VBLENDVPS(take, x, m, m)
		c.VBLENDVPS(take, now, w, w)
		c.VPSUBD(one, now, now)
		c.ADDQ(pitch, row)
		c.DECQ(t)
		c.JNZ(LabelRef("row"))
		c.VMOVUPS(m, bestAt)
		c.VMOVDQU(w, winnerAt)
	})
}

// scaleDots applies per-token scales before the maximum is taken.
func scaleDots(c *build.Context) {
	begin(c, "maxsimScaleAVX2", "func(dots *float32, n, lanes int, query, doc *float32)",
		"maxsimScaleAVX2 multiplies dots[t*lanes+j] by query[j] and then by doc[t], for t < n.",
		"Reference: maxsimScaleGeneric.")
	dots, n, lanes := load(c, "dots"), load(c, "n"), load(c, "lanes")
	query, doc := load(c, "query"), load(c, "doc")
	t := c.GP64()
	columns(c, dots, lanes, 32, func(off, row, pitch reg.Register) {
		sq, sd := c.YMM(), c.YMM()
		c.VMOVUPS(Mem{Base: query, Index: off, Scale: 1}, sq)
		c.XORQ(t, t)
		c.Label("row")
		c.VBROADCASTSS(Mem{Base: doc, Index: t, Scale: 4}, sd)
		x := c.YMM()
		c.VMULPS(Mem{Base: row}, sq, x)
		c.VMULPS(sd, x, x)
		c.VMOVUPS(x, Mem{Base: row})
		c.ADDQ(pitch, row)
		c.INCQ(t)
		c.CMPQ(t, n)
		c.JLT(LabelRef("row"))
	})
}
