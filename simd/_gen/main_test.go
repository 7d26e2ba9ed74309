package main

import (
	"os"
	"path/filepath"
	"testing"
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
