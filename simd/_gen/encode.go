package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// evex is the three-register form of an instruction that neither avo nor the Go assembler
// knows: opcode map, mandatory prefix (0 none, 1 66, 2 F3, 3 F2) and opcode, with W = 0.
type evex struct{ opcodeMap, prefix, opcode byte }

// Instructions by Intel's manual, volume 2.
var (
	vdpbf16ps = evex{2, 2, 0x52} // VDPBF16PS zmm1, zmm2, zmm3
)

// bytes encodes the instruction on 512-bit registers: d is the destination, s1 the first
// source (EVEX.vvvv) and s2 the second (modrm.rm).
func (e evex) bytes(d, s1, s2 byte) [6]byte {
	inv := func(v, bit byte) byte { return ^v >> bit & 1 }
	p0 := inv(d, 3)<<7 | inv(s2, 4)<<6 | inv(s2, 3)<<5 | inv(d, 4)<<4 | e.opcodeMap
	p1 := (^s1&15)<<3 | 4 | e.prefix
	p2 := 0x40 | inv(s1, 4)<<3
	return [6]byte{0x62, p0, p1, p2, e.opcode, 0xC0 | d&7<<3 | s2&7}
}

// Tile instructions by Intel's manual, volume 2, are VEX.0F38: what one moves or multiplies with
// is in its prefix.
const (
	tileload  = 3 // F2
	tilestore = 2 // F3
)

// tileConfigure emits LDTILECFG of 64 bytes; SI is lost.
func tileConfigure(c *build.Context, shapes operand.Mem) {
	c.LEAQ(shapes, reg.RSI)
	emitBytes(c, 0xc4, 0xe2, 0x78, 0x49, 0x06)
}

// tileRelease emits TILERELEASE, tileZero TILEZERO.
func tileRelease(c *build.Context)        { emitBytes(c, 0xc4, 0xe2, 0x78, 0x49, 0xc0) }
func tileZero(c *build.Context, tile int) { emitBytes(c, 0xc4, 0xe2, 0x7b, 0x49, 0xc0|byte(tile)<<3) }

// tileMultiply emits TDPBF16PS: acc += rows*panel.
func tileMultiply(c *build.Context, acc, rows, panel int) {
	emitBytes(c, 0xc4, 0xe2, ^byte(panel)&15<<3|2, 0x5c, 0xc0|byte(acc)<<3|byte(rows))
}

// tileMultiplyInt8 emits TDPBUSD: acc += rows*panel, unsigned by signed bytes.
func tileMultiplyInt8(c *build.Context, acc, rows, panel int) {
	emitBytes(c, 0xc4, 0xe2, ^byte(panel)&15<<3|1, 0x5e, 0xc0|byte(acc)<<3|byte(rows))
}

// tileMove emits a load or a store of a tile whose rows are pitch bytes apart.
func tileMove(c *build.Context, prefix byte, tile int, base, pitch reg.GPPhysical, disp int) {
	b, x := byte(base.PhysicalIndex()), byte(pitch.PhysicalIndex())
	ext := 0x82 | (^x>>3&1)<<6 | (^b>>3&1)<<5 // R, X and B inverted, then the opcode map
	emitBytes(c, 0xc4, ext, 0x78|prefix, 0x4b, 0x84|byte(tile)<<3, x&7<<3|b&7,
		byte(disp), byte(disp>>8), byte(disp>>16), byte(disp>>24))
}

func emitBytes(c *build.Context, bs ...byte) {
	for _, b := range bs {
		c.Instruction(&ir.Instruction{Opcode: "BYTE", Operands: []operand.Op{operand.U8(b)}})
	}
}

// zmm emits e on 512-bit registers given by number, as bytes.
func (e evex) zmm(c *build.Context, d, s1, s2 int) {
	bs := e.bytes(byte(d), byte(s1), byte(s2))
	emitBytes(c, bs[:]...)
}

// zmms are the 512-bit registers by number.
var zmms = [32]reg.VecPhysical{
	reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7,
	reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
	reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23,
	reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
}

// ymms are the 256-bit registers by number.
var ymms = [16]reg.VecPhysical{
	reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
	reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
}
