package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

var _ = register("topk", func(c *build.Context) {
	each(c, topkFind)
})

// topkFind is the threshold scan: hits are rare once the threshold has risen, so it only says where the next one is.
func topkFind(v vec) {
	v.function("topkFind", "returns the first group that has an element not below bound, or groups.\nReference: topkFindGeneric.",
		"func(x *float32, groups int, bound float32) int")
	x, n, bound := v.pointer("x"), v.pointer("groups"), v.scalar("bound")
	const notAbove = 0x12 // bound <= x, false for NaN, quiet
	i := v.GP64()
	v.XORQ(i, i)
	v.Label("next")
	v.CMPQ(i, n)
	v.JGE(operand.LabelRef("out"))
	v.PREFETCHT0(operand.Mem{Base: x, Disp: 1024})
	v.PREFETCHT0(operand.Mem{Base: x, Disp: 1024 + 64})
	if v.wide {
		a, b := v.K(), v.K()
		v.VCMPPS(operand.U8(notAbove), at(x, f32, 0), bound, a)
		v.VCMPPS(operand.U8(notAbove), at(x, f32, 16), bound, b)
		v.KORTESTW(a, b)
	} else {
		e := v.regs(v.registers())
		for j := range e {
			v.VCMPPS(operand.U8(notAbove), at(x, f32, j*v.lanes()), bound, e[j])
		}
		v.VORPS(e[0], e[1], e[0])
		v.VORPS(e[2], e[3], e[2])
		v.VORPS(e[0], e[2], e[0])
		v.VPTEST(e[0], e[0])
	}
	v.JNE(operand.LabelRef("out"))
	v.advance(f32, x)
	v.INCQ(i)
	v.JMP(operand.LabelRef("next"))
	v.Label("out")
	v.VZEROUPPER()
	v.Store(i, v.ReturnIndex(0))
	v.RET()
}
