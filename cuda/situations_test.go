package cuda

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/harness"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/cuda/driver"
	"github.com/likbench/likbench/cuda/driver/fake"
)

// firstUsable does what automatic choice does within one backend: the first device of Probe that opens.
func firstUsable(t *testing.T, b backend.Backend) (backend.Device, []string) {
	t.Helper()
	infos, err := b.Probe()
	require.NoError(t, err)
	var why []string
	for _, i := range infos {
		if i.Blocked != "" {
			why = append(why, i.Blocked)
			continue
		}
		d, err := b.Open(i.Ordinal)
		if err == nil {
			return d, why
		}
		require.ErrorIs(t, err, backend.ErrUnavailable)
		why = append(why, err.Error())
	}
	return nil, why
}

// TestFirstDeviceTaken: a shared machine whose first card is taken, full or prohibited. The second is used, nothing
// is left on the first, and a device asked for by number fails with its own reason.
func TestFirstDeviceTaken(t *testing.T) {
	for _, c := range []struct {
		name   string
		take   func(*fake.Device)
		reason string
	}{
		{"exclusive", func(d *fake.Device) { d.Mode, d.Refuse = driver.ModeExclusive, driver.DeviceUnavailable }, "device 0: device taken by another process"},
		{"full", func(d *fake.Device) { d.Used = d.Memory - 40<<20 }, "device 0: 40.0 MiB free of 128.0 GiB, needs 128.0 MiB"},
		{"prohibited", func(d *fake.Device) { d.Mode = driver.ModeProhibited }, "compute mode is prohibited"},
		{"too old", func(d *fake.Device) { d.Major, d.Minor = 7, 5 }, "compute capability 7.5, needs 8.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := fake.New(fake.Hopper(0), fake.Hopper(1))
			c.take(&d.Devices[0])
			b := onFake(d)
			dev, why := firstUsable(t, b)
			require.NotNil(t, dev)
			require.Len(t, why, 1)
			require.Contains(t, why[0], c.reason)
			require.Equal(t, 1, dev.Info().Ordinal)
			require.Equal(t, "GPU-fa000000-0000-0000-0000-000000000001", dev.Info().UUID)
			require.Zero(t, d.ContextsOn(0), "a card that is not used keeps no context")
			require.Equal(t, 1, d.ContextsOn(1))
			require.NoError(t, dev.Close())

			_, err := b.Open(0)
			require.ErrorIs(t, err, backend.ErrUnavailable)
			require.Contains(t, err.Error(), "cuda: unavailable: device 0: ")
			require.Contains(t, err.Error(), strings.TrimPrefix(c.reason, "device 0: "))

			c.take(&d.Devices[1])
			dev, why = firstUsable(t, b)
			require.Nil(t, dev)
			require.Len(t, why, 2, "both reasons are given")
			require.Zero(t, d.Counts().Contexts)
		})
	}
	_, err := onFake(fake.New(fake.Hopper(0))).Open(3)
	require.EqualError(t, err, "cuda: unavailable: no device 3, there are 1")
}

// TestGoroutines: many goroutines on one device, moved between threads, with garbage collections, while other
// contexts are used in between. The fake refuses a call on a thread without a context.
func TestGoroutines(t *testing.T) {
	old := runtime.GOMAXPROCS(8)
	defer runtime.GOMAXPROCS(old)
	d := fake.New(fake.Hopper(0), fake.Hopper(1))
	b := onFake(d)
	var devs [2]backend.Device
	for i := range devs {
		var err error
		devs[i], err = b.Open(i)
		require.NoError(t, err)
	}
	k, in := kernel.Find("topk")
	single := topk(t, devs[0], k, in, 1)
	var wg sync.WaitGroup
	got := make([]map[string][]byte, 64)
	for i := range got {
		wg.Go(func() { got[i] = topk(t, devs[i%2], k, in, 50) })
	}
	wg.Wait()
	for i := range got {
		require.Equal(t, single, got[i], "goroutine %d", i)
	}
	for _, dev := range devs {
		require.NoError(t, dev.Close())
	}
	c := d.Counts()
	require.Equal(t, c.Pushes, c.Pops)
	require.Zero(t, c.Contexts)
}

// topk launches the second case n times on a stream of its own and returns the outputs' bytes.
func topk(t *testing.T, dev backend.Device, k kernel.Info, in kernel.Instance, n int) map[string][]byte {
	s, err := dev.NewStream()
	check(t, err)
	ops, err := harness.Build(k, in, k.Cases()[1], s, 7, harness.Layout{})
	check(t, err)
	p, err := k.PrepareAny(s, ops.Args)
	check(t, err)
	for i := range n {
		check(t, p.LaunchAny(ops.Args))
		if i%16 == 0 {
			runtime.Gosched()
		}
		if i%40 == 39 {
			runtime.GC()
		}
	}
	check(t, s.Sync())
	out, err := ops.Outputs()
	check(t, err)
	check(t, p.Close())
	check(t, ops.Free())
	check(t, s.Close())
	return out
}

// check is require.NoError for goroutines that are not the test's.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
		runtime.Goexit()
	}
}

// TestCallersContext: a caller who keeps a context of his own current on a locked thread finds it there after each
// of our calls, those that fail included.
func TestCallersContext(t *testing.T) {
	d := fake.New(fake.Hopper(0))
	b := onFake(d)
	dev, err := b.Open(0)
	require.NoError(t, err)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	mine := d.NewContext(0)
	require.Equal(t, driver.Success, d.Push(mine))
	still := func(what string) {
		t.Helper()
		c, _ := d.Current()
		require.Equal(t, mine, c, "after %s", what)
	}
	_, err = b.Probe()
	require.NoError(t, err)
	still("probe")
	s, err := dev.NewStream()
	require.NoError(t, err)
	still("new stream")
	m, err := dev.Alloc(64)
	require.NoError(t, err)
	still("alloc")
	require.NoError(t, s.Upload(m, 0, make([]byte, 64)))
	still("upload")
	require.Error(t, s.Upload(m, 60, make([]byte, 64)))
	still("a refused upload")
	d.Fail("CopyOut", driver.InvalidValue, 0, 1)
	require.Error(t, s.Download(make([]byte, 4), m, 0))
	still("a failed download")
	e, err := s.Record()
	require.NoError(t, err)
	_, err = e.Elapsed(e)
	require.NoError(t, err)
	still("elapsed")
	require.NoError(t, e.Close())
	p, err := dev.Load("softmax_f32", "fake")
	require.NoError(t, err)
	still("load")
	require.ErrorIs(t, s.Launch(p, &backend.Call{Kernel: nil, NOperand: 1, Operands: [backend.MaxOperands]backend.View{{Buf: foreignBuffer{}}}}), backend.ErrArgument)
	still("a refused launch")
	require.NoError(t, s.Sync())
	require.NoError(t, m.Free())
	require.NoError(t, s.Close())
	still("close")
	require.NoError(t, dev.Close())
	still("device close")
	require.Equal(t, driver.Success, d.Pop())
}

type foreignBuffer struct{ backend.Buffer }

// TestShared: a device in the caller's context, on the caller's memory, leaves both alone.
func TestShared(t *testing.T) {
	d := fake.New(fake.Hopper(0))
	ctx := d.NewContext(0)
	dev, err := Share(d, 0, ctx)
	require.NoError(t, err)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	require.Equal(t, driver.Success, d.Push(ctx))
	address, st := d.MemAlloc(256)
	require.Equal(t, driver.Success, st)

	m, err := Borrow(dev, address, 256)
	require.NoError(t, err)
	require.Equal(t, address, AddressOf(m))
	require.Zero(t, dev.Memory().Live, "borrowed memory is the caller's")
	s, err := dev.NewStream()
	require.NoError(t, err)
	require.NoError(t, s.Upload(m, 1, []byte("shared")))
	got := make([]byte, 6)
	require.NoError(t, s.Download(got, m, 1))
	require.Equal(t, "shared", string(got))
	require.NoError(t, m.Free())
	require.ErrorIs(t, m.Free(), backend.ErrClosed)
	require.Zero(t, AddressOf(m))
	require.NoError(t, s.Close())
	require.NoError(t, dev.Close())

	require.Equal(t, 1, d.Counts().Contexts)
	require.Equal(t, 1, d.Counts().Buffers)
	require.Equal(t, driver.Success, d.MemFree(address))
	_, err = Share(d, 0, 0)
	require.ErrorIs(t, err, backend.ErrUnavailable)
	_, err = Borrow(dev, 0, 1)
	require.ErrorIs(t, err, backend.ErrArgument)
}

// TestCloseElsewhere: Close from another goroutine lets calls in progress finish; later ones are typed errors.
func TestCloseElsewhere(t *testing.T) {
	d := fake.New(fake.Hopper(0))
	dev, err := onFake(d).Open(0)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := dev.NewStream()
			for err == nil {
				err = s.Sync()
			}
			if !errors.Is(err, backend.ErrClosed) {
				t.Error(err)
			}
		})
	}
	for d.Calls("StreamSync") < 100 {
		runtime.Gosched()
	}
	require.NoError(t, dev.Close())
	wg.Wait()
	require.Zero(t, d.Counts().Contexts+d.Counts().Streams+d.Counts().Host)
	for _, err := range []error{
		func() error { _, err := dev.NewStream(); return err }(),
		func() error { _, err := dev.Load("topk", "fake"); return err }(),
		func() error { _, err := dev.(backend.PinnedAllocator).AllocPinned(1); return err }(),
		dev.Close(),
	} {
		require.ErrorIs(t, err, backend.ErrClosed)
	}
}

// TestPinned: page-locked memory is copied from directly, Go memory of every length through staging.
func TestPinned(t *testing.T) {
	d := fake.New(fake.Hopper(0))
	dev, err := onFake(d).Open(0)
	require.NoError(t, err)
	s, err := dev.NewStream()
	require.NoError(t, err)
	for _, n := range []int{1, 63, chunk - 1, chunk, chunk + 1, 2*chunk + 5, 5 * chunk} {
		m, err := dev.Alloc(int64(n))
		require.NoError(t, err)
		src := make([]byte, n)
		for i := range src {
			src[i] = byte(i * 31 / 7)
		}
		require.NoError(t, s.Upload(m, 0, src))
		got := make([]byte, n)
		require.NoError(t, s.Download(got, m, 0))
		require.True(t, bytes.Equal(src, got), "%d bytes", n)

		h, err := dev.(backend.PinnedAllocator).AllocPinned(int64(n))
		require.NoError(t, err)
		before := d.Calls("CopyOut")
		require.NoError(t, s.Download(h.Bytes(), m, 0))
		require.Equal(t, before+1, d.Calls("CopyOut"), "one copy, without staging")
		require.True(t, bytes.Equal(src, h.Bytes()))
		require.NoError(t, s.Upload(m, 0, h.Bytes()))
		require.NoError(t, h.Free())
		require.Nil(t, h.Bytes())
		require.ErrorIs(t, h.Free(), backend.ErrClosed)
		require.NoError(t, m.Free())
	}
	require.NoError(t, s.Close())
	require.NoError(t, dev.Close())
}
