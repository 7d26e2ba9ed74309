package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var _ = register("residual_maxsim_score", func(c *build.Context) {
	for _, f16 := range []bool{false, true} {
		for _, bits := range []int{2, 4} {
			for nv := 1; nv <= 4; nv++ {
				(&residualScore{c: c, nv: nv, tokens: 12 / nv, bits: bits, f16: f16, width: 32, vector: ymms[:]}).emit()
			}
			for nv := 1; nv <= 2; nv++ {
				(&residualScore{c: c, nv: nv, tokens: 12, bits: bits, f16: f16, width: 64, vector: zmms[:]}).emit()
			}
		}
	}
})

// residualAhead is how many tokens ahead centroids are asked for: they lie anywhere in a
// table that may be larger than a second-level cache.
const residualAhead = 12

// residualScore emits the whole of a document: tiles of tokens are decoded to a small buffer
// and multiplied with the panel, and only maxima leave registers. A tile's decoding is some
// 250 instructions that need few multipliers, so that the processor has them in flight while
// the products of the tile before are still waiting for theirs: what a separate pass over
// more tokens cannot do.
type residualScore struct {
	c                *build.Context
	nv, tokens, bits int
	f16              bool
	width            int
	vector           []reg.VecPhysical

	packed, codes, inv, n reg.Register // of the next token; tokens left, 0 and below repeat the last
	pitch, pitch3, q, k   reg.Register
	row                   [3]reg.GPVirtual
}

func (g *residualScore) emit() {
	c, level, elem, kind, size := g.c, "AVX2", "float32", "F32", 4
	if g.width == 64 {
		level = "AVX512"
	}
	if g.f16 {
		elem, kind, size = "uint16", "F16", 2
	}
	name := fmt.Sprintf("residualScore%dx%sx%d%s", g.bits, kind, g.nv, level)
	begin(c, name, fmt.Sprintf("func(panel, rows *float32, pitch int, packed *uint8, row int, codes *int32, n, d int, centroid *%s, stride int, table, inv, best *float32)", elem),
		fmt.Sprintf("%s raises best[j] to the largest product of panel lane j of %d with one of n tokens of d", name, g.nv*g.width/4),
		fmt.Sprintf("components, a multiple of 8, decoded from %d bits as residualDecode%dx%sAVX2 does; rows has room for %d of them,", g.bits, g.bits, kind, g.tokens),
		"pitch bytes apart. A NaN stays. stride is in bytes. Reference: decodeGeneric and multiplyGeneric of residual.")
	g.packed, g.codes, g.inv, g.n = load(c, "packed"), load(c, "codes"), load(c, "inv"), load(c, "n")
	g.pitch, g.pitch3, g.q, g.k = load(c, "pitch"), c.GP64(), c.GP64(), c.GP64()
	c.LEAQ(Mem{Base: g.pitch, Index: g.pitch, Scale: 2}, g.pitch3)
	for i := range g.row {
		g.row[i] = c.GP64()
	}
	c.Label("tile")
	g.decode(kind, size)
	g.multiply()
	g.maxima()
	c.CMPQ(g.n, U32(0))
	c.JGT(LabelRef("tile"))
	c.VZEROUPPER()
	c.RET()
}

// decode emits the decoding of a tile.
func (g *residualScore) decode(kind string, size int) {
	c := g.c
	x := &residualDecode{c: c, bits: g.bits, f16: g.f16, wide: g.width == 64}
	left, k, to := c.GP64(), c.GP64(), g.row[0]
	c.MOVQ(argument(c, "table"), k)
	x.constants(k, fmt.Sprintf("%sx%dx%d", kind, g.nv, g.width))
	x.dst, x.centroid, x.packed, x.ahead, x.inv = c.GP64(), c.GP64(), c.GP64(), c.GP64(), c.YMM()
	if x.wide {
		x.inv = c.ZMM()
	}
	c.MOVQ(argument(c, "rows"), to)
	c.MOVQ(U32(g.tokens), left)
	c.Label("token")
	c.LEAQ(Mem{Base: g.codes, Disp: 4 * residualAhead}, x.ahead)
	c.CMPQ(g.n, U32(residualAhead))
	c.CMOVQLE(g.codes, x.ahead)
	for _, p := range []struct {
		code reg.Register
		to   reg.GPVirtual
	}{{x.ahead, x.ahead}, {g.codes, x.centroid}} {
		c.MOVL(Mem{Base: p.code}, p.to.As32())
		c.IMULQ(argument(c, "stride"), p.to)
		c.ADDQ(argument(c, "centroid"), p.to)
	}
	c.VBROADCASTSS(Mem{Base: g.inv}, x.inv)
	c.MOVQ(to, x.dst)
	c.MOVQ(g.packed, x.packed)
	x.row(argument(c, "d"), k, size)
	c.ADDQ(g.pitch, to)
	c.DECQ(g.n)
	c.JLE(LabelRef("repeat"))
	c.ADDQ(U32(4), g.codes)
	c.ADDQ(U32(4), g.inv)
	c.ADDQ(argument(c, "row"), g.packed)
	c.Label("repeat")
	c.DECQ(left)
	c.JNZ(LabelRef("token"))
}

// multiply emits the products of the tile, a chain for each over ascending components.
func (g *residualScore) multiply() {
	c := g.c
	for i, a := range g.vector[:g.tokens*g.nv] {
		switch {
		case g.width == 32:
			c.VXORPS(a, a, a)
		case i == 0:
			c.VXORPS(reg.Y0, reg.Y0, reg.Y0)
		default: // a copy, so that the accumulators are seen to be free while tokens are decoded
			c.VMOVAPS(g.vector[0], a)
		}
	}
	c.MOVQ(argument(c, "panel"), g.q)
	c.MOVQ(argument(c, "rows"), g.row[0])
	for i := 4; i < g.tokens; i += 4 {
		c.LEAQ(Mem{Base: g.row[i/4-1], Index: g.pitch, Scale: 4}, g.row[i/4])
	}
	c.MOVQ(argument(c, "d"), g.k)
	const unroll = 8
	c.Label("multiply")
	for s := 0; s < unroll; s++ {
		g.step(s)
	}
	c.ADDQ(U32(unroll*g.nv*g.width), g.q)
	for i := 0; i < g.tokens; i += 4 {
		c.ADDQ(U32(4*unroll), g.row[i/4])
	}
	c.SUBQ(U32(unroll), g.k)
	c.JNZ(LabelRef("multiply"))
}

// step emits the multiply-adds of a component.
func (g *residualScore) step(s int) {
	c, n := g.c, g.tokens*g.nv
	acc, free := g.vector[:n], g.vector[n:]
	row := func(i int) Mem {
		m := Mem{Base: g.row[i/4], Disp: 4 * s}
		switch i % 4 {
		case 1, 2:
			m.Index, m.Scale = g.pitch, uint8(i%4)
		case 3:
			m.Index, m.Scale = g.pitch3, 1
		}
		return m
	}
	panel := func(j int) Mem { return Mem{Base: g.q, Disp: (s*g.nv + j) * g.width} }
	if g.nv < len(free) { // the panel's vectors stay in registers
		for j := 0; j < g.nv; j++ {
			c.VMOVUPS(panel(j), free[j])
		}
		for i := 0; i < g.tokens; i++ {
			c.VBROADCASTSS(row(i), free[g.nv])
			for j := 0; j < g.nv; j++ {
				c.VFMADD231PS(free[g.nv], free[j], acc[i*g.nv+j])
			}
		}
		return
	}
	for i := 0; i < g.tokens; i++ { // the rows' components do
		c.VBROADCASTSS(row(i), free[i])
	}
	for j := 0; j < g.nv; j++ {
		c.VMOVUPS(panel(j), free[g.tokens])
		for i := 0; i < g.tokens; i++ {
			c.VFMADD231PS(free[i], free[g.tokens], acc[i*g.nv+j])
		}
	}
}

// maxima emits the maxima of the tile's products.
func (g *residualScore) maxima() {
	c, n := g.c, g.tokens*g.nv
	free := g.vector[n:]
	c.MOVQ(argument(c, "best"), g.q)
	if g.width == 64 {
		c.VPTERNLOGD(U8(0xff), free[1], free[1], free[1])
	}
	for j := 0; j < g.nv; j++ {
		var column []reg.VecPhysical
		for i := 0; i < g.tokens; i++ {
			column = append(column, g.vector[i*g.nv+j])
		}
		at := Mem{Base: g.q, Disp: j * g.width}
		var nan, now reg.Register = free[0], free[1]
		if g.width == 64 {
			nan, now = c.K(), c.K()
		}
		for i := 0; i < len(column); i += 2 { // any NaN, before maxima lose it
			to := now
			if i == 0 {
				to = nan
			}
			c.VCMPPS(U8(unordered), column[i], column[min(i+1, len(column)-1)], to)
			switch {
			case i == 0:
			case g.width == 64:
				c.KORW(now, nan, nan)
			default:
				c.VORPS(now, nan, nan)
			}
		}
		for len(column) > 1 {
			var half []reg.VecPhysical
			for i := 0; i+1 < len(column); i += 2 {
				c.VMAXPS(column[i], column[i+1], column[i])
				half = append(half, column[i])
			}
			if len(column)%2 == 1 {
				half = append(half, column[len(column)-1])
			}
			column = half
		}
		if g.width == 64 {
			c.VMOVUPS(at, free[0])
			c.VMAXPS(free[0], column[0], column[0]) // the running maximum where either is NaN
			c.VBLENDMPS(free[1], column[0], nan, column[0])
		} else {
			c.VMOVUPS(at, free[1])
			c.VMAXPS(free[1], column[0], column[0]) // the running maximum where either is NaN
			c.VORPS(free[0], column[0], column[0])  // all bits set is a NaN
		}
		c.VMOVUPS(column[0], at)
	}
}
