package store

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/num"
)

// halved has centroids that float16 holds, as builders round them.
func halved(c Codec) Codec {
	for i, x := range c.Centroids {
		c.Centroids[i] = num.F16ToFloat32(num.F16FromFloat32(x))
	}
	return c
}

func bitsOf(v []float32) []uint32 {
	out := make([]uint32, len(v))
	for i, x := range v {
		out[i] = math.Float32bits(x)
	}
	return out
}

// Every float16 widens to its value, NaN to a NaN of its bits, in one part or several.
func TestWiden(t *testing.T) {
	h, want := make([]uint16, 3<<16+5), make([]float32, 3<<16+5)
	for i := range h {
		h[i], want[i] = uint16(i), num.F16ToFloat32(uint16(i))
	}
	got, err := readHalves(bytes.NewReader(asBytes(h)), len(h))
	require.NoError(t, err)
	for i, x := range want {
		if x != x {
			require.True(t, math.IsNaN(float64(got[i])), "%#x", h[i])
			got[i] = x
		}
	}
	require.Equal(t, bitsOf(want), bitsOf(got))
	got, err = readHalves(bytes.NewReader(asBytes(h)), 9)
	require.NoError(t, err)
	require.Equal(t, bitsOf(want[:9]), bitsOf(got))
	for _, short := range []int{0, 7, 2*halvesShare + 1, len(h) - 1} {
		_, err = readHalves(bytes.NewReader(asBytes(h[:short])), len(h))
		require.ErrorIs(t, err, io.EOF)
	}
}

func TestNarrow(t *testing.T) {
	exact := []float32{1, -0x1p-24, 65504, float32(math.Copysign(0, -1)), 0x1p-14}
	require.Equal(t, []uint16{0x3c00, 0x8001, 0x7bff, 0x8000, 0x0400}, narrow(exact))
	require.Nil(t, narrow(nil))
	for _, x := range []float32{1 + 0x1p-11, 65536, 0x1p-25, 3 * 0x1p-25, 1e-40} {
		require.Nil(t, narrow(append(exact, x)), "%v", x)
	}
}

// Centroids that float16 holds take 2 bytes a component, and come back bit for bit, to a reader,
// to a writer that makes norms, and to one that compares codecs. What is no number is found.
func TestHalfCentroids(t *testing.T) {
	c := halved(sampleCodec(4, 8, 2, 3))
	c.Centroids[5], c.Centroids[6], c.Centroids[7] = float32(math.Copysign(0, -1)), -0x1p-24, 65504
	wide, many, fewer := sampleCodec(4, 8, 2, 3), halved(sampleCodec(4, 8, 2, halfBelow*8)), halved(sampleCodec(4, 8, 2, halfBelow*8-1))
	for _, x := range []struct {
		codec   Codec
		version byte
		size    int64
	}{{c, versionHalf, 2 * 24}, {wide, version, 4 * 24}, {many, version, 4 * halfBelow * 64}, {fewer, versionHalf, 2 * (halfBelow*64 - 8)}} {
		dir := made(t, x.codec, sampleBlock(1, x.codec, 2, 0, 5, 1))
		m, err := newest(dir)
		require.NoError(t, err)
		text, err := os.ReadFile(filepath.Join(dir, manifestName(m.generation)))
		require.NoError(t, err)
		require.Equal(t, x.version, text[8])
		require.Equal(t, x.size, m.file(fileCentroids).length)
		for _, copied := range []bool{false, true} {
			s, err := OpenWith(dir, OpenOptions{Copied: copied})
			require.NoError(t, err)
			require.Equal(t, bitsOf(x.codec.Centroids), bitsOf(s.Centroids()))
			require.NoError(t, s.Close())
			require.Nil(t, s.Centroids())
		}
		report, err := Check(dir)
		require.NoError(t, err)
		require.Empty(t, report.Problems)
	}
	for _, bad := range []struct {
		at   int
		with uint16
		want string
	}{{23, 0x7e01, "element 23: NaN"}, {0, 0xfc00, "element 0: -Inf"}} {
		dir := made(t, c, sampleBlock(1, c, 2, 0, 5, 1))
		resum(t, dir, fileCentroids, 2*bad.at, binary.LittleEndian.AppendUint16(nil, bad.with))
		report, err := Check(dir)
		require.NoError(t, err)
		require.ErrorContains(t, report.Problems[0].Err, bad.want)
		_, err = Open(dir)
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, bad.want)
	}
	// The version says which of the two a file is, whatever its length.
	dir := made(t, c, sampleBlock(1, c, 2, 0, 5, 1))
	m, err := newest(dir)
	require.NoError(t, err)
	m.half = false
	_, err = parseManifest("x", m.encode())
	require.ErrorContains(t, err, "48 bytes, 3 elements of 32 bytes wanted")
}
