package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var _ = register("maxsim_amx", func(c *build.Context) {
	for nv := 1; nv <= 2; nv++ {
		(&tileDots{c: c, nv: nv}).emit()
	}
})

var _ = register("residual_maxsim_int8_amx", func(c *build.Context) {
	for nv := 1; nv <= 2; nv++ {
		(&tileDots{c: c, nv: nv, int8: true}).emit()
	}
})

// tileDots emits products of bf16 or int8 by tile registers, which neither avo nor the Go
// assembler knows, so that all general registers are named here and none is left to avo.
//
// A tile has 16 rows of 64 bytes, 16 words of two or four components. Those of documents are
// 16 tokens of up to 16 words, as they lie in memory; those of the panel are up to 16 words
// of 16 query tokens, which is the panel of VDPBF16PS and VPDPBUSD; those of products are 16
// tokens by 16 lanes, which is how products are kept. The state of tiles is made and given
// up within one call: assembly is not preempted, and a signal's frame holds the tiles.
type tileDots struct {
	c    *build.Context
	nv   int  // tiles of the panel, side by side
	int8 bool // rows of unsigned bytes, decoded just now, panels of signed ones, and a bias
}

// Tile registers: products of rows 0 to 15, of rows 16 to 31, rows, panel.
const (
	tileProducts = 0
	tileRows     = 4
	tilePanel    = 6
)

// General registers. What a tile is loaded from or stored to has a base and a pitch.
var (
	amxPanel, amxDoc, amxStride, amxPasses = reg.R8, reg.R9, reg.R10, reg.R11
	amxLeft, amxOut, amxAhead, amxStep     = reg.R12, reg.RDI, reg.R13, reg.R15
	amxRow0, amxRow1, amxQ, amxPitch       = reg.RAX, reg.RBX, reg.RCX, reg.RDX
	amxK, amxBias                          = reg.RSI, reg.R14
)

// Documents are asked for this far beyond the next rows, in bytes, since tiles multiply faster
// than memory delivers: near for the first-level cache, and far for the second, where a
// request brings two lines and occupies a fill buffer once (16 % of a stream on a Xeon; reading
// rows in order beforehand took half as long again).
const (
	amxNear = 2048
	amxFar  = 16384
)

func (g *tileDots) emit() {
	c, lanes := g.c, 16*g.nv
	name := fmt.Sprintf("maxsimDotsx%dAMX", g.nv)
	signature, what, reference := "func(panel *float32, doc *uint16, stride, d, n int, out *float32)", "d components, a multiple of 8, that are stride", "maxsimDotsGeneric"
	panel := fmt.Sprintf("[d/2][%d] pairs of bf16", lanes)
	params := []string{"panel", "doc", "stride", "d", "n", "out"}
	if g.int8 {
		name = fmt.Sprintf("residualDotsx%dAMX", g.nv)
		signature, what, reference = "func(panel *uint32, rows *byte, pitch, steps, n int, bias, out *int32)", "steps groups of four bytes, a multiple of 4, that are pitch", "dotsGeneric of residualInt8"
		panel = fmt.Sprintf("[steps][%d] groups of four int8, and products start at bias", lanes)
		params = []string{"panel", "rows", "pitch", "steps", "n", "out"}
	}
	c.Function(name)
	c.Attributes(attr.NOSPLIT)
	c.Pragma("noescape")
	c.Doc(fmt.Sprintf("%s sets out[t*%d+j] to the product of row t and panel lane j, for n rows, at least 1, of", name, lanes),
		what+" bytes apart. The panel is "+panel+".",
		"The last rows may be multiplied twice. Reference: "+reference+".")
	c.SignatureExpr(signature)
	for i, to := range []reg.Register{amxPanel, amxDoc, amxStride, amxPasses, amxLeft, amxOut} {
		c.Load(c.Param(params[i]), to)
	}
	if !g.int8 {
		c.SHRQ(U8(1), amxPasses) // words
	}
	g.configure()
	c.CMPQ(amxLeft, U32(16))
	c.JLT(LabelRef("last")) // tiles have as many rows as there are
	c.Label("pair")
	c.CMPQ(amxLeft, U32(32))
	c.JLT(LabelRef("single"))
	g.block("pair", 2)
	c.JMP(LabelRef("pair"))
	c.Label("single")
	c.CMPQ(amxLeft, U32(16))
	c.JLT(LabelRef("few"))
	g.block("single", 1)
	c.JMP(LabelRef("single"))
	c.Label("few")
	c.CMPQ(amxLeft, U32(0))
	c.JLE(LabelRef("end"))
	// Fewer than 16 rows after others: the last 16 once more.
	c.SUBQ(U32(16), amxLeft)
	c.MOVQ(amxLeft, amxK)
	c.IMULQ(amxStride, amxK)
	c.ADDQ(amxK, amxDoc)
	c.IMUL3Q(U32(lanes*4), amxLeft, amxK)
	c.ADDQ(amxK, amxOut)
	c.Label("last")
	g.block("last", 1)
	c.Label("end")
	tileRelease(c)
	c.VZEROUPPER()
	c.RET()
}

// configure emits the shapes of the tiles: words are taken in passes of the largest power of
// two in their number, at most 16, and rows are 16, or all if there are fewer.
func (g *tileDots) configure() {
	c := g.c
	shapes := c.AllocLocal(64)
	c.VPXORD(reg.Z0, reg.Z0, reg.Z0)
	c.VMOVDQU32(reg.Z0, shapes)
	c.MOVB(U8(1), shapes) // palette
	c.MOVQ(U32(16), amxK)
	c.CMPQ(amxLeft, amxK)
	c.CMOVQLT(amxLeft, amxK)
	c.MOVQ(U32(16), amxRow1)
	c.MOVQ(amxPasses, amxRow0)
	c.NEGQ(amxRow0)
	c.ANDQ(amxPasses, amxRow0)
	c.CMPQ(amxRow0, amxRow1)
	c.CMOVQGT(amxRow1, amxRow0)
	c.BSFQ(amxRow0, reg.RCX)
	c.SHRQ(reg.CL, amxPasses)
	c.MOVQ(amxRow0, amxStep)
	c.SHLQ(U8(2), amxStep) // bytes of a row in a pass
	for tile := 0; tile < 8; tile++ {
		width, rows := shapes.Offset(16+2*tile), shapes.Offset(48+tile)
		switch {
		case tile < tileRows:
			c.MOVW(U16(64), width)
			c.MOVB(reg.SIB, rows)
		case tile < tilePanel:
			c.MOVW(amxStep.As16(), width)
			c.MOVB(reg.SIB, rows)
		default:
			c.MOVW(U16(64), width)
			c.MOVB(reg.AL, rows)
		}
	}
	tileConfigure(c, shapes)
	c.MOVQ(U32(64*g.nv), amxPitch)
}

// block emits the products of 16 rows, or of two times 16.
func (g *tileDots) block(label string, tiles int) {
	c := g.c
	label += "pass"
	multiply := tileMultiply
	if g.int8 {
		multiply = tileMultiplyInt8
	}
	if g.int8 {
		c.Load(c.Param("bias"), amxBias)
		c.XORQ(amxK, amxK)
	}
	for i := 0; i < tiles; i++ {
		for j := 0; j < g.nv; j++ {
			if g.int8 { // every row alike
				tileMove(c, tileload, product(i, j), amxBias, amxK, 64*j)
			} else {
				tileZero(c, product(i, j))
			}
		}
	}
	c.MOVQ(amxDoc, amxRow0)
	c.LEAQ(Mem{Base: amxDoc, Index: amxStride, Scale: 8}, amxRow1)
	c.LEAQ(Mem{Base: amxRow1, Index: amxStride, Scale: 8}, amxRow1)
	switch {
	case g.int8: // nothing is asked for
	case tiles == 2:
		c.LEAQ(Mem{Base: amxRow1, Index: amxStride, Scale: 8}, amxAhead)
		c.LEAQ(Mem{Base: amxAhead, Index: amxStride, Scale: 8}, amxAhead)
	default:
		c.MOVQ(amxRow1, amxAhead)
	}
	c.MOVQ(amxPanel, amxQ)
	c.MOVQ(amxPasses, amxK)
	c.Label(label)
	for j := 0; j < g.nv; j++ {
		tileMove(c, tileload, tilePanel+j, amxQ, amxPitch, 64*j)
	}
	for i, row := range []reg.GPPhysical{amxRow0, amxRow1}[:tiles] {
		tileMove(c, tileload, tileRows+i, row, amxStride, 0)
		if !g.int8 {
			g.prefetch(fmt.Sprint(label, i))
		}
		for j := 0; j < g.nv; j++ {
			multiply(c, product(i, j), tileRows+i, tilePanel+j)
		}
		c.ADDQ(amxStep, row)
	}
	// A word is 4 bytes of a row, and 64 bytes in each tile of the panel.
	for j := 0; j < g.nv; j++ {
		c.LEAQ(Mem{Base: amxQ, Index: amxStep, Scale: 8}, amxQ)
		c.LEAQ(Mem{Base: amxQ, Index: amxStep, Scale: 8}, amxQ)
	}
	c.DECQ(amxK)
	c.JNZ(LabelRef(label))
	for i := 0; i < tiles; i++ {
		for j := 0; j < g.nv; j++ {
			tileMove(c, tilestore, product(i, j), amxOut, amxPitch, i*16*64*g.nv+64*j)
		}
	}
	for i := 0; i < tiles; i++ {
		c.LEAQ(Mem{Base: amxDoc, Index: amxStride, Scale: 8}, amxDoc)
		c.LEAQ(Mem{Base: amxDoc, Index: amxStride, Scale: 8}, amxDoc)
	}
	c.ADDQ(U32(tiles*16*64*g.nv), amxOut)
	c.SUBQ(U32(16*tiles), amxLeft)
}

// product is the tile register of row tile i and panel tile j.
func product(i, j int) int { return tileProducts + 2*i + j }

// prefetch asks for as many bytes as a pass uses of 16 rows: 4 lines for every 16 bytes of a
// row. It comes between the loads of rows, since all requests at once hold those up.
func (g *tileDots) prefetch(label string) {
	c := g.c
	n := reg.R14
	c.MOVQ(amxStep, n)
	c.Label(label + "ask")
	for i := 0; i < 4; i++ {
		c.PREFETCHT0(Mem{Base: amxAhead, Disp: amxNear + 64*i})
		if i%2 == 0 {
			c.PREFETCHT1(Mem{Base: amxAhead, Disp: amxFar + 64*i})
		}
	}
	c.ADDQ(U32(256), amxAhead)
	c.SUBQ(U32(16), n)
	c.JNZ(LabelRef(label + "ask"))
}
