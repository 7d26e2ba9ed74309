package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var _ = register("nearest_centroid", func(c *build.Context) {
	nearest{&dots{c: c, nv: 4, full: true, tiles: []int{3, 2, 1}, vector: ymms[:], width: 32}}.emit("AVX2")
	nearest{&dots{c: c, nv: 2, full: true, tiles: []int{12, 6, 3, 2, 1}, vector: zmms[:], width: 64}}.emit("AVX512")
	each(c, centroidAbove)
	each(c, centroidHalf)
	each(c, centroidInsert)
	centroidRows(c)
})

// nearest emits the products of dots with the running maximum in place of the store: products
// stay in registers, and are compared with the best ones a whole tile at a time, since few
// tiles raise one.
type nearest struct{ *dots }

func (g nearest) emit(level string) {
	c := g.c
	name := "nearestCentroid" + level
	c.Function(name)
	c.Attributes(attr.NOSPLIT)
	c.Pragma("noescape")
	c.Doc(fmt.Sprintf("%s raises best[j] to the largest dot product of the panel's lane j with a row of rows,", name),
		"n rows of d components, and sets winner[j] to first and the number of the lowest row that has it.",
		"A NaN raises it too, and stays. The panel is [d][32]. Reference: centroidNearestGeneric.")
	c.SignatureExpr("func(panel, rows *float32, d, n int, best *float32, winner *int32, first int)")
	g.panel, g.doc = load(c, "panel"), load(c, "rows")
	g.d, g.n = load(c, "d"), load(c, "n")
	g.stride, g.stride3 = c.GP64(), c.GP64()
	c.MOVQ(g.d, g.stride)
	c.SHLQ(U8(2), g.stride)
	c.LEAQ(Mem{Base: g.stride, Index: g.stride, Scale: 2}, g.stride3)
	g.q, g.k, g.ahead = c.GP64(), c.GP64(), c.GP64()
	for i := range g.row {
		g.row[i] = c.GP64()
	}
	for i, nd := range g.tiles {
		g.tile(nd, fmt.Sprintf("rows%d", nd), append(g.tiles, 0)[i+1])
	}
	c.Label("rows0")
	c.VZEROUPPER()
	c.RET()
	for _, nd := range g.tiles {
		g.raise(nd, fmt.Sprintf("rows%d", nd))
	}
}

// tile emits the loop over full tiles of nd rows, as dots.tile.
func (g nearest) tile(nd int, label string, next int) {
	c := g.c
	c.Label(label)
	c.CMPQ(g.n, U32(nd))
	c.JLT(LabelRef(fmt.Sprintf("rows%d", next)))
	acc := g.vector[:nd*g.nv]
	for _, a := range acc {
		if g.width == 64 {
			c.VPXORD(a, a, a)
		} else {
			c.VXORPS(a, a, a)
		}
	}
	c.MOVQ(g.panel, g.q)
	c.MOVQ(g.doc, g.row[0])
	for i := 4; i < nd; i += 4 {
		c.LEAQ(Mem{Base: g.doc, Index: g.stride, Scale: uint8(i)}, g.row[i/4])
	}
	g.next(nd, g.ahead)
	g.components(nd, label)
	g.compare(nd)
	c.JNE(LabelRef(label + "raise"))
	c.Label(label + "kept")
	g.dots.next(nd, g.doc)
	c.SUBQ(U32(nd), g.n)
	c.JMP(LabelRef(label))
}

// compare clears the zero flag where a product is above its lane's best, or one of the two
// is NaN.
func (g nearest) compare(nd int) {
	c, acc, free := g.c, g.vector[:nd*g.nv], g.vector[nd*g.nv:]
	best := load(c, "best")
	any, now := c.K(), c.K()
	mark := func(predicate int, b Op, a reg.VecPhysical, first bool) {
		if g.width == 64 {
			if first {
				c.VCMPPS(U8(predicate), b, a, any)
				return
			}
			c.VCMPPS(U8(predicate), b, a, now)
			c.KORW(now, any, any)
			return
		}
		if first {
			c.VCMPPS(U8(predicate), b, a, free[1])
			return
		}
		c.VCMPPS(U8(predicate), b, a, free[2])
		c.VORPS(free[2], free[1], free[1])
	}
	for j := range g.nv {
		m := acc[j]
		for i := 1; i < nd; i++ {
			c.VMAXPS(acc[i*g.nv+j], m, free[0])
			m = free[0]
		}
		mark(notLessEqual, Mem{Base: best, Disp: j * int(g.width)}, m, j == 0)
	}
	for i := 0; i < len(acc); i += 2 { // of two at once; which of them a maximum drops is another matter
		mark(unordered, acc[min(i+1, len(acc)-1)], acc[i], false)
	}
	if g.width == 64 {
		c.KORTESTW(any, any)
	} else {
		c.VPTEST(free[1], free[1])
	}
}

// raise emits the rare part of a tile: lane by lane, in ascending order of rows.
func (g nearest) raise(nd int, label string) {
	c, acc, free := g.c, g.vector[:nd*g.nv], g.vector[nd*g.nv:]
	c.Label(label + "raise")
	best, winner, row, index := load(c, "best"), load(c, "winner"), load(c, "first"), c.GP64()
	c.ADDQ(NewParamAddr("n", 24), row)
	c.SUBQ(g.n, row)
	above, real := c.K(), c.K()
	m, w, take, now := free[0], free[1], free[2], free[3]
	for j := range g.nv {
		bestAt, winnerAt := Mem{Base: best, Disp: j * int(g.width)}, Mem{Base: winner, Disp: j * int(g.width)}
		c.VMOVUPS(bestAt, m)
		c.VMOVUPS(winnerAt, w)
		c.MOVQ(row, index)
		for i := range nd {
			a := acc[i*g.nv+j]
			if g.width == 64 {
				c.VCMPPS(U8(notLessEqual), m, a, above)
				c.VCMPPS(U8(ordered), m, m, real)
				c.KANDW(real, above, above)
				c.VMOVAPS(a, above, m)
				c.VPBROADCASTD(index.As32(), above, w)
			} else {
				c.VCMPPS(U8(notLessEqual), m, a, take)
				c.VCMPPS(U8(ordered), m, m, now)
				c.VANDPS(now, take, take)
				c.VBLENDVPS(take, a, m, m)
				c.VMOVD(index.As32(), now.AsX())
				c.VPBROADCASTD(now.AsX(), now)
				c.VBLENDVPS(take, now, w, w)
			}
			c.INCQ(index)
		}
		c.VMOVUPS(m, bestAt)
		c.VMOVUPS(w, winnerAt)
	}
	c.JMP(LabelRef(label + "kept"))
}

// centroidAbove is the threshold scan of a chunk of products: hits are rare once the bounds have risen.
func centroidAbove(v vec) {
	v.function("centroidAbove", "returns the first of n rows of lanes that has one not at or below its bound, NaN\nincluded, and which they are as bits; n and 0 if there is none. lanes are a multiple of a\nregister's, at most 32. Reference: centroidAboveGeneric.",
		"func(dots *float32, n, lanes int, bound *float32) (t int, hits uint32)")
	dots, n, lanes, bound := v.pointer("dots"), v.pointer("n"), v.pointer("lanes"), v.pointer("bound")
	t, hits := v.GP64(), v.GP64()
	v.XORQ(t, t)
	v.XORQ(hits, hits)
	most := 32 / v.lanes()
	b := v.regs(most)
	for nv := most; nv > 0; nv-- { // the bounds stay in registers
		name := fmt.Sprintf("vectors%d", nv)
		if nv < most {
			v.Label(name)
		}
		if nv > 1 {
			v.CMPQ(lanes, U32(nv*v.lanes()))
			v.JNE(LabelRef(fmt.Sprintf("vectors%d", nv-1)))
		}
		for j := range nv {
			v.VMOVUPS(at(bound, f32, j*v.lanes()), b[j])
		}
		v.Label(name + "next")
		v.CMPQ(t, n)
		v.JGE(LabelRef("out"))
		v.aboveRow(dots, b[:nv], hits, name)
		v.ADDQ(U32(nv*v.lanes()*4), dots)
		v.INCQ(t)
		v.JMP(LabelRef(name + "next"))
	}
	v.Label("out")
	v.VZEROUPPER()
	v.Store(t, v.ReturnIndex(0))
	v.Store(hits.As32(), v.ReturnIndex(1))
	v.RET()
}

// aboveRow compares one row, and goes out with the lanes in hits if there are any.
func (v vec) aboveRow(dots reg.Register, bound regs, hits reg.GPVirtual, name string) {
	const notGreaterEqual = 0x19 // bound >= x fails, NaN included, quiet
	if v.wide {
		var above [2]reg.OpmaskVirtual
		for j, b := range bound {
			above[j] = v.K()
			v.VCMPPS(U8(notGreaterEqual), at(dots, f32, j*v.lanes()), b, above[j])
		}
		if len(bound) == 2 {
			v.KUNPCKWD(above[0], above[1], above[0]) // the first in the low half
		}
		v.KMOVD(above[0], hits.As32())
		v.TESTL(hits.As32(), hits.As32())
		v.JNE(LabelRef("out"))
		return
	}
	var any reg.VecVirtual
	above := v.regs(len(bound))
	for j, b := range bound {
		v.VCMPPS(U8(notGreaterEqual), at(dots, f32, j*v.lanes()), b, above[j])
		switch j {
		case 0:
			any = above[0]
		case 1:
			any = v.reg()
			v.VORPS(above[1], above[0], any)
		default:
			v.VORPS(above[j], any, any)
		}
	}
	v.VPTEST(any, any)
	v.JE(LabelRef(name + "none"))
	part := v.GP32()
	for j := len(bound) - 1; j >= 0; j-- {
		v.VMOVMSKPS(above[j], part)
		v.SHLL(U8(v.lanes()), hits.As32())
		v.ORL(part, hits.As32())
	}
	v.JMP(LabelRef("out"))
	v.Label(name + "none")
}

// centroidHalf rounds a chunk of products to f16.
func centroidHalf(v vec) {
	v.function("centroidHalf", "writes dst[t*stride+j] = dots[t*lanes+j] rounded to f16, for n rows of lanes, a multiple\nof a register's. Reference: centroidHalfGeneric.",
		"func(dots *float32, n, lanes int, dst *uint16, stride int)")
	dots, n, lanes, dst, stride := v.pointer("dots"), v.pointer("n"), v.pointer("lanes"), v.pointer("dst"), v.pointer("stride")
	v.SHLQ(U8(1), stride)
	out, left := v.GP64(), v.GP64()
	v.loop("", n, func() {
		v.MOVQ(dst, out)
		v.MOVQ(lanes, left)
		v.Label("vector")
		x := v.reg()
		v.VMOVUPS(Mem{Base: dots}, x)
		if v.wide {
			h := v.YMM()
			v.VCVTPS2PH(U8(0), x, h)
			v.VMOVDQU(h, Mem{Base: out})
		} else {
			h := v.XMM()
			v.VCVTPS2PH(U8(0), x, h)
			v.VMOVDQU(h, Mem{Base: out})
		}
		v.ADDQ(U32(4*v.lanes()), dots)
		v.ADDQ(U32(2*v.lanes()), out)
		v.SUBQ(U32(v.lanes()), left)
		v.JNE(LabelRef("vector"))
		v.ADDQ(stride, dst)
	})
	v.end()
}

// centroidInsert keeps lists of lanes in order. Whatever is above a slot's value goes there or
// further up, so each slot takes its own value, the new one or its upper neighbour's, and no
// slot waits for another.
func centroidInsert(v vec) {
	v.function("centroidInsert", "offers n rows of lanes to lists of p slots, value[s*lanes+j] descending with the number of\nits row, counted from first, in index; a NaN in a list is below everything. It stops at a row\nwith a NaN, and returns its number, or n. Reference: centroidInsertGeneric.",
		"func(dots *float32, n, lanes, first int, value *float32, index *int32, p int) int")
	dots, n, pitch, first := v.pointer("dots"), v.pointer("n"), v.pointer("lanes"), v.pointer("first")
	last, lastIndex, slots := v.pointer("value"), v.pointer("index"), v.pointer("p")
	v.SHLQ(U8(2), pitch)
	v.DECQ(slots) // above the last
	below := v.GP64()
	v.MOVQ(slots, below)
	v.IMULQ(pitch, below)
	v.ADDQ(below, last)
	v.ADDQ(below, lastIndex)
	t, off, left, value, index := v.GP64(), v.GP64(), v.GP64(), v.GP64(), v.GP64()
	x, cur, curIndex := v.reg(), v.reg(), v.reg()
	row := Mem{Base: dots, Index: off, Scale: 1}
	step := func(label string) {
		v.ADDQ(U32(4*v.lanes()), off)
		v.CMPQ(off, pitch)
		v.JLT(LabelRef(label))
	}
	v.XORQ(t, t)
	v.Label("next")
	v.CMPQ(t, n)
	v.JGE(LabelRef("out"))
	hits := v.newMask()
	v.CMPQ(pitch, U32(128))
	v.JNE(LabelRef("fewer"))
	for j := range 32 / v.lanes() { // a full panel, as it mostly is
		y, m := v.reg(), at(last, f32, j*v.lanes())
		v.VMOVUPS(at(dots, f32, j*v.lanes()), y)
		if j == 0 {
			v.compare(notLessEqual, m, y, hits)
		} else {
			v.orCompare(notLessEqual, m, y, hits)
		}
	}
	v.testMask(hits)
	v.JE(LabelRef("advance"))
	v.JMP(LabelRef("some"))
	v.Label("fewer")
	v.clearMask(hits)
	v.XORQ(off, off)
	v.Label("look")
	v.VMOVUPS(row, x)
	v.orCompare(notLessEqual, Mem{Base: last, Index: off, Scale: 1}, x, hits)
	step("look")
	v.testMask(hits)
	v.JE(LabelRef("advance"))

	v.Label("some")
	v.clearMask(hits)
	v.XORQ(off, off)
	v.Label("check")
	v.VMOVUPS(row, x)
	v.orCompare(unordered, x, x, hits)
	step("check")
	v.testMask(hits)
	v.JNE(LabelRef("out"))

	number := v.reg()
	g := v.GP64()
	v.LEAQ(Mem{Base: first, Index: t, Scale: 1}, g)
	if v.wide {
		v.VPBROADCASTD(g.As32(), number)
	} else {
		low := v.XMM()
		v.VMOVD(g.As32(), low)
		v.VPBROADCASTD(low, number)
	}
	v.XORQ(off, off)
	v.Label("vector")
	v.VMOVUPS(row, x)
	v.LEAQ(Mem{Base: last, Index: off, Scale: 1}, value)
	v.LEAQ(Mem{Base: lastIndex, Index: off, Scale: 1}, index)
	v.VMOVUPS(Mem{Base: value}, cur)
	take := v.newMask()
	v.compare(notLessEqual, cur, x, take)
	v.testMask(take)
	v.JE(LabelRef("nextvector"))
	v.VMOVUPS(Mem{Base: index}, curIndex)
	v.MOVQ(slots, left)
	v.TESTQ(left, left)
	v.JE(LabelRef("top"))
	v.Label("slot")
	up, upIndex, newValue, newIndex := v.reg(), v.reg(), v.reg(), v.reg()
	above := v.newMask()
	v.MOVQ(value, g)
	v.SUBQ(pitch, g)
	v.VMOVUPS(Mem{Base: g}, up)
	v.compare(notLessEqual, up, x, above)
	v.choose(above, up, x, newValue)
	v.choose(take, newValue, cur, newValue)
	v.VMOVUPS(newValue, Mem{Base: value})
	v.MOVQ(g, value)
	v.MOVQ(index, g)
	v.SUBQ(pitch, g)
	v.VMOVUPS(Mem{Base: g}, upIndex)
	v.choose(above, upIndex, number, newIndex)
	v.choose(take, newIndex, curIndex, newIndex)
	v.VMOVUPS(newIndex, Mem{Base: index})
	v.MOVQ(g, index)
	v.VMOVAPS(up, cur)
	v.VMOVAPS(upIndex, curIndex)
	v.moveMask(above, take)
	v.DECQ(left)
	v.JNE(LabelRef("slot"))
	v.Label("top")
	v.choose(take, x, cur, cur)
	v.choose(take, number, curIndex, curIndex)
	v.VMOVUPS(cur, Mem{Base: value})
	v.VMOVUPS(curIndex, Mem{Base: index})
	v.Label("nextvector")
	step("vector")
	v.Label("advance")
	v.ADDQ(pitch, dots)
	v.INCQ(t)
	v.JMP(LabelRef("next"))
	v.Label("out")
	v.VZEROUPPER()
	v.Store(t, v.ReturnIndex(0))
	v.RET()
}

// mask is the lanes that a comparison holds for: a mask register, or one of lanes.
type mask struct {
	k reg.OpmaskVirtual
	v reg.VecVirtual
}

func (v vec) newMask() mask {
	if v.wide {
		return mask{k: v.K()}
	}
	return mask{v: v.reg()}
}

func (v vec) clearMask(m mask) {
	if v.wide {
		v.KXORW(m.k, m.k, m.k)
	} else {
		v.VXORPS(m.v, m.v, m.v)
	}
}

func (v vec) compare(predicate uint8, b Op, a reg.VecVirtual, m mask) {
	if v.wide {
		v.VCMPPS(U8(predicate), b, a, m.k)
	} else {
		v.VCMPPS(U8(predicate), b, a, m.v)
	}
}

// orCompare adds the lanes of one more comparison.
func (v vec) orCompare(predicate uint8, b Op, a reg.VecVirtual, m mask) {
	now := v.newMask()
	v.compare(predicate, b, a, now)
	if v.wide {
		v.KORW(now.k, m.k, m.k)
	} else {
		v.VORPS(now.v, m.v, m.v)
	}
}

// testMask sets the zero flag where m has no lanes.
func (v vec) testMask(m mask) {
	if v.wide {
		v.KORTESTW(m.k, m.k)
	} else {
		v.VPTEST(m.v, m.v)
	}
}

func (v vec) moveMask(from, to mask) {
	if v.wide {
		v.KMOVW(from.k, to.k)
	} else {
		v.VMOVAPS(from.v, to.v)
	}
}

// choose sets d to a in the lanes of m, to b in the others.
func (v vec) choose(m mask, a, b, d reg.VecVirtual) {
	if v.wide {
		v.VBLENDMPS(a, b, m.k, d)
	} else {
		v.VBLENDVPS(m.v, a, b, d)
	}
}

// centroidRows emits copies of rows that are too short for a call each. The end of a row is copied
// as a whole vector too, some of it twice.
func centroidRows(c *build.Context) {
	begin(c, "centroidRowsAVX2", "func(dst *float32, dstStride int, src *float32, srcStride, count, n int)",
		"centroidRowsAVX2 copies count elements, at least 8, of each of n rows, at least 1; strides are in elements.",
		"Reference: panel of scores.")
	dst, to, src, from := load(c, "dst"), load(c, "dstStride"), load(c, "src"), load(c, "srcStride")
	last, n := load(c, "count"), load(c, "n")
	off, x := c.GP64(), c.YMM()
	for _, stride := range []reg.Register{to, from, last} {
		c.SHLQ(U8(2), stride)
	}
	c.SUBQ(U32(32), last)
	c.Label("row")
	c.XORQ(off, off)
	c.JMP(LabelRef("check"))
	c.Label("vector")
	c.VMOVUPS(Mem{Base: src, Index: off, Scale: 1}, x)
	c.VMOVUPS(x, Mem{Base: dst, Index: off, Scale: 1})
	c.ADDQ(U32(32), off)
	c.Label("check")
	c.CMPQ(off, last)
	c.JLT(LabelRef("vector"))
	c.VMOVUPS(Mem{Base: src, Index: last, Scale: 1}, x)
	c.VMOVUPS(x, Mem{Base: dst, Index: last, Scale: 1})
	c.ADDQ(from, src)
	c.ADDQ(to, dst)
	c.DECQ(n)
	c.JNZ(LabelRef("row"))
	c.VZEROUPPER()
	c.RET()
}
