package kernel

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
)

func TestCheckOffsets(t *testing.T) {
	for _, c := range []struct {
		off               []int64
		n, total, longest int64
	}{
		{[]int64{0}, 0, 0, 0}, {[]int64{0, 0, 0}, 2, 0, 0}, {[]int64{0, 3, 3, 10}, 3, 10, 7},
	} {
		n, total, longest, err := CheckOffsets(c.off)
		require.NoError(t, err)
		require.Equal(t, []int64{c.n, c.total, c.longest}, []int64{n, total, longest})
	}
	for want, off := range map[string][]int64{
		"kernel: offsets: operand entry 0: no entries: an empty axis has the single entry 0 (got 0, want 1)": nil,
		"kernel: offsets: operand entry 0: does not start at 0 (got 2, want 0)":                              {2, 3},
		"kernel: offsets: operand entry 2: is less than the entry before (got 2, want 3)":                    {0, 3, 2, 1},
		"kernel: offsets: operand entry 1: is less than the entry before (got -1, want 0)":                   {0, -1},
	} {
		_, _, _, err := CheckOffsets(off)
		require.EqualError(t, err, want)
		require.ErrorIs(t, err, backend.ErrArgument)
	}
}

func TestNewOffsets(t *testing.T) {
	d, s := stream()
	b := &toyBuffer{d: d, mem: make([]byte, 40)}
	o, err := NewOffsetsAt(s, b, 16, []int64{0, 2, 7})
	require.NoError(t, err)
	require.Equal(t, Offsets{View: backend.NewView(b, 16, backend.I64, 3), N: 2, Total: 7, Max: 5, checked: true}, o)
	require.EqualValues(t, 7, binary.LittleEndian.Uint64(b.mem[32:]))
	for at, want := range map[int64]string{
		-8:        "kernel: offsets: byte offset is negative or no multiple of the element size (got -8, want 8)",
		4:         "kernel: offsets: byte offset is negative or no multiple of the element size (got 4, want 8)",
		24:        "kernel: offsets: past the end of their buffer (got 24, want 16)",
		1<<63 - 8: "kernel: offsets: past the end of their buffer (got 24, want 0)",
	} {
		_, err := NewOffsetsAt(s, b, at, []int64{0, 2, 7})
		require.EqualError(t, err, want)
		require.ErrorIs(t, err, backend.ErrArgument)
	}
	_, err = NewOffsets(s, b, []int64{0, 2, 1})
	require.ErrorIs(t, err, backend.ErrArgument)
	b.n, b.mem = 40, nil // the upload fails
	_, err = NewOffsets(s, b, []int64{0})
	require.ErrorIs(t, err, errRange)
}

func TestDeviceOffsets(t *testing.T) {
	d, _ := stream()
	v := view(d, backend.I64, 4)
	require.Equal(t, Offsets{View: v, N: 3, Total: 100, Max: 60, checked: true}, DeviceOffsets(v, 100, 60))
}
