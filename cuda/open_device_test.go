package cuda

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/cuda/driver"
	"github.com/likbench/likbench/internal/testneed"
)

// TestDeviceFirstKernel reports how long the driver takes to start and make a context, and
// how long we take from there to the first result. Only the order is checked: times belong
// to benchmarks.
func TestDeviceFirstKernel(t *testing.T) {
	start := time.Now()
	api, err := driver.Open()
	if err != nil {
		testneed.Skip(t, "cuda", err.Error())
	}
	initialised := time.Now()
	const d = driver.Device(0) // the driver's first
	_, s := api.PrimaryRetain(d)
	require.Zero(t, s)
	retained := time.Now()
	dev, err := New(WithDriver(func() (driver.API, error) { return api, nil })).Open(0)
	require.NoError(t, err)
	opened := time.Now()
	k, in := kernel.Find("topk")
	out := topk(t, dev, k, in, 1)
	done := time.Now()
	require.NotEmpty(t, out)
	t.Logf("library and cuInit %v, context %v; ours: open %v, stream to first result %v",
		initialised.Sub(start), retained.Sub(initialised), opened.Sub(retained), done.Sub(opened))
	require.NoError(t, dev.Close())
	require.Zero(t, api.PrimaryRelease(d))
	_, err = dev.Alloc(1)
	require.ErrorIs(t, err, backend.ErrClosed)
}
