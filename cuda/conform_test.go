package cuda

import (
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/conform"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/cuda/driver"
	"github.com/likbench/likbench/internal/testneed"
)

// The tests of this file need a device. Compiled with go test -c they run on a machine without Go; -test.short is
// for sanitizers, which are slow.

// maxWork leaves out cases whose float64 reference would take most of a second.
const maxWork = 5e7

// TestConform runs the suite on the first device.
func TestConform(t *testing.T) {
	conform.Run(t, sanitized(t, widely(t, driver.Open), widely))
}

// onDevice opens the first device, or skips.
func onDevice(t *testing.T) backend.Device {
	dev, err := New().Open(0)
	if err != nil {
		require.ErrorIs(t, err, backend.ErrUnavailable)
		testneed.Skip(t, "cuda", err.Error())
	}
	return dev
}

// TestDeviceGoroutines: what TestGoroutines does on the fake, on the device: the bits of a single goroutine, no
// error 201, a bounded number of threads.
func TestDeviceGoroutines(t *testing.T) {
	dev := onDevice(t)
	k, in := kernel.Find("topk")
	if !bound(dev, in.Name) {
		t.Skip("topk has no variant on this device")
	}
	old := runtime.GOMAXPROCS(8)
	defer runtime.GOMAXPROCS(old)
	launches := 500
	if testing.Short() {
		launches = 20
	}
	single := topk(t, dev, k, in, 1)
	var wg sync.WaitGroup
	got := make([]map[string][]byte, 64)
	for i := range got {
		wg.Go(func() { got[i] = topk(t, dev, k, in, launches) })
	}
	wg.Wait()
	for i := range got {
		require.Equal(t, single, got[i], "goroutine %d", i)
	}
	require.NoError(t, dev.Close())
	require.Less(t, threads(t), 200)
}

func bound(dev backend.Device, instance string) bool {
	for _, b := range dev.Backend().Bindings() {
		if b.Kernel != instance {
			continue
		}
		if _, err := dev.Load(b.Kernel, b.Variant); err == nil {
			return true
		}
	}
	return false
}

// threads counts the threads of the process, 0 where that cannot be read.
func threads(t *testing.T) int {
	e, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Log(err)
	}
	return len(e)
}

// TestDeviceLaunch: a prepared launch allocates nothing, and a caller's own context stays current around it.
func TestDeviceLaunch(t *testing.T) {
	dev := onDevice(t)
	if !bound(dev, "rms_norm_f32") {
		t.Skip("rms_norm_f32 has no variant on this device")
	}
	require.NoError(t, dev.Close())
	r := newRMSNorm(t, New())
	api := r.dev.(*device).api
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	mine, s := api.PrimaryRetain(r.dev.(*device).card.handle)
	require.Equal(t, driver.Success, s)
	require.Equal(t, driver.Success, api.Push(mine))
	require.Zero(t, testing.AllocsPerRun(200, func() {
		if err := r.prepared.Launch(&r.args[0]); err != nil {
			t.Fatal(err)
		}
		if err := r.s.Sync(); err != nil {
			t.Fatal(err)
		}
	}))
	now, s := api.Current()
	require.Equal(t, driver.Success, s)
	require.Equal(t, mine, now)
	require.Equal(t, driver.Success, api.Pop())
	require.Equal(t, driver.Success, api.PrimaryRelease(r.dev.(*device).card.handle))
	r.close(t)
}

// TestDeviceProbe: the words that describe the device.
func TestDeviceProbe(t *testing.T) {
	dev := onDevice(t)
	i := dev.Info()
	require.True(t, strings.HasPrefix(i.UUID, "GPU-"), i.UUID)
	require.Positive(t, i.Units)
	require.Positive(t, i.Memory)
	require.Contains(t, i.Features, "sm_80")
	t.Logf("%+v", i)
	for _, f := range []string{"sm_80", "sm_89", "sm_90a", "fp8"} {
		if testneed.Has("cuda:" + f) {
			require.True(t, i.Has(f), "%s is promised", f)
		}
	}
	require.NoError(t, dev.Close())
}

// BenchmarkDeviceLaunch is a launch and its synchronisation from Go.
func BenchmarkDeviceLaunch(b *testing.B) {
	dev, err := New().Open(0)
	if err != nil || !bound(dev, "rms_norm_f32") {
		b.Skip("cuda: no device, or no variant of rms_norm_f32")
	}
	require.NoError(b, dev.Close())
	r := newRMSNorm(b, New())
	b.ReportAllocs()
	for b.Loop() {
		if err := r.prepared.Launch(&r.args[0]); err != nil {
			b.Fatal(err)
		}
		if err := r.s.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	r.close(b)
}
