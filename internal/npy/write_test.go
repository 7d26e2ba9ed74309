package npy

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDialects(t *testing.T) {
	for _, c := range []struct {
		dialect Dialect
		dtype   string
		shape   []int
		want    string // without padding
		length  int
	}{
		{NumPy, "f4", []int{2048, 128}, "{'descr': '<f4', 'fortran_order': False, 'shape': (2048, 128), }", 128},
		{NumPy, "u1", []int{7}, "{'descr': '|u1', 'fortran_order': False, 'shape': (7,), }", 128},
		{NumPy, "f8", nil, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }", 128},
		{Tch, "f2", []int{2048, 128}, "{'descr': '<f2', 'fortran_order': False, 'shape': (2048,128,), }", 80},
		{Tch, "f4", []int{15}, "{'descr': '<f4', 'fortran_order': False, 'shape': (15,), }", 80},
		{Tch, "f4", []int{1}, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", 80},
		{Tch, "f8", nil, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }", 80},
		{Tch, "u1", []int{1000, 64}, "{'descr': '<u1', 'fortran_order': False, 'shape': (1000,64,), }", 80},
		{Tch, "i8", []int{1000}, "{'descr': '<i8', 'fortran_order': False, 'shape': (1000,), }", 80},
		{Odd, "i8", []int{336}, "{'descr': '<i8', 'fortran_order': False, 'shape': (336,), }", 129},
		{Patchable, "u1", []int{599, 16}, "{'descr': '|u1', 'fortran_order': False, 'shape': (599, 16), }", 192},
	} {
		b, err := AppendHeader(nil, c.dialect, c.dtype, c.shape...)
		require.NoError(t, err)
		require.Len(t, b, c.length, c.want)
		require.Equal(t, c.want, strings.TrimRight(string(b[10:]), " \n"))
		require.Equal(t, byte('\n'), b[len(b)-1])
		h, err := ReadHeader(bytes.NewReader(b))
		require.NoError(t, err)
		require.Equal(t, c.dtype, h.DType)
		require.Equal(t, fmt.Sprint(c.shape), fmt.Sprint(h.Shape))
		require.EqualValues(t, len(b), h.Offset)
	}
}

func TestHeaderLengths(t *testing.T) {
	for _, version := range []byte{1, 2} {
		for _, length := range []int{80, 96, 128, 129, 192, 4096} {
			text := "{'descr':'<f4', 'fortran_order':False, 'shape':(1,) }"
			text += strings.Repeat(" ", length-10-2*int(version-1)-len(text)-1) + "\n"
			a, err := Read(bytes.NewReader(file(version, text, 0, 0, 0x80, 0x3f)))
			require.NoError(t, err)
			require.Equal(t, []float64{1}, a.Float64s())
		}
	}
}

func TestHeaderOfObjects(t *testing.T) {
	b := file(1, head("|O", "False", "(40,)"), 0x80, 4)
	h, err := ReadHeader(bytes.NewReader(b))
	require.NoError(t, err)
	require.Equal(t, Header{DType: Object, Shape: []int{40}, Offset: int64(len(b) - 2)}, h)
	require.EqualValues(t, 40, h.Len())
	require.Zero(t, h.ItemSize())
	_, err = h.Bytes()
	require.EqualError(t, err, `npy: unsupported type "|O"`)
}

func TestAppendHeaderRefuses(t *testing.T) {
	for want, c := range map[string]struct {
		dtype string
		shape []int
	}{
		`npy: unsupported type "c8"`:              {"c8", nil},
		"npy: shape [3 -1] has a negative length": {"f4", []int{3, -1}},
		"npy: header of 84086 bytes, limit 65535": {"f4", make([]int, 28000)},
	} {
		_, err := AppendHeader(nil, NumPy, c.dtype, c.shape...)
		require.EqualError(t, err, want)
	}
	b, err := AppendHeader([]byte("x"), NumPy, "f4", math.MaxInt)
	require.NoError(t, err)
	require.Len(t, b, 129)
}

func FuzzHeader(f *testing.F) {
	f.Add(file(1, head("<f4", "False", "(1,)"), 1, 2, 3, 4))
	f.Add(file(2, head("|O", "False", "(1, 2)")))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ReadHeader(bytes.NewReader(b))
		if err != nil {
			return
		}
		require.LessOrEqual(t, h.Offset, int64(len(b)))
		if n, err := h.Bytes(); err == nil {
			require.Equal(t, n, h.Len()*int64(h.ItemSize()))
		}
	})
}
