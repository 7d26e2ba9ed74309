package metal

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/metal/internal/sim"
)

// smallCeilings does next to nothing: the simulator takes about a microsecond a thread.
var smallCeilings = ceilingPlan{groups: 2, repeat: 4, slice: time.Microsecond, tries: 2, bytes: 1 << 16}

func ceilingNames(c []backend.Ceiling) (names []string) {
	for _, x := range c {
		names = append(names, x.Name)
	}
	return names
}

func TestCeilingsInTheSimulator(t *testing.T) {
	b, _ := simulated(t, sim.Shuffled)
	d := open(t, b)
	got, err := d.(*device).ceilings(context.Background(), smallCeilings)
	require.NoError(t, err)
	require.Equal(t, []string{"fma_f32", "max_f32", "dot_bf16", "dot_f8", "read", "copy", "launch"}, ceilingNames(got))
	for _, c := range got {
		require.Positive(t, c.Value, c.Name)
		require.NotEmpty(t, c.Note)
	}
	require.NoError(t, d.Close())
}

func TestCeilingsGiveBackWhatTheyTake(t *testing.T) {
	c := one()
	c.Devices[0].NoSIMD = true
	b, rt := faked(c)
	d := open(t, b)
	got, err := d.(*device).ceilings(context.Background(), smallCeilings)
	require.NoError(t, err)
	require.Equal(t, []string{"fma_f32", "max_f32", "read", "copy", "launch"}, ceilingNames(got))
	require.Zero(t, d.Memory().Live)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = d.(*device).ceilings(ctx, smallCeilings)
	require.ErrorIs(t, err, context.Canceled)
	rt.SetCommandError(2)
	_, err = d.(*device).ceilings(context.Background(), smallCeilings)
	var e *backend.DriverError
	require.ErrorAs(t, err, &e)
	require.Equal(t, "ceiling_fma_f32", e.Call)
	require.Zero(t, d.Memory().Live)
	require.NoError(t, d.Close())
	settled(t, rt)
	_, err = d.(*device).Ceilings(context.Background())
	require.ErrorIs(t, err, backend.ErrClosed)
}
