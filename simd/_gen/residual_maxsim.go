package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var _ = register("residual_maxsim", func(c *build.Context) {
	for _, f16 := range []bool{false, true} {
		for _, bits := range []int{1, 2, 4, 8} {
			(&residualDecode{c: c, bits: bits, f16: f16}).emit()
		}
	}
	residualNorms(c)
	residualScale(c)
})

// residualDecode emits the decoder of tokens from an index: 8 components a vector, buckets
// by variable shifts, weights from tables in registers (8 bits: gathered).
type residualDecode struct {
	c     *build.Context
	bits  int
	f16   bool
	wide  bool             // 16 components a vector where there are as many (AVX-512)
	shift []reg.VecVirtual // of the vectors of a 32-bit word
	low   reg.VecVirtual   // table, or its first half
	high  reg.VecVirtual
	upper reg.OpmaskVirtual // wide with 4 bits: the lanes of a second word
	table reg.Register
	inv   reg.VecVirtual

	dst, centroid, packed reg.GPVirtual
	ahead                 reg.GPVirtual // a later token's centroid; nil: not asked for
}

func (g *residualDecode) emit() {
	c, elem, kind, size := g.c, "float32", "F32", 4
	if g.f16 {
		elem, kind, size = "uint16", "F16", 2
	}
	name := fmt.Sprintf("residualDecode%dx%sAVX2", g.bits, kind)
	begin(c, name, fmt.Sprintf("func(rows *float32, pitch int, packed *uint8, row int, codes *int32, n, d int, centroid *%s, stride int, table, inv *float32)", elem),
		fmt.Sprintf("%s decodes n tokens of d components, a multiple of 8, of %d bits: rows are pitch bytes apart,", name, g.bits),
		"bytes of tokens row, centroids stride elements. Reference: decodeGeneric of residual.")
	rows, packed := load(c, "rows"), load(c, "packed")
	codes, inv, n := load(c, "codes"), load(c, "inv"), load(c, "n")
	stride := load(c, "stride")
	g.constants(load(c, "table"), kind)
	c.IMUL3Q(U8(size), stride, stride)
	g.dst, g.centroid, g.packed, g.inv = c.GP64(), c.GP64(), c.GP64(), c.YMM()
	k := c.GP64()
	c.Label("token")
	c.MOVL(Mem{Base: codes}, g.centroid.As32())
	c.IMULQ(stride, g.centroid)
	c.ADDQ(argument(c, "centroid"), g.centroid)
	c.VBROADCASTSS(Mem{Base: inv}, g.inv)
	c.MOVQ(rows, g.dst)
	c.MOVQ(packed, g.packed)
	g.row(argument(c, "d"), k, size)
	c.ADDQ(U32(4), codes)
	c.ADDQ(U32(4), inv)
	c.ADDQ(argument(c, "pitch"), rows)
	c.ADDQ(argument(c, "row"), packed)
	c.DECQ(n)
	c.JNZ(LabelRef("token"))
	c.VZEROUPPER()
	c.RET()
}

// constants loads the table of weights and the shifts.
func (g *residualDecode) constants(table reg.Register, kind string) {
	c := g.c
	if g.wide {
		g.wideConstants(table, kind)
		return
	}
	switch g.bits {
	case 8:
		g.table = table
		return
	case 4:
		g.low, g.high = c.YMM(), c.YMM()
		c.VMOVUPS(Mem{Base: table}, g.low)
		c.VMOVUPS(Mem{Base: table, Disp: 32}, g.high)
	default:
		g.low = c.YMM()
		c.VBROADCASTF128(Mem{Base: table}, g.low)
	}
	g.shifts(kind)
}

// row emits the decoding of d components; k is a spare register.
func (g *residualDecode) row(d Op, k reg.Register, size int) {
	c := g.c
	c.MOVQ(d, k)
	c.SUBQ(U32(32), k)
	c.JLT(LabelRef("few"))
	c.Label("pass")
	g.vectors(4, size)
	c.SUBQ(U32(32), k)
	c.JGE(LabelRef("pass"))
	c.Label("few")
	c.ADDQ(U32(32), k)
	c.JZ(LabelRef("done"))
	c.Label("eight")
	g.vectors(1, size)
	c.SUBQ(U32(8), k)
	c.JNZ(LabelRef("eight"))
	c.Label("done")
}

// argument is a parameter where it lies on the stack, for those that are read once a token.
func argument(c *build.Context, name string) Mem {
	a, err := c.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return a.Addr
}

// shifts bring each component's bucket of a little-endian word to the low bits: the first
// component is in the high bits of the first byte.
func (g *residualDecode) shifts(kind string) {
	c := g.c
	data := g.shiftData(kind, 32/g.bits)
	for v := 0; v < 4/g.bits; v++ {
		g.shift = append(g.shift, c.YMM())
		c.VMOVDQU(data.Offset(32*v), g.shift[v])
	}
}

// shiftData is the shifts of n components, those of a word again and again.
func (g *residualDecode) shiftData(kind string, n int) Mem {
	c, per := g.c, 8/g.bits
	data := c.StaticGlobal(fmt.Sprintf("residualShift%dx%s", g.bits, kind))
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for k := 0; k < n; k++ {
		w := k % (32 / g.bits)
		c.AddDatum(4*k, U32(w/per*8+8-g.bits*(w%per+1)))
	}
	return data
}

// wideConstants is constants for 16 components a vector: a table of 16 weights is one, of 4 in
// each quarter of one, and the lower half of each serves 8 components.
func (g *residualDecode) wideConstants(table reg.Register, kind string) {
	c := g.c
	g.low = c.ZMM()
	if g.bits == 4 {
		g.high = c.YMM()
		c.VMOVUPS(Mem{Base: table}, g.low)
		c.VMOVUPS(Mem{Base: table, Disp: 32}, g.high)
		r := c.GP32()
		c.MOVL(U32(0xff00), r)
		g.upper = c.K()
		c.KMOVW(r, g.upper)
	} else {
		c.VBROADCASTF32X4(Mem{Base: table}, g.low)
	}
	g.shift = []reg.VecVirtual{c.ZMM()}
	c.VMOVDQU32(g.shiftData(kind, 16), g.shift[0])
}

// wideVectors is vectors for 16 components each, 32 in all, or 8.
func (g *residualDecode) wideVectors(n, size int) {
	c := g.c
	if n == 1 {
		x := c.YMM()
		g.load(x, 0, 1)
		c.VPSRLVD(g.shift[0].AsY(), x, x)
		if g.bits == 4 {
			c.VPERMI2PS(g.high, g.low.AsY(), x)
		} else {
			c.VPERMILPS(x, g.low.AsY(), x)
		}
		g.finish(x, x.AsX(), g.inv.AsY(), c.YMM(), 0, size)
		return
	}
	for v := 0; v < 2; v++ {
		x, at := c.ZMM(), 2*v*g.bits
		c.VPBROADCASTD(Mem{Base: g.packed, Disp: at}, x)
		if g.bits == 4 {
			c.VPBROADCASTD(Mem{Base: g.packed, Disp: at + 4}, g.upper, x)
		}
		c.VPSRLVD(g.shift[0], x, x)
		if g.bits == 4 {
			c.VPERMPS(g.low, x, x) // by the low four bits
		} else {
			c.VPERMILPS(x, g.low, x) // by the low two bits
		}
		g.finish(x, x.AsY(), g.inv, c.ZMM(), 16*v, size)
	}
}

// finish makes components from the given one on of a token from weights x. half is where they
// fit as f16, m is spare.
func (g *residualDecode) finish(x, half, inv, m reg.Register, component, size int) {
	c := g.c
	centroid := Mem{Base: g.centroid, Disp: component * size}
	if g.f16 {
		c.VCVTPH2PS(centroid, m)
		c.VADDPS(m, x, x)
	} else {
		c.VADDPS(centroid, x, x)
	}
	c.VMULPS(inv, x, x)
	if g.f16 {
		c.VCVTPS2PH(U8(0), x, half) // half to even
		c.VCVTPH2PS(half, x)
	}
	c.VMOVUPS(x, Mem{Base: g.dst, Disp: component * 4})
}

// vectors emits the decoding of n vectors of 8 components, 4 or 1.
func (g *residualDecode) vectors(n, size int) {
	c := g.c
	if g.wide {
		g.wideVectors(n, size)
		g.advance(n, size)
		return
	}
	word := c.YMM()
	for v := 0; v < n; v++ {
		at := v * g.bits // bytes of the vector
		x := c.YMM()
		switch {
		case g.bits == 8:
			all, index := c.YMM(), c.YMM()
			c.VPCMPEQD(all, all, all)
			c.VPMOVZXBD(Mem{Base: g.packed, Disp: at}, index)
			c.VGATHERDPS(all, Mem{Base: g.table, Index: index, Scale: 4}, x)
		default:
			if at%4 == 0 {
				g.load(word, at, n)
			}
			c.VPSRLVD(g.shift[at%4/g.bits], word, x)
			g.lookup(x)
		}
		g.finish(x, x.AsX(), g.inv, c.YMM(), 8*v, size)
	}
	g.advance(n, size)
}

// advance goes n vectors of 8 components on.
func (g *residualDecode) advance(n, size int) {
	c := g.c
	if g.ahead != nil {
		for line := 0; line < 8*size*n; line += 64 {
			c.PREFETCHT0(Mem{Base: g.ahead, Disp: line})
		}
		c.ADDQ(U32(8*size*n), g.ahead)
	}
	c.ADDQ(U32(32*n), g.dst)
	c.ADDQ(U32(8*size*n), g.centroid)
	c.ADDQ(U32(g.bits*n), g.packed)
}

// load fills word with the next four bytes, or with as many as the last vector has.
func (g *residualDecode) load(word reg.VecVirtual, at, n int) {
	c, m := g.c, Mem{Base: g.packed, Disp: at}
	if n == 4 || g.bits == 4 {
		c.VPBROADCASTD(m, word)
		return
	}
	r := c.GP32()
	if g.bits == 1 {
		c.MOVBLZX(m, r)
	} else {
		c.MOVWLZX(m, r)
	}
	c.VMOVD(r, word.AsX())
	c.VPBROADCASTD(word.AsX(), word)
}

// lookup replaces buckets, with anything above them, by weights.
func (g *residualDecode) lookup(x reg.VecVirtual) {
	c := g.c
	if g.bits < 4 {
		c.VPERMILPS(x, g.low, x) // by the low two bits
		return
	}
	top, high := c.YMM(), c.YMM()
	c.VPSLLD(U8(28), x, top) // bit 3 to the sign
	c.VPERMPS(g.high, x, high)
	c.VPERMPS(g.low, x, x) // both by the low three bits
	c.VBLENDVPS(top, high, x, x)
}

// residualNorms takes 16 tokens, a lane each.
func residualNorms(c *build.Context) {
	begin(c, "residualNormsAVX2", "func(panel *float32, d int, inv *float32)",
		"residualNormsAVX2 sets inv[j] to 1/max(√Σ panel[k*16+j]², 1e-12) for 16 columns: squares and their sums",
		"rounded one by one, k ascending below d, at least 1. Reference: normalizeRows of residual.")
	panel, d, inv := load(c, "panel"), load(c, "d"), load(c, "inv")
	var sum, x [2]reg.VecVirtual
	for i := range sum {
		sum[i], x[i] = c.YMM(), c.YMM()
		c.VXORPS(sum[i], sum[i], sum[i])
	}
	c.Label("component")
	for i := range sum {
		c.VMOVUPS(Mem{Base: panel, Disp: 32 * i}, x[i])
		c.VMULPS(x[i], x[i], x[i])
		c.VADDPS(x[i], sum[i], sum[i])
	}
	c.ADDQ(U32(64), panel)
	c.DECQ(d)
	c.JNZ(LabelRef("component"))
	constant := func(bits uint32) reg.VecVirtual {
		r, v := c.GP32(), c.YMM()
		c.MOVL(U32(bits), r)
		c.VMOVD(r, v.AsX())
		c.VPBROADCASTD(v.AsX(), v)
		return v
	}
	one, floor := constant(0x3f800000), constant(0x2b8cbccc) // 1e-12
	for i, s := range sum {
		c.VSQRTPS(s, s)
		c.VMAXPS(s, floor, s) // the root where it is NaN
		c.VDIVPS(s, one, s)
		c.VMOVUPS(s, Mem{Base: inv, Disp: 32 * i})
	}
	c.VZEROUPPER()
	c.RET()
}

func residualScale(c *build.Context) {
	begin(c, "residualScaleAVX2", "func(rows *float32, pitch, n, d int, inv *float32)",
		"residualScaleAVX2 multiplies n rows of d elements, a multiple of 8, that are pitch bytes apart, each by its",
		"inv. Reference: normalizeRows of residual.")
	rows, pitch, n, d, inv := load(c, "rows"), load(c, "pitch"), load(c, "n"), load(c, "d"), load(c, "inv")
	c.SHLQ(U8(2), d)
	i, by, x := c.GP64(), c.YMM(), c.YMM()
	c.Label("row")
	c.VBROADCASTSS(Mem{Base: inv}, by)
	c.XORQ(i, i)
	c.Label("pass")
	at := Mem{Base: rows, Index: i, Scale: 1}
	c.VMULPS(at, by, x)
	c.VMOVUPS(x, at)
	c.ADDQ(U32(32), i)
	c.CMPQ(i, d)
	c.JLT(LabelRef("pass"))
	c.ADDQ(pitch, rows)
	c.ADDQ(U32(4), inv)
	c.DECQ(n)
	c.JNZ(LabelRef("row"))
	c.VZEROUPPER()
	c.RET()
}
