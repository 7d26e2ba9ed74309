package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func rowMax(v vec, t int, k codes) {
	v.function("rowMax"+typeNames[t], "keeps the larger of each lane and its elements; a NaN stays.\nReference: rowMaxGeneric.",
		"func(x *byte, groups int, lanes *float32)")
	x, n, lanes := v.pointer("x"), v.pointer("groups"), v.pointer("lanes")
	m := v.maxima(t, k)
	v.loop("", n, func() {
		for j := range v.pairs() {
			m.add(x, j)
		}
		v.advance(t, x)
	})
	m.flush(lanes)
	v.end()
}

// rowMaxima are the largest elements so far, by place. Those of 16 bits are compared as integers, which widens nothing in a loop: the
// largest signed code is the maximum where any element has no sign, else the smallest unsigned one. A positive NaN is the
// largest signed code; one with a sign is above -Inf as an unsigned one.
type rowMaxima struct {
	vec
	t                   int
	k                   codes
	f32                 regs // elements of 32 bits
	nan                 noted
	signed, least, most regs // elements of 16 bits
}

// codes are constants of rowMaxima: -Inf in f32, the smallest signed and largest unsigned 16-bit integer, 1, a NaN, and -Inf by type.
type codes struct {
	least, most, one, nan operand.Mem
	negInf                [3]operand.Mem
}

func (v vec) codeConstants() codes {
	m := v.table("codes", []uint64{0x80008000, 0xffffffff, 0x00010001, 0x7fff7fff, 0xff800000, 0xff80ff80, 0xfc00fc00}, 4)
	return codes{m(0), m(1), m(2), m(3), [3]operand.Mem{f32: m(4), bf16: m(5), f16: m(6)}}
}

// maxima are -Inf at first.
func (v vec) maxima(t int, k codes) *rowMaxima {
	m := &rowMaxima{vec: v, t: t, k: k}
	if t == f32 {
		m.f32, m.nan = v.regs(v.registers()), v.noNaN()
		for _, r := range m.f32 {
			v.VMOVUPS(k.negInf[f32], r)
		}
		return m
	}
	m.signed, m.least, m.most = v.regs(v.pairs()), v.regs(v.pairs()), v.regs(v.pairs())
	for j := range v.pairs() {
		v.VMOVUPS(k.least, m.signed[j])
		v.VMOVUPS(k.most, m.least[j])
		v.xor(m.most[j], m.most[j], m.most[j])
	}
	return m
}

// add takes in pair j of a group.
func (m *rowMaxima) add(x reg.Register, j int) {
	if m.t == f32 {
		e := m.load(f32, x, j)
		for i, o := range m.places(f32, j) {
			a := m.f32[o/m.lanes()]
			m.VMAXPS(a, e[i], a) // the second source wins where one is NaN: the old maximum
		}
		m.nan.note(e[0], e[1])
		return
	}
	e := m.reg()
	m.VMOVUPS(at(x, m.t, 2*j*m.lanes()), e)
	m.VPMAXSW(e, m.signed[j], m.signed[j])
	m.VPMINUW(e, m.least[j], m.least[j])
	m.VPMAXUW(e, m.most[j], m.most[j])
}

// flush joins them to the lanes at p.
func (m *rowMaxima) flush(p reg.Register) {
	acc := m.accumulators(p)
	nan := m.nan
	if m.t != f32 {
		nan = m.noNaN()
	}
	for j := range m.pairs() {
		e := m.pair(j)
		for i, o := range m.places(m.t, j) {
			a := acc[o/m.lanes()]
			old := m.reg()
			m.VMOVAPS(a, old)
			m.VMAXPS(a, e[i], a)
			nan.note(e[i], old)
		}
	}
	nan.mark(acc)
	m.vec.flush(acc, p)
}

// pair is pair j widened.
func (m *rowMaxima) pair(j int) regs {
	if m.t == f32 {
		o := m.places(f32, j)
		return regs{m.f32[o[0]/m.lanes()], m.f32[o[1]/m.lanes()]}
	}
	sign, code, minus := m.reg(), m.least[j], m.most[j]
	m.VPSRAW(operand.U8(15), m.signed[j], sign)
	m.and(sign, code, code)
	m.andNot(m.signed[j], sign, sign)
	m.or(sign, code, code)
	m.VPSUBUSW(m.k.negInf[m.t], minus, minus)
	m.VPMINUW(m.k.one, minus, minus)
	m.VPMULLW(m.k.nan, minus, minus)
	m.or(minus, code, code)
	return m.widen(m.t, code)
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
