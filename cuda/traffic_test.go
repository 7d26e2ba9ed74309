package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/cuda/driver"
	"github.com/likbench/likbench/cuda/driver/fake"
)

// TestTraffic on the fake: every failure gives the buffers back.
func TestTraffic(t *testing.T) {
	card := fake.Hopper(0)
	card.Memory = 1 << 28
	api := fake.New(card)
	dev, err := New(WithDriver(func() (driver.API, error) { return api, nil })).Open(0)
	require.NoError(t, err)
	s, err := dev.NewStream()
	require.NoError(t, err)
	m := dev.(backend.TrafficMeter)
	for _, c := range [][2]int64{{0, 0}, {1 << 16, 0}, {1 << 16, 1 << 10}, {16, 1 << 16}} {
		tr, err := m.NewTraffic(s, c[0], c[1], 2)
		require.NoError(t, err)
		require.NoError(t, tr.Launch())
		require.NoError(t, s.Sync())
		require.NoError(t, tr.Close())
	}
	for i, call := range []string{"Fill", "ModuleFunction", "MemAlloc"} {
		api.Fail(call, driver.InvalidValue, 0, 1)
		_, err := m.NewTraffic(s, 1<<(20+i), 1<<20, 2) // larger each time: nothing pooled fits
		require.Error(t, err, call)
	}
	_, err = m.NewTraffic(s, 1, -1, 1)
	require.ErrorIs(t, err, backend.ErrArgument)
	require.Zero(t, dev.Memory().Buffers)
	require.NoError(t, s.Close())
	require.NoError(t, dev.Close())
}
