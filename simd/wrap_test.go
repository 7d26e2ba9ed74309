package simd_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/simd"
)

func TestWrap(t *testing.T) {
	d, err := simd.New().Open(0)
	require.NoError(t, err)
	p := []byte{1, 2, 3, 4}
	b, err := d.(backend.MemoryWrapper).Wrap(p)
	require.NoError(t, err)
	require.EqualValues(t, 4, b.Len())
	require.Same(t, d, b.Device())
	s, err := d.NewStream()
	require.NoError(t, err)
	got := make([]byte, 2)
	require.NoError(t, s.Download(got, b, 1))
	require.NoError(t, s.Sync())
	require.Equal(t, []byte{2, 3}, got)
	require.Zero(t, d.Memory().Live)
	require.NoError(t, s.Close())
	require.Error(t, d.Close(), "a wrapped buffer is to be freed as any other")
	require.NoError(t, b.Free())
	require.Equal(t, []byte{1, 2, 3, 4}, p)
	_, err = d.(backend.MemoryWrapper).Wrap(p)
	require.ErrorIs(t, err, backend.ErrClosed)
}
