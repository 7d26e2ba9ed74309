package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var _ = register("centroid_scores_int8", func(c *build.Context) {
	for nv := 1; nv <= 4; nv++ {
		tiles := []int{4, 2, 1}
		if nv > 2 {
			tiles = tiles[1:] // a vector of the panel, rows' words and products need registers too
		}
		(&int8Dots{vec: vec{Context: c}, nv: nv, tiles: tiles}).emit("")
	}
	for nv := 1; nv <= 2; nv++ {
		(&int8Dots{vec: vec{Context: c, wide: true}, nv: nv, tiles: []int{8, 4, 2, 1}}).emit("")
		(&int8Dots{vec: vec{Context: c, wide: true}, nv: nv, tiles: []int{12, 4, 2, 1}, bytes: true}).emit("VNNI")
	}
	int8Rows(c, false)
	int8Rows(c, true)
	each(c, int8Scale)
})

// int8Unroll words are multiplied in one pass of the inner loop.
const int8Unroll = 4

// int8Dots emits integer products of a panel with rows. A lane is a token; a word of 32 bits
// holds two components of 16 bits, whose products one instruction adds without overflow,
// or four of 8.
type int8Dots struct {
	vec
	nv    int   // vectors of the panel
	tiles []int // rows of a tile, descending, ending in 1
	bytes bool  // VPDPBUSD: rows are unsigned, and the panel's last row undoes that

	panel, rows, pitch, pitch3, words, n, out reg.Register
	q, k                                      reg.Register
	row                                       [3]reg.Register
	acc                                       regs // of the largest tile
}

func (g *int8Dots) emit(suffix string) {
	name := fmt.Sprintf("int8Dotsx%d", g.nv)
	what := "components of a word are two of 16 bits."
	if g.bytes {
		what = "components of a word are four of 8 bits: of rows with 128 added, of the panel as they are, and\nits row behind the last word is what the sums start with."
	}
	g.Function(name + g.level() + suffix)
	g.Pragma("noescape")
	g.SignatureExpr("func(panel *int32, rows *byte, pitch, words, n int, out *int32)")
	doc := []string{fmt.Sprintf("%s sets out[t*%d+j] to the integer product of row t and panel lane j, for n rows pitch", name+g.level()+suffix, g.nv*g.lanes())}
	g.Doc(append(append(doc, strings.Split("bytes apart; "+what, "\n")...), "Reference: int8DotsGeneric.")...)
	g.panel, g.rows, g.pitch = g.pointer("panel"), g.pointer("rows"), g.pointer("pitch")
	g.words, g.n, g.out = g.pointer("words"), g.pointer("n"), g.pointer("out")
	g.pitch3 = g.GP64()
	g.LEAQ(Mem{Base: g.pitch, Index: g.pitch, Scale: 2}, g.pitch3)
	g.q, g.k = g.GP64(), g.GP64()
	for i := range g.row {
		g.row[i] = g.GP64()
	}
	g.acc = g.regs(g.tiles[0] * g.nv)
	for i, nd := range g.tiles {
		g.tile(nd, fmt.Sprintf("rows%d", nd), append(g.tiles, 0)[i+1])
	}
	g.Label("rows0")
	g.end()
}

// tile emits the loop over full tiles of nd rows.
func (g *int8Dots) tile(nd int, label string, next int) {
	g.Label(label)
	g.CMPQ(g.n, U32(nd))
	g.JLT(LabelRef(fmt.Sprintf("rows%d", next)))
	acc := g.acc[:nd*g.nv]
	g.start(acc)
	g.MOVQ(g.panel, g.q)
	g.MOVQ(g.rows, g.row[0])
	for i := 4; i < nd; i += 4 {
		g.LEAQ(Mem{Base: g.row[i/4-1], Index: g.pitch, Scale: 4}, g.row[i/4])
	}
	pass := func(name string, words int) {
		g.Label(label + name)
		for s := range words {
			g.step(acc, nd, s)
		}
		g.ADDQ(U32(words*g.nv*g.lanes()*4), g.q)
		for i := 0; i < nd; i += 4 {
			g.ADDQ(U32(words*4), g.row[i/4])
		}
		g.DECQ(g.k)
		g.JNE(LabelRef(label + name))
	}
	g.MOVQ(g.words, g.k)
	g.SHRQ(U8(2), g.k)
	g.JE(LabelRef(label + "left"))
	pass("pass", int8Unroll)
	g.Label(label + "left")
	g.MOVQ(g.words, g.k)
	g.ANDQ(U32(int8Unroll-1), g.k)
	g.JE(LabelRef(label + "done"))
	pass("one", 1)
	g.Label(label + "done")
	for i, a := range acc {
		g.VMOVUPS(a, Mem{Base: g.out, Disp: i * g.lanes() * 4})
	}
	g.ADDQ(U32(len(acc)*g.lanes()*4), g.out)
	for range nd / 4 {
		g.LEAQ(Mem{Base: g.rows, Index: g.pitch, Scale: 4}, g.rows)
	}
	switch nd % 4 {
	case 1, 2:
		g.LEAQ(Mem{Base: g.rows, Index: g.pitch, Scale: uint8(nd % 4)}, g.rows)
	case 3:
		g.ADDQ(g.pitch3, g.rows)
	}
	g.SUBQ(U32(nd), g.n)
	g.JMP(LabelRef(label))
}

// start sets the sums to what they begin with.
func (g *int8Dots) start(acc regs) {
	if !g.bytes {
		for _, a := range acc {
			g.zero(a)
		}
		return
	}
	at := g.GP64()
	g.MOVQ(g.words, at)
	g.IMUL3Q(U32(g.nv*g.lanes()*4), at, at)
	for i, a := range acc {
		g.VMOVUPS(Mem{Base: g.panel, Index: at, Scale: 1, Disp: i % g.nv * g.lanes() * 4}, a)
	}
}

// step adds the products of word s of a pass.
func (g *int8Dots) step(acc regs, nd, s int) {
	panel := func(j int) Mem { return Mem{Base: g.q, Disp: (s*g.nv + j) * g.lanes() * 4} }
	at := func(i int) Mem {
		m := Mem{Base: g.row[i/4], Disp: s * 4}
		switch i % 4 {
		case 1:
			m.Index, m.Scale = g.pitch, 1
		case 2:
			m.Index, m.Scale = g.pitch, 2
		case 3:
			m.Index, m.Scale = g.pitch3, 1
		}
		return m
	}
	if g.wide { // the panel's vectors stay in registers
		q := g.regs(g.nv)
		for j := range q {
			g.VMOVUPS(panel(j), q[j])
		}
		for i := range nd {
			c := g.reg()
			g.VPBROADCASTD(at(i), c)
			for j := range q {
				g.multiply(q[j], c, acc[i*g.nv+j])
			}
		}
		return
	}
	c := g.regs(nd) // the rows' words do
	for i := range c {
		g.VPBROADCASTD(at(i), c[i])
	}
	for j := range g.nv {
		q := g.reg()
		g.VMOVUPS(panel(j), q)
		for i := range c {
			g.multiply(q, c[i], acc[i*g.nv+j])
		}
	}
}

// multiply adds the products of a word.
func (g *int8Dots) multiply(q, c, acc reg.VecVirtual) {
	if g.bytes {
		g.VPDPBUSD(q, c, acc)
		return
	}
	p := g.reg()
	g.VPMADDWD(q, c, p)
	g.VPADDD(p, acc, acc)
}

// zero clears a register; on 512 bits VXORPS would need more than AVX-512F.
func (v vec) zero(r reg.VecVirtual) {
	if v.wide {
		v.VPXORD(r, r, r)
	} else {
		v.VXORPS(r, r, r)
	}
}

// int8Rows emits what makes rows for the products.
func int8Rows(c *build.Context, flip bool) {
	v := vec{Context: c}
	name, what, size := "int8Widen", "widens rows of d components to 16 bits", 2
	if flip {
		name, what, size = "int8Flip", "adds 128 to rows of d components, as bytes without sign", 1
	}
	v.function(name, what+", n of them. Rows of dst are pitch bytes\napart. It does full components of each, a multiple of 16. Reference: int8WidenGeneric.",
		"func(rows *int8, n, d, full int, dst *byte, pitch int)")
	rows, n, d, full, dst, pitch := v.pointer("rows"), v.pointer("n"), v.pointer("d"), v.pointer("full"), v.pointer("dst"), v.pointer("pitch")
	i := v.GP64()
	var high reg.VecVirtual
	if flip {
		g := v.GP32()
		high = v.XMM()
		v.MOVL(U32(0x80808080), g)
		v.VMOVD(g, high)
		v.VPBROADCASTD(high, high)
	}
	v.loop("", n, func() {
		v.XORQ(i, i)
		v.Label("next")
		v.CMPQ(i, full)
		v.JGE(LabelRef("row"))
		if flip {
			x := v.XMM()
			v.VPXOR(Mem{Base: rows, Index: i, Scale: 1}, high, x)
			v.VMOVDQU(x, Mem{Base: dst, Index: i, Scale: uint8(size)})
		} else {
			x := v.YMM()
			v.VPMOVSXBW(Mem{Base: rows, Index: i, Scale: 1}, x)
			v.VMOVDQU(x, Mem{Base: dst, Index: i, Scale: uint8(size)})
		}
		v.ADDQ(U32(16), i)
		v.JMP(LabelRef("next"))
		v.Label("row")
		v.ADDQ(d, rows)
		v.ADDQ(pitch, dst)
	})
	v.end()
}

// int8Scale turns integer products into scores.
func int8Scale(v vec) {
	v.function("int8Scale", "replaces each integer out[t*lanes+j] by its value in float32 times query[j]*centroid[t],\nfor n rows of lanes, a multiple of a register's. Reference: int8ScaleGeneric.",
		"func(out *float32, n, lanes int, query, centroid *float32)")
	out, n, lanes, query, centroid := v.pointer("out"), v.pointer("n"), v.pointer("lanes"), v.pointer("query"), v.pointer("centroid")
	i := v.GP64()
	v.loop("", n, func() {
		s := v.reg()
		v.VBROADCASTSS(Mem{Base: centroid}, s)
		v.XORQ(i, i)
		v.Label("vector")
		x, f := v.reg(), v.reg()
		v.VCVTDQ2PS(Mem{Base: out}, x)
		v.VMULPS(Mem{Base: query, Index: i, Scale: 4}, s, f)
		v.VMULPS(f, x, x)
		v.VMOVUPS(x, Mem{Base: out})
		v.ADDQ(U32(4*v.lanes()), out)
		v.ADDQ(U32(v.lanes()), i)
		v.CMPQ(i, lanes)
		v.JLT(LabelRef("vector"))
		v.ADDQ(U32(4), centroid)
	})
	v.end()
}
