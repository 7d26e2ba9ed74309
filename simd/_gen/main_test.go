package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// TestFresh regenerates every file and compares it with the committed one.
func TestFresh(t *testing.T) {
	for _, s := range sources {
		files, err := generate(s)
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		for name, text := range files {
			have, err := os.ReadFile(filepath.Join("..", name))
			if err != nil {
				t.Fatal(err)
			}
			if string(have) != string(text) {
				t.Errorf("%s is stale: run go run . in simd/_gen", name)
			}
		}
	}
}

// TestEncoding compares the byte encoder with encodings by llvm-mc.
func TestEncoding(t *testing.T) {
	for _, x := range []struct {
		d, s1, s2 byte
		want      [6]byte
	}{
		{1, 2, 3, [6]byte{0x62, 0xf2, 0x6e, 0x48, 0x52, 0xcb}},
		{31, 30, 29, [6]byte{0x62, 0x02, 0x0e, 0x40, 0x52, 0xfd}},
		{8, 16, 24, [6]byte{0x62, 0x12, 0x7e, 0x40, 0x52, 0xc0}},
	} {
		if got := vdpbf16ps.bytes(x.d, x.s1, x.s2); got != x.want {
			t.Errorf("vdpbf16ps zmm%d, zmm%d, zmm%d: %x, want %x", x.d, x.s1, x.s2, got, x.want)
		}
	}
}

// TestTileEncoding compares the bytes of tile instructions with those of GNU as 2.40.
func TestTileEncoding(t *testing.T) {
	for _, x := range []struct {
		emit func(*build.Context)
		want string
	}{
		{tileRelease, "c4e27849c0"},                                                                             // tilerelease
		{func(c *build.Context) { tileZero(c, 5) }, "c4e27b49e8"},                                               // tilezero %tmm5
		{func(c *build.Context) { tileMultiply(c, 3, 5, 7) }, "c4e2425cdd"},                                     // tdpbf16ps %tmm7,%tmm5,%tmm3
		{func(c *build.Context) { tileMultiplyInt8(c, 3, 5, 7) }, "c4e2415edd"},                                 // tdpbusd %tmm7,%tmm5,%tmm3
		{func(c *build.Context) { tileMove(c, tileload, 4, reg.RAX, reg.R10, 0) }, "c4a27b4ba41000000000"},      // tileloadd (%rax,%r10,1),%tmm4
		{func(c *build.Context) { tileMove(c, tilestore, 3, reg.R13, reg.RDX, 0x840) }, "c4c27a4b9c1540080000"}, // tilestored %tmm3,0x840(%r13,%rdx,1)
	} {
		c := build.NewContext()
		c.Function("f")
		x.emit(c)
		f, err := c.Result()
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, i := range f.Functions()[0].Instructions() {
			got += fmt.Sprintf("%02x", byte(i.Operands[0].(operand.U8)))
		}
		if got != x.want {
			t.Errorf("got %s, want %s", got, x.want)
		}
	}
}
