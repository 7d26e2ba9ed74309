package cuda

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/harness"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/cuda/driver"
	"github.com/likbench/likbench/cuda/driver/fake"
)

// life is everything a user does, on one device: open, transfer, launch, time, record, replay, close. It stops at
// the first failure and closes what it opened.
func life(b backend.Backend) (err error) {
	dev, err := b.Open(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	s, err := dev.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	other, err := dev.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, other.Close()) }()
	k, in := kernel.Find("softmax_f32")
	ops, err := harness.Build(k, in, k.Cases()[1], s, 1, harness.Layout{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ops.Free()) }()
	p, err := k.PrepareAny(s, ops.Args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	e, err := s.Record()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	g, err := s.(backend.GraphCapturer).Capture(func() error { return p.LaunchAny(ops.Args) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	h, err := dev.(backend.PinnedAllocator).AllocPinned(64)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Free()) }()
	for _, step := range []func() error{
		func() error { return p.LaunchAny(ops.Args) },
		func() error { return g.Replay(s) },
		func() error { return g.Replay(other) },
		func() error { return other.Wait(e) },
		func() error { return dev.(backend.CacheFlusher).FlushCaches(s) },
		func() error { _, err := e.Elapsed(e); return err },
		other.Sync,
		s.Sync,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	_, err = ops.Outputs()
	return err
}

// methods are the calls that can fail: all but those that only ask.
var methods = []string{"DeviceCount", "DeviceGet", "DeviceName", "DeviceUUID", "DeviceAttribute", "DeviceTotalMem", "Version",
	"PrimaryRetain", "Push", "MemInfo", "MemAlloc", "MemFree", "HostAlloc", "HostFree", "HostPointer", "CopyIn", "CopyOut",
	"Fill", "StreamCreate", "StreamDestroy", "StreamSync", "StreamWait", "EventCreate", "EventDestroy", "EventRecord",
	"EventSync", "EventElapsed", "ModuleLoad", "ModuleFunction", "Launch", "CaptureBegin", "CaptureEnd", "GraphInstantiate",
	"GraphLaunch", "GraphExecDestroy", "GraphDestroy"}

// TestEveryCallFails makes every driver call fail, the first time, the second, and so on: the failure comes out as
// a typed error, contexts are put back, and nothing stays behind that the driver would still have given back.
func TestEveryCallFails(t *testing.T) {
	require.NoError(t, life(onFake(fake.New(fake.Hopper(0)))))
	for _, m := range methods {
		t.Run(m, func(t *testing.T) {
			for skip := range 40 {
				d := fake.New(fake.Hopper(0))
				b := onFake(d)
				d.Fail(m, driver.InvalidValue, skip, 1)
				err := life(b)
				if d.Calls(m) <= skip {
					require.NoError(t, err)
					return
				}
				if m == "Push" && err == nil {
					continue // at the release of scratch, which cannot fail: the stream's Close makes it good
				}
				var failed *backend.DriverError
				require.ErrorAs(t, err, &failed, "call %d", skip)
				require.Equal(t, 1, failed.Code)
				c := d.Counts()
				require.Equal(t, c.Pushes-b2i(m == "Push"), c.Pops, "call %d: contexts put back", skip)
				if m == "MemFree" || m == "HostFree" || m == "GraphDestroy" || m == "GraphExecDestroy" || m == "Push" {
					continue // what was to be given back was not
				}
				require.Zero(t, c.Buffers+c.Host+c.Graphs, "call %d: %+v", skip, c)
				require.LessOrEqual(t, c.Streams+c.Events, b2i(m == "StreamDestroy" || m == "EventDestroy"))
				require.Zero(t, c.Contexts, "call %d", skip)
			}
		})
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestDeviceLost: after a fault every call says so, closing works, and the device can be opened again.
func TestDeviceLost(t *testing.T) {
	d := fake.New(fake.Hopper(0))
	b := onFake(d)
	dev, err := b.Open(0)
	require.NoError(t, err)
	s, err := dev.NewStream()
	require.NoError(t, err)
	k, in := kernel.Find("rms_norm_bf16")
	ops, err := harness.Build(k, in, k.Cases()[1], s, 1, harness.Layout{})
	require.NoError(t, err)
	p, err := k.PrepareAny(s, ops.Args)
	require.NoError(t, err)
	require.NoError(t, p.LaunchAny(ops.Args))
	d.Lose("StreamSync", driver.IllegalAddress)
	err = s.Sync()
	require.EqualError(t, err, "cuda: cuStreamSynchronize after rms_norm_bf16/fake: CUDA_ERROR_ILLEGAL_ADDRESS (700)")
	require.ErrorIs(t, err, backend.ErrDeviceLost)
	require.ErrorIs(t, p.LaunchAny(ops.Args), backend.ErrDeviceLost)
	_, err = dev.Alloc(1)
	require.ErrorIs(t, err, backend.ErrDeviceLost)
	_, err = s.(backend.GraphCapturer).Capture(func() error { return nil })
	require.ErrorIs(t, err, backend.ErrDeviceLost)
	require.NoError(t, p.Close())
	require.NoError(t, ops.Free())
	require.NoError(t, s.Close())
	require.NoError(t, dev.Close())
	require.Zero(t, d.Counts().Contexts)
	d.Heal()
	require.NoError(t, life(b), "reopened")
}

// TestAllocErrors: the three refusals, and memory that others give back in time.
func TestAllocErrors(t *testing.T) {
	d := fake.New(fake.Device{Name: "small", Major: 8, Minor: 6, Units: 10, Memory: 1 << 30})
	dev, err := onFake(d).Open(0, backend.WithBudget(3<<29))
	require.NoError(t, err)
	_, err = dev.Alloc(2 << 30)
	require.ErrorIs(t, err, backend.ErrBudget)
	_, err = dev.Alloc(1<<30 + 1)
	require.ErrorIs(t, err, backend.ErrTooLarge)
	require.EqualError(t, err, "cuda: alloc 1.0 GiB: larger than the device (live 0 B, budget 1.5 GiB of 1.0 GiB)")
	d.Devices[0].Used = 1 << 29
	_, err = dev.Alloc(600 << 20)
	require.ErrorIs(t, err, backend.ErrOutOfMemory)
	var a *backend.AllocError
	require.ErrorAs(t, err, &a)
	require.Zero(t, dev.Memory().Live)

	m, err := dev.Alloc(100 << 20)
	require.NoError(t, err)
	require.NoError(t, m.Free())
	require.Positive(t, dev.Memory().Pooled)
	d.Devices[0].Used = 1<<30 - 10<<20 - dev.Memory().Pooled
	m, err = dev.Alloc(60 << 20)
	require.NoError(t, err, "the pool gives back what it keeps before it refuses")
	require.NoError(t, m.Free())
	require.NoError(t, dev.Close())
}

// TestDriverTooOld: optional functions that are missing make variants unsupported, not crashes.
func TestDriverTooOld(t *testing.T) {
	d := fake.New(fake.Hopper(0))
	d.Lacks = []driver.Feature{driver.LaunchEx, driver.TensorMaps, driver.Graphs, driver.SharedOpt}
	b := onFake(d)
	vs := b.variants()
	vs[0].stages[0].shared = 100 << 10
	vs[1].stages[0].maps = []func(*backend.Call, *driver.TensorMap){nil}
	vs[2].stages[0].shared = 300 << 10
	vs[3].binding.Requires = []string{"sm_100a"}
	dev, err := b.Open(0)
	require.NoError(t, err)
	for i, reason := range []string{"driver lacks cuFuncSetAttribute", "driver lacks cuTensorMapEncodeTiled",
		"needs 300.0 KiB of shared memory in a block, the device has 227.0 KiB", "needs sm_100a, the device has compute capability 9.0"} {
		_, err := dev.Load(vs[i].binding.Kernel, "fake")
		require.ErrorIs(t, err, backend.ErrUnsupported)
		require.EqualError(t, err, fmt.Sprintf("cuda: %s/fake: unsupported: %s", vs[i].binding.Kernel, reason))
	}
	s, err := dev.NewStream()
	require.NoError(t, err)
	_, err = s.(backend.GraphCapturer).Capture(func() error { return nil })
	require.ErrorIs(t, err, backend.ErrUnsupported)
	require.NoError(t, s.Close())
	require.NoError(t, dev.Close())
}

// TestObjectsBroken: a folder of objects that is cut short or does not match its manifest is a typed refusal or an
// error with the file's name, never a crash.
func TestObjectsBroken(t *testing.T) {
	open := func(b *cuda) error {
		dev, err := b.Open(0)
		require.NoError(t, err)
		_, err = dev.Load("topk", "fake")
		require.NoError(t, dev.Close())
		return err
	}
	old := fake.New(fake.Device{Major: 10, Units: 1, Memory: 1 << 30})
	b := onFake(old)
	b.objects = fakeObjects(b.variants(), "sm_80", "sm_90a")
	require.EqualError(t, open(b), "cuda: topk/fake: unsupported: no object of fake for compute capability 10.0")
	b.objects = fakeObjects(nil, "compute_80")
	require.EqualError(t, open(b), "cuda: object fake.compute_80.gz has no entry topk_fake")
	b.objects = fakeObjects(b.variants(), "compute_80")
	old.Fail("ModuleLoad", driver.UnsupportedPTX, 0, 0)
	require.EqualError(t, open(b), "cuda: topk/fake: unsupported: object fake.compute_80.gz: driver too old for this PTX")
	old.Heal()
	m, err := b.objects.manifest()
	require.NoError(t, err)
	m.Sources[0].Objects[0].SHA256 = "0123456789abcdef"
	require.ErrorContains(t, open(b), "cuda: object fake.compute_80.gz: hash ")
	m.Sources = nil
	require.ErrorIs(t, open(b), backend.ErrUnsupported)
}

// TestStatusWord: a data error surfaces at the Sync of the stream that saw it, once, with kernel, operand and index;
// one found in a replay on another stream surfaces there.
func TestStatusWord(t *testing.T) {
	d := fake.New(fake.Hopper(0))
	dev, err := onFake(d).Open(0)
	require.NoError(t, err)
	s, err := dev.NewStream()
	require.NoError(t, err)
	o, err := dev.NewStream()
	require.NoError(t, err)
	k, in := kernel.Find("hardest_negative_loss_f32")
	bad := k.Cases()[0]
	for _, c := range k.Cases() {
		if c.Faults {
			bad = c
		}
	}
	require.True(t, bad.Faults, "the kernel declares a case with wrong data")
	ops, err := harness.Build(k, in, bad, s, 1, harness.Layout{})
	require.NoError(t, err)
	p, err := k.PrepareAny(s, ops.Args)
	require.NoError(t, err)
	require.NoError(t, p.LaunchAny(ops.Args))
	require.NoError(t, o.Sync())
	err = s.Sync()
	var a *backend.ArgumentError
	require.ErrorAs(t, err, &a)
	require.Equal(t, "hardest_negative_loss", a.Kernel)
	require.Equal(t, "Score", a.Operand)
	require.NoError(t, s.Sync(), "reported once")

	g, err := s.(backend.GraphCapturer).Capture(func() error { return p.LaunchAny(ops.Args) })
	require.NoError(t, err)
	require.NoError(t, g.Replay(o))
	require.Equal(t, a, o.Sync(), "a replay's data error belongs to the stream that replayed")
	require.NoError(t, o.Sync())
	require.NoError(t, s.Sync())
	require.NoError(t, g.Close())
	require.ErrorIs(t, g.Close(), backend.ErrClosed)
	require.ErrorIs(t, g.Replay(s), backend.ErrClosed)
	require.NoError(t, p.Close())
	require.NoError(t, ops.Free())
	require.NoError(t, s.Close())
	require.NoError(t, o.Close())
	require.NoError(t, dev.Close())
}
