package main

import (
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var _ = register("kmeans_update", func(c *build.Context) { each(c, kmeansAdd) })

// kmeansAhead is how many tokens further on the list a line is asked for: they stand anywhere
// in memory. A list must be readable as far behind its end.
const kmeansAhead = 16

// kmeansBlock components are added up in registers.
const kmeansBlock = 16

// kmeansAdd: to add 1.5·2^52 rounds to an integer, and leaves it in the low bits beside those
// of the constant, which are subtracted as often at the end.
func kmeansAdd(v vec) {
	v.function("kmeansAdd", "adds the values token[index[j]*stride+i]*scale of count tokens, rounded half to even, to\nsum[i], i < 16. It is false, and sum as it was, unless all magnitudes are below limit.\nReference: kmeansAddGeneric.",
		"func(token *float32, index *int32, count, stride int, scale float64, limit float32, sum *int64) bool")
	token, index, n, stride := v.pointer("token"), v.pointer("index"), v.pointer("count"), v.pointer("stride")
	v.SHLQ(U8(2), stride)
	const magicBits = 0x4338000000000000
	scale, limit := v.reg(), v.scalar("limit")
	v.VBROADCASTSD(v.argument("scale"), scale)
	magic, bits := v.reg(), v.GP64()
	v.MOVQ(U64(magicBits), bits)
	v.spreadQ(bits, magic)
	abs := v.broadcast(0x7fffffff)
	per := 4 * kmeansBlock / (4 * v.lanes()) // registers of a block in float32
	acc := v.regs(2 * per)
	for _, a := range acc {
		v.zero(a)
	}
	bad := v.reg()
	mask := v.K()
	if v.wide {
		v.KXORW(mask, mask, mask)
	} else {
		v.zero(bad)
	}
	undo := v.GP64()
	v.MOVQ(bits, undo)
	v.IMULQ(n, undo)
	v.loop("", n, func() {
		row := v.GP64()
		v.MOVLQSX(Mem{Base: index}, row)
		ahead := v.GP64()
		v.MOVLQSX(Mem{Base: index, Disp: 4 * kmeansAhead}, ahead)
		v.ADDQ(U32(4), index)
		v.IMULQ(stride, ahead)
		v.IMULQ(stride, row)
		v.PREFETCHT0(Mem{Base: token, Index: ahead, Scale: 1})
		v.ADDQ(token, row)
		for i := range per {
			x := v.reg()
			v.and(at(row, f32, i*v.lanes()), abs, x)
			const notLess = 0x15 // NaN included, quiet
			if v.wide {
				now := v.K()
				v.VCMPPS(U8(notLess), limit, x, now)
				v.KORW(now, mask, mask)
			} else {
				v.VCMPPS(U8(notLess), limit, x, x)
				v.VORPS(x, bad, bad)
			}
		}
		for i, a := range acc {
			x := v.reg()
			v.VCVTPS2PD(at(row, f32, i*v.lanes()/2), x)
			v.VFMADD213PD(magic, scale, x)
			v.VPADDQ(x, a, a)
		}
	})
	ok := v.GP8()
	v.XORB(ok, ok)
	if v.wide {
		v.KORTESTW(mask, mask)
	} else {
		v.VPTEST(bad, bad)
	}
	v.JNE(LabelRef("out"))
	sum, taken := v.pointer("sum"), v.reg()
	v.spreadQ(undo, taken)
	for i, a := range acc {
		m := Mem{Base: sum, Disp: i * v.lanes() * 4}
		v.VPSUBQ(taken, a, a)
		v.VPADDQ(m, a, a)
		v.VMOVUPS(a, m)
	}
	v.INCB(ok)
	v.Label("out")
	v.VZEROUPPER()
	v.Store(ok, v.ReturnIndex(0))
	v.RET()
}

// spreadQ fills the 64-bit lanes of r.
func (v vec) spreadQ(g reg.GPVirtual, r reg.VecVirtual) {
	x := v.XMM()
	v.VMOVQ(g, x)
	v.VPBROADCASTQ(x, r)
}
