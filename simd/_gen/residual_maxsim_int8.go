package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var _ = register("residual_maxsim_int8", func(c *build.Context) {
	for _, bits := range []int{1, 2, 4} {
		residualBytes(c, bits, true)
		residualBytes(c, bits, false)
	}
	for _, how := range []multiply{pairsI16, bytesI16} {
		for nv, tiles := range [][]int{{6, 3, 1}, {4, 2, 1}, {3, 1}, {2, 1}} {
			(&residualDots{c: c, nv: nv + 1, tiles: tiles, width: 32, how: how}).emit("AVX2")
		}
	}
	for _, how := range []multiply{pairsI16, bytesI16, bytesVNNI} {
		for nv := 1; nv <= 2; nv++ {
			(&residualDots{c: c, nv: nv, tiles: []int{12, 6, 3, 1}, width: 64, how: how}).emit("AVX512")
		}
	}
	for _, f16 := range []bool{false, true} {
		for nv := 1; nv <= 4; nv++ {
			residualFinish(c, nv, 32, f16)
		}
		for nv := 1; nv <= 2; nv++ {
			residualFinish(c, nv, 64, f16)
		}
	}
})

// residualBytes emits the decoder of rows of buckets into integers: a nibble of the packed
// bytes names an entry of a table for each component in it. Blocks of 16 bytes, and a last
// one of 8, are written plane by plane: first the first component of each byte.
func residualBytes(c *build.Context, bits int, wide bool) {
	kind, elem := "I8", "int8"
	if wide {
		kind, elem = "I16", "int16"
	}
	name := fmt.Sprintf("residualBytes%dx%sAVX2", bits, kind)
	begin(c, name, "func(rows *byte, pitch int, packed *uint8, row, n int, table *int8)",
		fmt.Sprintf("%s decodes n rows of %d bits, row bytes each, a multiple of 8, to %s, pitch bytes apart:", name, bits, elem),
		fmt.Sprintf("in each block of 16 bytes, and a last one of 8, the components that are first of %d in their byte, then", 8/bits),
		fmt.Sprintf("the second ones, and so on. table has 16 entries for each of the %d in a nibble. Reference: planes of residualInt8.", 4/bits))
	rows, pitch, packed := load(c, "rows"), load(c, "pitch"), load(c, "packed")
	row, n, table := load(c, "row"), load(c, "n"), load(c, "table")
	var tables []reg.VecVirtual
	for i := 0; i < 4/bits; i++ {
		tables = append(tables, c.XMM())
		c.VMOVDQU(Mem{Base: table, Disp: 16 * i}, tables[i])
	}
	mask, r := c.XMM(), c.GP32()
	c.MOVL(U32(0x0f0f0f0f), r)
	c.VMOVD(r, mask)
	c.VPBROADCASTD(mask, mask)
	dst, k := c.GP64(), c.GP64()
	x, high, y := c.XMM(), c.XMM(), c.YMM()
	block := func(size int) {
		if size == 16 {
			c.VMOVDQU(Mem{Base: packed}, x)
		} else {
			c.VMOVQ(Mem{Base: packed}, x)
		}
		c.VPSRLW(U8(4), x, high)
		c.VPAND(mask, high, high)
		c.VPAND(mask, x, x)
		at := 0
		for _, nibble := range []reg.VecVirtual{high, x} {
			for _, t := range tables {
				c.VPSHUFB(nibble, t, y.AsX())
				switch {
				case wide && size == 16:
					c.VPMOVSXBW(y.AsX(), y)
					c.VMOVDQU(y, Mem{Base: dst, Disp: at})
					at += 32
				case wide:
					c.VPMOVSXBW(y.AsX(), y.AsX())
					c.VMOVDQU(y.AsX(), Mem{Base: dst, Disp: at})
					at += 16
				case size == 16:
					c.VMOVDQU(y.AsX(), Mem{Base: dst, Disp: at})
					at += 16
				default:
					c.VMOVQ(y.AsX(), Mem{Base: dst, Disp: at})
					at += 8
				}
			}
		}
		c.ADDQ(U32(size), packed)
		c.ADDQ(U32(at), dst)
	}
	c.Label("token")
	c.MOVQ(rows, dst)
	c.MOVQ(row, k)
	c.SUBQ(U32(16), k)
	c.JLT(LabelRef("half"))
	c.Label("block")
	block(16)
	c.SUBQ(U32(16), k)
	c.JGE(LabelRef("block"))
	c.Label("half")
	c.ADDQ(U32(16), k)
	c.JZ(LabelRef("done"))
	block(8)
	c.Label("done")
	c.ADDQ(pitch, rows)
	c.DECQ(n)
	c.JNZ(LabelRef("token"))
	c.VZEROUPPER()
	c.RET()
}

// multiply is how a step multiplies.
type multiply int

const (
	pairsI16  multiply = iota // two components as int16: VPMADDWD, VPADDD
	bytesI16                  // four bytes: VPMADDUBSW, whose sums of two must fit int16, VPMADDWD with ones, VPADDD
	bytesVNNI                 // four bytes: VPDPBUSD
)

// residualDots emits products of a panel of query tokens, lanes, with decoded rows. On 256
// bits, pairsI16 does 16 products in two instructions and bytesI16 32 in three, of which two
// need one of two multipliers: 32 products a cycle at best, and some 26 and 31 as Zen 3
// places the additions. For a table of any range VPMADDUBSW saturates, and what keeps it
// exact (signs moved to the query, or halves of the range) costs as much as it saves.
type residualDots struct {
	c     *build.Context
	nv    int
	tiles []int
	width int
	how   multiply

	panel, rows, pitch, pitch3, steps, n, bias, out reg.Register
	q, k                                            reg.Register
	row                                             [3]reg.Register
	vectors                                         []reg.VecPhysical
}

func (g *residualDots) emit(level string) {
	c := g.c
	name := fmt.Sprintf("residualDots%sx%d%s", [...]string{"", "Bytes", "VNNI"}[g.how], g.nv, level)
	lanes := g.nv * g.width / 4
	what := "[steps][%d] pairs of int16, rows are int16"
	if g.how != pairsI16 {
		what = "[steps][%d] groups of four int8, rows are bytes, and products start at bias"
	}
	if g.how == bytesI16 {
		what += "; bytes are at most 127"
	}
	begin(c, name, "func(panel *uint32, rows *byte, pitch, steps, n int, bias, out *int32)",
		fmt.Sprintf("%s sets out[i*%d+j] to the integer product of row i and panel lane j, for n rows that are", name, lanes),
		fmt.Sprintf("pitch bytes apart. The panel is "+what+". Reference: dotsGeneric of residualInt8.", lanes))
	g.panel, g.rows, g.pitch = load(c, "panel"), load(c, "rows"), load(c, "pitch")
	g.steps, g.n, g.out = load(c, "steps"), load(c, "n"), load(c, "out")
	if g.how != pairsI16 {
		g.bias = load(c, "bias")
	}
	g.pitch3, g.q, g.k = c.GP64(), c.GP64(), c.GP64()
	c.LEAQ(Mem{Base: g.pitch, Index: g.pitch, Scale: 2}, g.pitch3)
	for i := range g.row {
		g.row[i] = c.GP64()
	}
	g.vectors = ymms[:]
	if g.width == 64 {
		g.vectors = zmms[:]
	}
	if g.how == bytesI16 {
		r, ones := c.GP32(), g.vectors[len(g.vectors)-1]
		c.MOVL(U32(0x00010001), r)
		if g.width == 64 {
			c.VPBROADCASTD(r, ones)
		} else {
			c.VMOVD(r, ones.AsX())
			c.VPBROADCASTD(ones.AsX(), ones)
		}
	}
	for i, nd := range g.tiles {
		g.tile(nd, append(g.tiles, 0)[i+1])
	}
	c.Label("rows0")
	c.VZEROUPPER()
	c.RET()
}

func (g *residualDots) tile(nd, next int) {
	c, label := g.c, fmt.Sprintf("rows%d", nd)
	c.Label(label)
	c.CMPQ(g.n, U32(nd))
	c.JLT(LabelRef(fmt.Sprintf("rows%d", next)))
	acc, free := g.vectors[:nd*g.nv], g.vectors[nd*g.nv:]
	for i := range acc {
		switch {
		case g.how != pairsI16 && g.width == 64:
			c.VMOVDQU32(Mem{Base: g.bias, Disp: i % g.nv * g.width}, acc[i])
		case g.how != pairsI16:
			c.VMOVDQU(Mem{Base: g.bias, Disp: i % g.nv * g.width}, acc[i])
		case g.width == 64:
			c.VPXORD(acc[i], acc[i], acc[i])
		default:
			c.VPXOR(acc[i], acc[i], acc[i])
		}
	}
	c.MOVQ(g.panel, g.q)
	c.MOVQ(g.rows, g.row[0])
	for i := 4; i < nd; i += 4 {
		c.LEAQ(Mem{Base: g.rows, Index: g.pitch, Scale: uint8(i)}, g.row[i/4])
	}
	c.MOVQ(g.steps, g.k)
	const unroll = 4
	c.SUBQ(U32(unroll), g.k)
	c.JLT(LabelRef(label + "few"))
	c.Label(label + "pass")
	g.step(nd, unroll, acc, free)
	c.SUBQ(U32(unroll), g.k)
	c.JGE(LabelRef(label + "pass"))
	c.Label(label + "few")
	c.ADDQ(U32(unroll), g.k)
	c.JZ(LabelRef(label + "done"))
	c.Label(label + "one")
	g.step(nd, 1, acc, free)
	c.DECQ(g.k)
	c.JNZ(LabelRef(label + "one"))
	c.Label(label + "done")
	for i, a := range acc {
		at := Mem{Base: g.out, Disp: i * g.width}
		if g.width == 64 {
			c.VMOVDQU32(a, at)
		} else {
			c.VMOVDQU(a, at)
		}
	}
	c.ADDQ(U32(nd*g.nv*g.width), g.out)
	switch {
	case nd%3 == 0:
		c.LEAQ(Mem{Base: g.rows, Index: g.pitch3, Scale: uint8(nd / 3)}, g.rows)
	default:
		c.LEAQ(Mem{Base: g.rows, Index: g.pitch, Scale: uint8(nd)}, g.rows)
	}
	c.SUBQ(U32(nd), g.n)
	c.JMP(LabelRef(label))
}

// step emits n steps.
func (g *residualDots) step(nd, n int, acc, free []reg.VecPhysical) {
	c := g.c
	panel, b, x := free[:g.nv], free[g.nv], free[g.nv+1]
	for s := 0; s < n; s++ {
		for j := range panel {
			at := Mem{Base: g.q, Disp: (s*g.nv + j) * g.width}
			if g.width == 64 {
				c.VMOVDQU32(at, panel[j])
			} else {
				c.VMOVDQU(at, panel[j])
			}
		}
		for i := 0; i < nd; i++ {
			m := Mem{Base: g.row[i/4], Disp: 4 * s}
			switch i % 4 {
			case 1, 2:
				m.Index, m.Scale = g.pitch, uint8(i%4)
			case 3:
				m.Index, m.Scale = g.pitch3, 1
			}
			c.VPBROADCASTD(m, b)
			for j, p := range panel {
				switch g.how {
				case bytesVNNI:
					c.VPDPBUSD(p, b, acc[i*g.nv+j])
					continue
				case bytesI16:
					c.VPMADDUBSW(p, b, x)
					c.VPMADDWD(g.vectors[len(g.vectors)-1], x, x)
				default:
					c.VPMADDWD(p, b, x)
				}
				c.VPADDD(x, acc[i*g.nv+j], acc[i*g.nv+j])
			}
		}
	}
	c.ADDQ(U32(n*g.nv*g.width), g.q)
	for i := 0; i < nd; i += 4 {
		c.ADDQ(U32(4*n), g.row[i/4])
	}
}

// finishAhead is how many rows of scores ahead are asked for, as approxAhead: 2.5 % of a launch.
const finishAhead = 8

// residualFinish emits what follows the integer products.
func residualFinish(c *build.Context, nv, width int, f16 bool) {
	level, vector, kind, elem, size := "AVX2", c.YMM, "F32", "float32", 4
	if width == 64 {
		level, vector = "AVX512", c.ZMM
	}
	if f16 {
		kind, elem, size = "F16", "uint16", 2
	}
	name := fmt.Sprintf("residualFinish%sx%d%s", kind, nv, level)
	lanes := nv * width / 4
	begin(c, name, fmt.Sprintf("func(dots *int32, n int, codes *int32, scores *%s, stride, last int, unit, inv, best *float32)", elem),
		fmt.Sprintf("%s raises best[j], for %d lanes, to the largest (dots[i*%d+j]·unit[j] + scores[codes[i]][j])·inv[i]", name, lanes, lanes),
		fmt.Sprintf("over i < n, the sum with one rounding, or makes it NaN. Rows of %s scores are stride bytes apart; the columns of", kind),
		"the last vector are last bytes from the first. Reference: finishGeneric of residualInt8.")
	dots, n, codes, scores := load(c, "dots"), load(c, "n"), load(c, "codes"), load(c, "scores")
	stride, last, inv := load(c, "stride"), load(c, "last"), load(c, "inv")
	unit, best := load(c, "unit"), load(c, "best")
	u, m := make([]reg.VecVirtual, nv), make([]reg.VecVirtual, nv)
	nan, mask := make([]reg.VecVirtual, nv), make([]reg.Register, nv)
	for j := range u {
		u[j], m[j] = vector(), vector()
		c.VMOVUPS(Mem{Base: unit, Disp: j * width}, u[j])
		c.VMOVUPS(Mem{Base: best, Disp: j * width}, m[j])
		if width == 64 {
			mask[j] = c.K()
			c.KXORW(mask[j], mask[j], mask[j])
		} else {
			nan[j] = c.YMM()
			c.VXORPS(nan[j], nan[j], nan[j])
		}
	}
	var row [2]reg.GPVirtual
	row[0], row[1] = c.GP64(), c.GP64()
	x, y := vector(), vector()
	// value emits that of token i for vector j; two tokens share what watches for NaN.
	value := func(i, j int, to reg.VecVirtual) {
		at := Mem{Base: row[i], Disp: j * width / 4 * size}
		if j > 0 && j == nv-1 || nv == 1 {
			at = Mem{Base: row[i], Index: last, Scale: 1}
		}
		c.VCVTDQ2PS(Mem{Base: dots, Disp: (i*nv + j) * width}, to)
		if f16 {
			s := vector()
			c.VCVTPH2PS(at, s)
			c.VFMADD213PS(s, u[j], to)
		} else {
			c.VFMADD213PS(at, u[j], to)
		}
		by := vector()
		c.VBROADCASTSS(Mem{Base: inv, Disp: 4 * i}, by)
		c.VMULPS(by, to, to)
	}
	tokens := func(n2 int) {
		for i := 0; i < n2; i++ {
			c.MOVL(Mem{Base: codes, Disp: 4 * i}, row[i].As32())
			c.IMULQ(stride, row[i])
			c.ADDQ(scores, row[i])
		}
		for j := range u {
			value(0, j, x)
			other := x
			if n2 == 2 {
				value(1, j, y)
				other = y
			}
			if width == 64 {
				k := c.K()
				c.VCMPPS(U8(unordered), other, x, k)
				c.KORW(k, mask[j], mask[j])
			} else {
				k := vector()
				c.VCMPPS(U8(unordered), other, x, k)
				c.VORPS(k, nan[j], nan[j])
			}
			if n2 == 2 {
				c.VMAXPS(y, x, x)
			}
			c.VMAXPS(m[j], x, m[j]) // the running maximum where either is NaN
		}
		c.ADDQ(U32(n2*nv*width), dots)
		c.ADDQ(U32(4*n2), codes)
		c.ADDQ(U32(4*n2), inv)
	}
	c.SUBQ(U32(2), n)
	c.JLT(LabelRef("last"))
	c.Label("two")
	c.CMPQ(n, U32(finishAhead))
	c.JLT(LabelRef("near"))
	for i := 0; i < 2; i++ {
		ahead := row[0]
		c.MOVL(Mem{Base: codes, Disp: 4 * (finishAhead + i)}, ahead.As32())
		c.IMULQ(stride, ahead)
		c.ADDQ(scores, ahead)
		for line := 0; line < nv*width/4*size; line += 64 {
			c.PREFETCHT0(Mem{Base: ahead, Disp: line})
		}
		c.PREFETCHT0(Mem{Base: ahead, Index: last, Scale: 1, Disp: width/4*size - 1})
	}
	c.Label("near")
	tokens(2)
	c.SUBQ(U32(2), n)
	c.JGE(LabelRef("two"))
	c.Label("last")
	c.ADDQ(U32(2), n)
	c.JZ(LabelRef("done"))
	tokens(1)
	c.Label("done")
	if width == 64 {
		c.VPTERNLOGD(U8(0xff), x, x, x)
	}
	for j := range u {
		if width == 64 {
			c.VBLENDMPS(x, m[j], mask[j], m[j])
		} else {
			c.VORPS(nan[j], m[j], m[j]) // all bits set is a NaN
		}
		c.VMOVUPS(m[j], Mem{Base: best, Disp: j * width})
	}
	c.VZEROUPPER()
	c.RET()
}
