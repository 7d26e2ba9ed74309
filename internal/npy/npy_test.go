package npy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// file builds a file of the given version around a header text and data.
func file(version byte, header string, data ...byte) []byte {
	b := append([]byte(magic), version, 0)
	if version == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	}
	return append(append(b, header...), data...)
}

func head(descr, fortran, shape string) string {
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }    \n", descr, fortran, shape)
}

func TestVersionsAndShapes(t *testing.T) {
	for _, version := range []byte{1, 2, 3} {
		a, err := Read(bytes.NewReader(file(version, head("<i2", "False", "(2, 1)"), 1, 0, 0xfe, 0xff)))
		require.NoError(t, err)
		require.Equal(t, []int{2, 1}, a.Shape)
		require.Equal(t, []float64{1, -2}, a.Float64s())
	}
	for text, shape := range map[string][]int{"()": {}, "(1,)": {1}, "(1, 1,)": {1, 1}, "(1,1)": {1, 1}} {
		a, err := Read(bytes.NewReader(file(1, head("|u1", "False", text), 7)))
		require.NoError(t, err, text)
		require.Equal(t, shape, a.Shape)
		require.Equal(t, 1, a.Len())
	}
	a, err := Read(bytes.NewReader(file(1, head("<f8", "False", "(3, 0)"))))
	require.NoError(t, err)
	require.Equal(t, 0, a.Len())
	require.Empty(t, a.Float64s())
}

func TestTypes(t *testing.T) {
	le := binary.LittleEndian
	for _, c := range []struct {
		descr string
		data  []byte
		want  float64
	}{
		{"|b1", []byte{1}, 1},
		{"|i1", []byte{0x80}, -128},
		{"|u1", []byte{0xff}, 255},
		{"<i2", le.AppendUint16(nil, 0x8000), -32768},
		{"<u2", le.AppendUint16(nil, 0x8000), 32768},
		{"<i4", le.AppendUint32(nil, 0xffffffff), -1},
		{"<u4", le.AppendUint32(nil, 0xffffffff), 4294967295},
		{"<i8", le.AppendUint64(nil, math.MaxUint64), -1},
		{"<u8", le.AppendUint64(nil, 1<<63), 1 << 63},
		{"<f2", le.AppendUint16(nil, 0x3c01), 1 + 1.0/1024},
		{"<f2", le.AppendUint16(nil, 0x8001), -math.Ldexp(1, -24)},
		{"<f2", le.AppendUint16(nil, 0xfc00), math.Inf(-1)},
		{"<f4", le.AppendUint32(nil, math.Float32bits(-1.5)), -1.5},
		{"<f8", le.AppendUint64(nil, math.Float64bits(math.Pi)), math.Pi},
	} {
		a, err := Read(bytes.NewReader(file(1, head(c.descr, "False", "(1,)"), c.data...)))
		require.NoError(t, err, c.descr)
		require.Equal(t, []float64{c.want}, a.Float64s(), c.descr)
	}
	require.True(t, math.IsNaN(half(0x7e00)))
	require.True(t, math.Signbit(half(0x8000)))
}

func TestInt64s(t *testing.T) {
	a := &Array{DType: "u8", Shape: []int{1}, Data: binary.LittleEndian.AppendUint64(nil, 1<<63)}
	_, err := a.Int64s()
	require.EqualError(t, err, "npy: element 0 is 9223372036854775808, above the largest int64")
	a = &Array{DType: "f4", Data: make([]byte, 4)}
	_, err = a.Int64s()
	require.EqualError(t, err, "npy: integers wanted, array is f4")
	a = &Array{DType: "b1", Shape: []int{2}, Data: []byte{0, 1}}
	v, err := a.Int64s()
	require.NoError(t, err)
	require.Equal(t, []int64{0, 1}, v)
}

func TestRefused(t *testing.T) {
	ok := head("<f4", "False", "(1,)")
	for want, b := range map[string][]byte{
		`truncated after 0 bytes of the magic`:                               {},
		`truncated after 5 bytes of the magic`:                               []byte(magic[:5]),
		`magic "PK\x03\x04ab", want "\x93NUMPY"`:                             []byte("PK\x03\x04abcdef"),
		`version 4.0, want 1.0, 2.0 or 3.0`:                                  file(4, ok),
		`truncated header: 9 of 60 bytes`:                                    append(append([]byte(magic), 1, 0, 60, 0), ok[:9]...),
		`header of 4294967295 bytes, limit 65536`:                            append([]byte(magic), 2, 0, 255, 255, 255, 255),
		`truncated data: 3 of 4 bytes`:                                       file(1, ok, 1, 2, 3),
		`data continues after the 4 bytes of the array`:                      file(1, ok, 1, 2, 3, 4, 5),
		`array of shape [2 3] is in fortran order, want row-major (C order)`: file(1, head("<f4", "True", "(2, 3)")),
		`unsupported type ">f4"`:                                             file(1, head(">f4", "False", "(1,)"), 1, 2, 3, 4),
		`unsupported type "|O"`:                                              file(1, head("|O", "False", "(1,)")),
		`unsupported type "<<f4"`:                                            file(1, head("<<f4", "False", "(1,)")),
		`shape [4294967296 4294967296] of f4 overflows`:                      file(1, head("<f4", "False", "(4294967296, 4294967296)")),
		`truncated data: 0 of 4611686018427387904 bytes`:                     file(1, head("<f4", "False", "(1152921504606846976,)")),
		`length 99999999999999999999 in shape is too large`:                  file(1, head("<f4", "False", "(99999999999999999999,)")),
		`header lacks "shape"`:                                               file(1, "{'descr': '<f4', 'fortran_order': False}"),
		`header has "descr" twice`:                                           file(1, "{'descr': '<f4', 'descr': '<f4'}"),
		`unknown header key "x"`:                                             file(1, "{'x': 1}"),
		`header: want a length at "-1,), }    \n"`:                           file(1, head("<f4", "False", "(-1,)")),
		`header: want '{' at "[]"`:                                           file(1, "[]"),
	} {
		_, err := Read(bytes.NewReader(b))
		var fe *FormatError
		require.ErrorAs(t, err, &fe, want)
		require.Equal(t, want, fe.Reason)
	}
}

func TestReadFileNamesTheFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.npy")
	_, err := ReadFile(name)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(name, file(1, head("<f4", "False", "(1,)")), 0o666))
	_, err = ReadFile(name)
	require.EqualError(t, err, "npy: "+name+": truncated data: 0 of 4 bytes")
}

func FuzzRead(f *testing.F) {
	f.Add(file(1, head("<f4", "False", "(1,)"), 1, 2, 3, 4))
	f.Add(file(3, head("|b1", "True", "()"), 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		n := 1
		for _, d := range a.Shape {
			n *= d
		}
		require.Equal(t, n, a.Len())
		require.Len(t, a.Float64s(), n)
	})
}
