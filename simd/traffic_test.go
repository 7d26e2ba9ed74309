package simd_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/simd"
)

func TestTraffic(t *testing.T) {
	d, err := simd.New(simd.WithWorkers(3)).Open(0)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	m := d.(backend.TrafficMeter)
	for _, c := range [][2]int64{{0, 0}, {1 << 16, 0}, {1 << 16, 1 << 16}, {1 << 16, 1 << 10}, {100, 1 << 15}} {
		tr, err := m.NewTraffic(s, c[0], c[1], 2)
		require.NoError(t, err)
		for range 3 {
			require.NoError(t, tr.Launch())
		}
		require.NoError(t, tr.Close())
	}
	_, err = m.NewTraffic(s, -1, 0, 1)
	require.ErrorIs(t, err, backend.ErrArgument)
	_, err = m.NewTraffic(nil, 1, 0, 1)
	require.ErrorIs(t, err, backend.ErrArgument)
	require.NoError(t, s.Close())
	require.NoError(t, d.Close())
}
