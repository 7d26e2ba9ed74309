package main

import (
	"fmt"
	"math/bits"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var _ = register("maxsim", func(c *build.Context) {
	for _, bf16 := range []bool{false, true} {
		for nv := 1; nv <= 4; nv++ {
			tiles := map[int][]int{1: {12, 6, 3, 1}, 2: {6, 3, 2, 1}, 3: {4, 2, 1}, 4: {3, 2, 1}}[nv]
			(&dots{c: c, nv: nv, full: nv == 4, tiles: tiles, vector: ymms[:], width: 32, bf16: bf16}).emit("AVX2")
		}
		for nv := 1; nv <= 2; nv++ {
			(&dots{c: c, nv: nv, full: nv == 2, tiles: wideTiles, vector: zmms[:], width: 64, bf16: bf16}).emit("AVX512")
		}
	}
	for nv := 1; nv <= 2; nv++ {
		(&dots{c: c, nv: nv, full: nv == 2, tiles: wideTiles, vector: zmms[:], width: 64, bf16: true, pairs: true}).emit("AVX512BF16")
	}
	scanMax(c)
	scanWinner(c)
	scaleDots(c)
	packRows(c, false)
	packRows(c, true)
	packSixteen(c)
	prefetchBytes(c)
	widenRow(c)
	decodeRow(c, false)
	decodeRow(c, true)
	normalizeRow(c)
})

// wideTiles: fewer than 4 rows of two vectors are bound by the latency of 4 cycles, so that
// 3 and 1 rows would take twice as long as 4.
var wideTiles = []int{12, 8, 6, 4, 3, 2, 1}

// unrollBytes of each row are multiplied in one pass of the inner loop, half of it with the
// panels that only end a group. The smaller tiles, which run at most once or twice per
// call, take unrollSmall components.
const (
	unrollBytes = 32
	unrollSmall = 4
)

// prefetchAhead is how far beyond the next tile documents are asked for, in bytes: some
// 300 ns of arithmetic at 32 lanes, because hardware prefetchers stop at page ends.
const prefetchAhead = 2048

// dots emits routines that multiply a panel of query tokens with document rows. A vector
// lane is a query token, so nothing is summed across lanes: each dot product is one chain
// of fused multiply-adds over ascending components, whatever tile it falls into.
type dots struct {
	c      *build.Context
	nv     int   // vectors per component of the panel
	full   bool  // as many as panels have
	tiles  []int // document rows per tile, descending, ending in 1
	vector []reg.VecPhysical
	width  int64 // bytes of a vector
	bf16   bool  // document rows are bf16
	pairs  bool  // panel and products are pairs of bf16 (VDPBF16PS)

	panel, doc, stride, stride3, d, n, out reg.Register // arguments
	q, k                                   reg.Register // running panel address, passes left
	ahead                                  reg.Register // running address a tile further on
	row                                    [3]reg.Register
	mask                                   Op // upper halves of 32-bit lanes
}

func (g *dots) emit(level string) {
	c, kind, elem := g.c, "F32", "float32"
	if g.bf16 {
		kind, elem = "BF16", "uint16"
	}
	name := fmt.Sprintf("maxsimDots%s%s%s", kind, fmt.Sprint("x", g.nv), level)
	if g.pairs {
		name = fmt.Sprintf("maxsimDotsx%d%s", g.nv, level)
	}
	c.Function(name)
	c.Attributes(attr.NOSPLIT)
	c.Pragma("noescape")
	c.Doc(fmt.Sprintf("%s sets out[t*%d+j] to the dot product of document row t and panel lane j,", name, g.lanes()),
		fmt.Sprintf("for n rows of d components that are stride bytes apart. The panel is [d][%d]%s.", g.lanes(), map[bool]string{true: " pairs of bf16, odd d padded with 0", false: " f32"}[g.pairs]),
		"Reference: maxsimDotsGeneric.")
	c.SignatureExpr(fmt.Sprintf("func(panel *float32, doc *%s, stride, d, n int, out *float32)", elem))
	g.panel, g.doc = c.Load(c.Param("panel"), c.GP64()), c.Load(c.Param("doc"), c.GP64())
	g.stride, g.d = c.Load(c.Param("stride"), c.GP64()), c.Load(c.Param("d"), c.GP64())
	g.n, g.out = c.Load(c.Param("n"), c.GP64()), c.Load(c.Param("out"), c.GP64())
	g.stride3 = c.GP64()
	c.LEAQ(Mem{Base: g.stride, Index: g.stride, Scale: 2}, g.stride3)
	g.q, g.k, g.ahead = c.GP64(), c.GP64(), c.GP64()
	for i := range g.row {
		g.row[i] = c.GP64()
	}
	if g.bf16 && !g.pairs {
		g.upperHalves()
	}
	for i, nd := range g.tiles {
		g.tile(nd, fmt.Sprintf("rows%d", nd), append(g.tiles, 0)[i+1])
	}
	c.Label("rows0")
	c.VZEROUPPER()
	c.RET()
}

func (g *dots) lanes() int64 { return int64(g.nv) * g.width / 4 }

// upperHalves prepares the mask that keeps the odd element of a pair of bf16: a register
// where there are 32 of them, else memory.
func (g *dots) upperHalves() {
	if len(g.vector) == 32 {
		r := g.c.GP32()
		g.c.MOVL(U32(0xffff0000), r)
		g.c.VPBROADCASTD(r, g.vector[31])
		g.mask = g.vector[31]
		return
	}
	m := g.c.StaticGlobal(fmt.Sprintf("maxsimUpperx%d", g.nv))
	g.c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := 0; i < 8; i++ {
		g.c.AddDatum(i*4, U32(0xffff0000))
	}
	g.mask = m
}

// tile emits the loop over full tiles of nd rows; with fewer rows left it goes on to next.
func (g *dots) tile(nd int, label string, next int) {
	c := g.c
	c.Label(label)
	c.CMPQ(g.n, U32(nd))
	c.JLT(LabelRef(fmt.Sprintf("rows%d", next)))
	if nd*g.nv == 12 && nd == 3 { // four rows are two tiles of two: one row alone is bound by latency
		c.CMPQ(g.n, U32(4))
		c.JEQ(LabelRef("rows2"))
	}
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
	for i, a := range acc {
		c.VMOVUPS(a, Mem{Base: g.out, Disp: i * int(g.width)})
	}
	c.ADDQ(U32(nd*g.nv*int(g.width)), g.out)
	g.next(nd, g.doc)
	c.SUBQ(U32(nd), g.n)
	c.JMP(LabelRef(label))
}

// next sets to to the row after a tile of nd rows.
func (g *dots) next(nd int, to reg.Register) {
	c := g.c
	switch {
	case nd == 1:
		c.LEAQ(Mem{Base: g.doc, Index: g.stride, Scale: 1}, to)
	case nd%3 == 0: // 3, 6, 12
		c.LEAQ(Mem{Base: g.doc, Index: g.stride3, Scale: uint8(nd / 3)}, to)
	default: // 2, 4
		c.LEAQ(Mem{Base: g.doc, Index: g.stride, Scale: uint8(nd)}, to)
	}
}

// components emits the loops over d: passes of unroll components, then what is left.
func (g *dots) components(nd int, label string) {
	c := g.c
	size, single := 4, 1 // bytes of a component, components of a step
	if g.bf16 {
		size = 2
	}
	if g.pairs {
		single = 2
	}
	main := unrollBytes / size
	if !g.full {
		main /= 2
	}
	if nd != g.tiles[0] {
		main = unrollSmall
	}
	pass := func(name string, components int, prefetch bool) {
		c.Label(label + name)
		steps, lines, bytes := components/single, 0, nd*components*size
		if prefetch {
			lines = (bytes + 63) / 64 // rows are neighbours: as much as the pass uses
		}
		for s := 0; s < steps; s++ {
			// One by one: requests at once would wait for fill buffers, and products for them
			// (4 to 9 % of a stream on a Xeon).
			for i := s * lines / steps; i < (s+1)*lines/steps; i++ {
				c.PREFETCHT0(Mem{Base: g.ahead, Disp: prefetchAhead + 64*i})
			}
			g.step(nd, s, components == 1)
		}
		if prefetch {
			c.ADDQ(U32(bytes), g.ahead)
		}
		c.ADDQ(U32(components/single*g.nv*int(g.width)), g.q)
		for i := 0; i < nd; i += 4 {
			c.ADDQ(U32(components*size), g.row[i/4])
		}
		c.DECQ(g.k)
		c.JNZ(LabelRef(label + name))
	}
	c.MOVQ(g.d, g.k)
	c.SHRQ(U8(bits.TrailingZeros(uint(main))), g.k)
	c.JZ(LabelRef(label + "left"))
	pass("pass", main, nd == g.tiles[0])
	c.Label(label + "left")
	c.MOVQ(g.d, g.k)
	c.ANDQ(U32(main-1), g.k)
	if g.pairs {
		c.SHRQ(U8(1), g.k)
	}
	c.JZ(LabelRef(label + "odd"))
	pass("one", single, false)
	c.Label(label + "odd")
	if !g.pairs {
		return
	}
	c.TESTQ(U32(1), g.d)
	c.JZ(LabelRef(label + "done"))
	g.step(nd, 0, true)
	c.Label(label + "done")
}

// rowAt addresses a byte of tile row i.
func (g *dots) rowAt(i, disp int) Mem {
	m := Mem{Base: g.row[i/4], Disp: disp}
	switch i % 4 {
	case 1:
		m.Index, m.Scale = g.stride, 1
	case 2:
		m.Index, m.Scale = g.stride, 2
	case 3:
		m.Index, m.Scale = g.stride3, 1
	}
	return m
}

// step emits the multiply-adds of step s of a pass. Alone means that a bf16 element stands
// by itself, so that reading its neighbour might leave the buffer.
func (g *dots) step(nd, s int, alone bool) {
	c, free := g.c, g.vector[nd*g.nv:]
	panel := func(j int) Mem { return Mem{Base: g.q, Disp: (s*g.nv + j) * int(g.width)} }
	if nd*g.nv+g.nv+1 <= len(g.vector) { // the panel's vectors stay in registers
		for j := 0; j < g.nv; j++ {
			c.VMOVUPS(panel(j), free[j])
		}
		for i := 0; i < nd; i++ {
			g.broadcast(i, s, alone, free[g.nv])
			for j := 0; j < g.nv; j++ {
				g.multiplyAdd(i*g.nv+j, nd*g.nv+j, nd*g.nv+g.nv)
			}
		}
		return
	}
	for i := 0; i < nd; i++ { // the rows' components stay in registers
		g.broadcast(i, s, alone, free[i])
	}
	for j := 0; j < g.nv; j++ {
		c.VMOVUPS(panel(j), free[nd])
		for i := 0; i < nd; i++ {
			g.multiplyAdd(i*g.nv+j, nd*g.nv+nd, nd*g.nv+i)
		}
	}
}

// broadcast fills every lane of v with row i's component (or pair) of step s.
func (g *dots) broadcast(i, s int, alone bool, v reg.VecPhysical) {
	c := g.c
	switch {
	case !g.bf16:
		c.VBROADCASTSS(g.rowAt(i, s*4), v)
	case g.pairs && !alone:
		c.VPBROADCASTD(g.rowAt(i, s*4), v)
	case g.pairs:
		r := c.GP32()
		c.MOVWLZX(g.rowAt(i, 0), r)
		c.VPBROADCASTD(r, v)
	case alone:
		c.VPBROADCASTW(g.rowAt(i, 0), v)
		c.VPSLLD(U8(16), v, v)
	case s%2 == 0:
		c.VPBROADCASTD(g.rowAt(i, s*2), v)
		c.VPSLLD(U8(16), v, v)
	default:
		c.VPBROADCASTD(g.rowAt(i, s*2-2), v)
		if g.width == 64 {
			c.VPANDD(g.mask, v, v)
		} else {
			c.VPAND(g.mask, v, v)
		}
	}
}

// multiplyAdd emits acc += q*b on registers given by number.
func (g *dots) multiplyAdd(acc, q, b int) {
	if g.pairs {
		vdpbf16ps.zmm(g.c, acc, q, b)
		return
	}
	g.c.VFMADD231PS(g.vector[b], g.vector[q], g.vector[acc])
}
