package kernel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
)

func TestStatusWordBits(t *testing.T) {
	require.EqualValues(t, uint64(1)<<60|2<<54|3<<40|(1<<40-1-5), StatusWord(1, 2, 3, 5))
	require.EqualValues(t, uint64(15)<<60|23<<54|MaxTag<<40, StatusWord(15, 23, MaxTag, 1<<40-1))
	require.Equal(t, StatusWord(1, 0, 0, 1<<40-1), StatusWord(1, 0, 0, math.MaxInt64), "indices beyond 2^40-1 stand for themselves")
	require.Equal(t, StatusWord(1, 0, 0, 0), StatusWord(1, 0, 0, -1))
	for _, tag := range []int{0, 1, MaxTag} {
		require.Equal(t, tag, StatusTag(StatusWord(15, 23, tag, 7)))
	}
}

// The maximum of words is the highest code, then operand, then tag, then the lowest index.
func TestStatusOrder(t *testing.T) {
	words := []uint64{0, StatusWord(1, 0, 0, 9), StatusWord(1, 0, 0, 8), StatusWord(1, 0, 1, 9), StatusWord(1, 1, 0, 9), StatusWord(2, 0, 0, 9)}
	require.IsIncreasing(t, words)
}

func TestStatusErrorRoundTrip(t *testing.T) {
	for _, c := range []struct {
		code, operand, tag int
		index, got         int64
		want               string
	}{
		{1, 0, 0, 0, 0, "kernel: toy_gain: operand X: first fault at element 0"},
		{2, 5, 77, 1 << 33, 1 << 33, "kernel: toy_gain: operand Y: second fault at element 8589934592"},
		{3, 6, MaxTag, 4, 4, "kernel: toy_gain: operand Sum: data error 3 at element 4"},
		{FaultOffsets, 1, 1, 2, 2, "kernel: toy_gain: operand Off: offset out of range or decreasing at element 2"},
		{FaultOffsets, 40, 1, 2, 2, "kernel: toy_gain: offset out of range or decreasing at element 2"},
		{1, 0, 0, 1<<40 - 2, 1<<40 - 2, "kernel: toy_gain: operand X: first fault at element 1099511627774"},
		{1, 0, 0, 1 << 40, 1<<40 - 1, "kernel: toy_gain: operand X: first fault at element 1099511627775"},
		{1, 0, 0, 1 << 62, 1<<40 - 1, "kernel: toy_gain: operand X: first fault at element 1099511627775"},
	} {
		err := StatusError(toyKernel, StatusWord(c.code, c.operand, c.tag, c.index))
		require.EqualError(t, err, c.want)
		require.ErrorIs(t, err, backend.ErrArgument)
		var a *backend.ArgumentError
		require.ErrorAs(t, err, &a)
		require.Equal(t, c.got, a.Got)
		require.Equal(t, "element", a.Axis)
	}
}
