package cuda

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/cuda/driver"
	"github.com/likbench/likbench/cuda/driver/fake"
)

func ceilingNames(c []backend.Ceiling) (names []string) {
	for _, x := range c {
		names = append(names, x.Name)
	}
	return names
}

// TestCeilings on the fake: each device has the ceilings of its features, once each, and a cancelled or failed
// measurement gives back what it took.
func TestCeilings(t *testing.T) {
	all := []string{"fma_f32", "fma_f64", "max_f32", "dot_bf16", "dot_f8", "read", "copy", "launch"}
	for _, c := range []struct {
		major, minor int
		want         []string
	}{
		{9, 0, all}, {8, 9, all},
		{8, 0, []string{"fma_f32", "fma_f64", "max_f32", "dot_bf16", "read", "copy", "launch"}},
	} {
		card := fake.Hopper(0)
		card.Major, card.Minor, card.Memory = c.major, c.minor, 1<<28
		d := fake.New(card)
		dev, err := New(WithDriver(func() (driver.API, error) { return d, nil })).Open(0)
		require.NoError(t, err)
		got, err := dev.(backend.CeilingMeter).Ceilings(context.Background())
		require.NoError(t, err)
		require.Equal(t, c.want, ceilingNames(got))
		for _, x := range got {
			require.Positive(t, x.Value, x.Name)
			require.NotEmpty(t, x.Note)
		}
		cancelled, cancel := context.WithCancel(context.Background())
		cancel()
		_, err = dev.(backend.CeilingMeter).Ceilings(cancelled)
		require.ErrorIs(t, err, context.Canceled)
		for _, m := range []string{"StreamCreate", "EventCreate", "ModuleFunction", "Launch", "MemAlloc", "Fill", "EventElapsed", "StreamSync"} {
			d.Fail(m, driver.InvalidValue, 0, 1)
			_, err = dev.(backend.CeilingMeter).Ceilings(context.Background())
			var failed *backend.DriverError
			require.ErrorAs(t, err, &failed, m)
		}
		require.Zero(t, d.Counts().Streams+d.Counts().Events+d.Counts().Buffers)
		require.NoError(t, dev.Close())
		_, err = dev.(backend.CeilingMeter).Ceilings(context.Background())
		require.ErrorIs(t, err, backend.ErrClosed)
	}
}

// TestDeviceCeilings logs the device's own.
func TestDeviceCeilings(t *testing.T) {
	dev := onDevice(t)
	got, err := dev.(backend.CeilingMeter).Ceilings(context.Background())
	require.NoError(t, err)
	for _, c := range got {
		t.Logf("%-9s %.4g %s (%s)", c.Name, c.Value, c.Unit, c.Note)
		require.Positive(t, c.Value)
	}
	require.NoError(t, dev.Close())
}
