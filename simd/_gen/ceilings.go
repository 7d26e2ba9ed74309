package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var _ = register("ceilings", func(c *build.Context) {
	for _, level := range []string{"AVX2", "AVX512"} {
		r := ymms[:]
		if level == "AVX512" {
			r = zmms[:]
		}
		rate(c, "FMAF32"+level, r, func(acc reg.VecPhysical, _ int) { c.VFMADD231PS(r[0], r[1], acc) })
		rate(c, "FMAF64"+level, r, func(acc reg.VecPhysical, _ int) { c.VFMADD231PD(r[0], r[1], acc) })
		rate(c, "MaxF32"+level, r, func(acc reg.VecPhysical, _ int) { c.VMAXPS(r[0], acc, acc) })
		memory(c, level, r)
	}
	rate(c, "DotI8AVX2", ymms[:], func(acc reg.VecPhysical, _ int) {
		// The widening that VPMADDUBSW leaves to do is part of a dot product: two more steps.
		c.VPMADDUBSW(ymms[0], ymms[1], ymms[2])
		c.VPMADDWD(ymms[0], ymms[2], ymms[2])
		c.VPADDD(ymms[2], acc, acc)
	})
	rate(c, "DotI8AVX512VNNI", zmms[:], func(acc reg.VecPhysical, _ int) { c.VPDPBUSD(zmms[0], zmms[1], acc) })
	rate(c, "DotBF16AVX512BF16", zmms[:], func(_ reg.VecPhysical, i int) { vdpbf16ps.zmm(c, i, 1, 0) })
	rateTiles(c)
})

// rateAccumulators is the independent chains of a rate loop: more than latency times
// throughput of the unit (6 cycles, 2 per cycle), as a loop bound by latency measures that.
const rateAccumulators = 12

// rate emits a loop of n passes of one instruction on rateAccumulators registers.
func rate(c *build.Context, name string, r []reg.VecPhysical, instruction func(acc reg.VecPhysical, number int)) {
	c.Function("ceiling" + name)
	c.Attributes(attr.NOSPLIT)
	c.Doc(fmt.Sprintf("ceiling%s runs n passes of %d independent operations on registers.", name, rateAccumulators))
	c.SignatureExpr("func(n int)")
	n := c.Load(c.Param("n"), c.GP64())
	for _, v := range r[:3+rateAccumulators] {
		if v.Size() == 64 {
			c.VPXORD(v, v, v)
		} else {
			c.VXORPS(v, v, v)
		}
	}
	c.Label("pass")
	for i := range rateAccumulators {
		instruction(r[3+i], 3+i)
	}
	c.DECQ(n)
	c.JNZ(LabelRef("pass"))
	c.VZEROUPPER()
	c.RET()
}

// rateTiles emits rate for TDPBF16PS on full tiles: six of products, whose latency is 52 cycles
// at one in 16, and two of factors.
func rateTiles(c *build.Context) {
	c.Function("ceilingDotBF16AMX")
	c.Attributes(attr.NOSPLIT)
	c.Doc(fmt.Sprintf("ceilingDotBF16AMX runs n passes of %d products of tiles of 16 by 32 and 32 by 16.", rateAccumulators))
	c.SignatureExpr("func(n int)")
	n := c.Load(c.Param("n"), reg.RAX)
	shapes := c.AllocLocal(64)
	c.VPXORD(reg.Z0, reg.Z0, reg.Z0)
	c.VMOVDQU32(reg.Z0, shapes)
	c.MOVB(U8(1), shapes) // palette
	for tile := 0; tile < 8; tile++ {
		c.MOVW(U16(64), shapes.Offset(16+2*tile))
		c.MOVB(U8(16), shapes.Offset(48+tile))
	}
	tileConfigure(c, shapes)
	for tile := 0; tile < 8; tile++ {
		tileZero(c, tile)
	}
	c.Label("pass")
	for i := range rateAccumulators {
		tileMultiply(c, i%6, 6, 7)
	}
	c.DECQ(n)
	c.JNZ(LabelRef("pass"))
	tileRelease(c)
	c.VZEROUPPER()
	c.RET()
}

// memory emits a read of n bytes and a copy of n bytes past the caches, n a multiple of 512.
func memory(c *build.Context, level string, r []reg.VecPhysical) {
	width := int(r[0].Size())
	const step = 512
	c.Function("ceilingRead" + level)
	c.Attributes(attr.NOSPLIT)
	c.Pragma("noescape")
	c.Doc("ceilingRead" + level + " loads n bytes, a multiple of 512, in order.")
	c.SignatureExpr("func(p *byte, n int)")
	p, n := c.Load(c.Param("p"), c.GP64()), c.Load(c.Param("n"), c.GP64())
	c.Label("pass")
	for at := 0; at < step; at += width {
		if at%64 == 0 {
			c.PREFETCHT0(Mem{Base: p, Disp: 4096 + at})
		}
		c.VMOVUPS(Mem{Base: p, Disp: at}, r[at/width%8])
	}
	c.ADDQ(U32(step), p)
	c.SUBQ(U32(step), n)
	c.JG(LabelRef("pass"))
	c.VZEROUPPER()
	c.RET()

	c.Function("ceilingCopyNT" + level)
	c.Attributes(attr.NOSPLIT)
	c.Pragma("noescape")
	c.Doc("ceilingCopyNT" + level + " copies n bytes, a multiple of 512, with stores that bypass the caches; dst is 64-byte aligned.")
	c.SignatureExpr("func(dst, src *byte, n int)")
	dst, src := c.Load(c.Param("dst"), c.GP64()), c.Load(c.Param("src"), c.GP64())
	n = c.Load(c.Param("n"), c.GP64())
	c.Label("pass")
	for at := 0; at < step; at += 256 {
		regs := 256 / width
		for i := 0; i < regs; i++ {
			if i*width%64 == 0 {
				c.PREFETCHT0(Mem{Base: src, Disp: 4096 + at + i*width})
			}
			c.VMOVUPS(Mem{Base: src, Disp: at + i*width}, r[i])
		}
		for i := 0; i < regs; i++ {
			c.VMOVNTPS(r[i], Mem{Base: dst, Disp: at + i*width})
		}
	}
	c.ADDQ(U32(step), src)
	c.ADDQ(U32(step), dst)
	c.SUBQ(U32(step), n)
	c.JG(LabelRef("pass"))
	c.SFENCE()
	c.VZEROUPPER()
	c.RET()
}
