package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const rowMaxDoc = "keeps the larger of each lane and its elements; a NaN stays.\nReference: rowMaxGeneric."

func rowMax(v vec) {
	v.function("rowMaxF32", rowMaxDoc, "func(x *byte, groups int, lanes *float32)")
	x, n, lanes := v.pointer("x"), v.pointer("groups"), v.pointer("lanes")
	acc := v.accumulators(lanes)
	nan := v.noNaN()
	v.loop("", n, func() {
		for j := range v.pairs() {
			e := v.load(f32, x, j)
			for i, o := range v.places(f32, j) {
				a := acc[o/v.lanes()]
				v.VMAXPS(a, e[i], a) // the second source wins where one is NaN: the old maximum
			}
			nan.note(e[0], e[1])
		}
		v.advance(f32, x)
	})
	nan.mark(acc)
	v.flush(acc, lanes)
	v.end()
}

// noted is where a NaN was met.
type noted struct {
	v    vec
	lane reg.VecVirtual    // all ones in lanes that had one
	mask reg.OpmaskVirtual // where there are masks
}

func (v vec) noNaN() noted {
	n := noted{v: v}
	if v.wide {
		n.mask = v.K()
		v.KXORW(n.mask, n.mask, n.mask)
	} else {
		n.lane = v.reg()
		v.VXORPS(n.lane, n.lane, n.lane)
	}
	return n
}

// note looks at two registers; a is lost.
func (n noted) note(a, b reg.VecVirtual) {
	if n.v.wide {
		k := n.v.K()
		n.v.VCMPPS(operand.U8(3), a, b, k)
		n.v.KORW(k, n.mask, n.mask)
	} else {
		n.v.VCMPPS(operand.U8(3), a, b, a)
		n.v.VORPS(a, n.lane, n.lane)
	}
}

// mark makes NaN of the lanes noted.
func (n noted) mark(acc regs) {
	for _, a := range acc {
		if n.v.wide {
			n.v.VPTERNLOGD(operand.U8(0xff), a, a, n.mask, a)
		} else {
			n.v.VORPS(n.lane, a, a)
		}
	}
}

// codes are constants of rowMaxCodes: the smallest signed and largest unsigned 16-bit integer, 1, a NaN, and -Inf by type.
type codes struct {
	least, most, one, nan, flip operand.Mem
	negInf                      [3]operand.Mem
}

func (v vec) codeConstants() codes {
	m := v.table("codes", []uint64{0x80008000, 0xffffffff, 0x00010001, 0x7fff7fff, 0xff80ff80, 0xfc00fc00}, 4)
	return codes{m(0), m(1), m(2), m(3), m(3), [3]operand.Mem{bf16: m(4), f16: m(5)}}
}

// rowMaxCodes compares the 16-bit codes as integers, which widens nothing in the loop: the largest signed one is the maximum
// where any element has no sign, else the smallest unsigned one. A positive NaN is the largest signed code; one with a sign is
// above -Inf as an unsigned one.
func rowMaxCodes(v vec, t int, k codes) {
	v.function("rowMax"+typeNames[t], rowMaxDoc, "func(x *byte, groups int, lanes *float32)")
	x, n, lanes := v.pointer("x"), v.pointer("groups"), v.pointer("lanes")
	signed, least, most := v.regs(v.pairs()), v.regs(v.pairs()), v.regs(v.pairs())
	for j := range v.pairs() {
		v.VMOVUPS(k.least, signed[j])
		v.VMOVUPS(k.most, least[j])
		v.xor(most[j], most[j], most[j])
	}
	v.loop("", n, func() {
		for j := range v.pairs() {
			e := v.reg()
			v.VMOVUPS(at(x, t, 2*j*v.lanes()), e)
			v.VPMAXSW(e, signed[j], signed[j])
			v.VPMINUW(e, least[j], least[j])
			v.VPMAXUW(e, most[j], most[j])
		}
		v.advance(t, x)
	})
	acc, nan := v.accumulators(lanes), v.noNaN()
	for j := range v.pairs() {
		sign := v.reg()
		v.VPSRAW(operand.U8(15), signed[j], sign)
		v.and(sign, least[j], least[j])
		v.andNot(signed[j], sign, sign)
		v.or(sign, least[j], least[j])
		v.VPSUBUSW(k.negInf[t], most[j], most[j])
		v.VPMINUW(k.one, most[j], most[j])
		v.VPMULLW(k.nan, most[j], most[j])
		v.or(most[j], least[j], least[j])
		e := v.widen(t, least[j])
		for i, o := range v.places(t, j) {
			a := acc[o/v.lanes()]
			old := v.reg()
			v.VMOVAPS(a, old)
			v.VMAXPS(a, e[i], a)
			nan.note(e[i], old)
		}
	}
	nan.mark(acc)
	v.flush(acc, lanes)
	v.end()
}

// rowExtremes is the loop of rowMaxCodes with a short end.
func rowExtremes(v vec, t int, k codes) {
	v.function("rowExtremes"+typeNames[t], "returns the largest signed, smallest unsigned and largest unsigned code of groups > 0, from low to high.\nReference: TestRowExtremes.",
		"func(x *byte, groups int) uint64")
	x, n := v.pointer("x"), v.pointer("groups")
	signed, least, most := v.regs(v.pairs()), v.regs(v.pairs()), v.regs(v.pairs())
	for j := range v.pairs() {
		v.VMOVUPS(k.least, signed[j])
		v.VMOVUPS(k.most, least[j])
		v.xor(most[j], most[j], most[j])
	}
	v.Label("loop")
	for j := range v.pairs() {
		e := v.reg()
		v.VMOVUPS(at(x, t, 2*j*v.lanes()), e)
		v.VPMAXSW(e, signed[j], signed[j])
		v.VPMINUW(e, least[j], least[j])
		v.VPMAXUW(e, most[j], most[j])
	}
	v.advance(t, x)
	v.DECQ(n)
	v.JNE(operand.LabelRef("loop"))
	for j := 1; j < v.pairs(); j++ {
		v.VPMAXSW(signed[j], signed[0], signed[0])
		v.VPMINUW(least[j], least[0], least[0])
		v.VPMAXUW(most[j], most[0], most[0])
	}
	v.xor(k.flip, signed[0], signed[0]) // the smallest unsigned word is all that the processor looks for
	v.xor(k.most, most[0], most[0])
	result, g := v.GP64(), v.GP64()
	for i, r := range []reg.VecVirtual{most[0], least[0], signed[0]} {
		if v.wide {
			h := v.YMM()
			v.VEXTRACTI64X4(operand.U8(1), r, h)
			v.VPMINUW(h, r.AsY(), r.AsY())
		}
		h := v.XMM()
		v.VEXTRACTI128(operand.U8(1), r.AsY(), h)
		v.VPMINUW(h, r.AsX(), r.AsX())
		v.VPHMINPOSUW(r.AsX(), r.AsX())
		v.VMOVD(r.AsX(), g.As32())
		v.MOVWLZX(g.As16(), g.As32())
		if i == 0 {
			v.MOVQ(g, result)
			continue
		}
		v.SHLQ(operand.U8(16), result)
		v.ORQ(g, result)
	}
	v.MOVQ(operand.U64(0xffff00007fff), g)
	v.XORQ(g, result)
	v.VZEROUPPER()
	v.Store(result, v.ReturnIndex(0))
	v.RET()
}
