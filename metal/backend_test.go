package metal

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	_ "github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/metal/mtl"
	"github.com/likbench/likbench/metal/mtl/fake"
)

// faked is a backend over the message driver and a run time in memory, which computes nothing.
func faked(c fake.Config, opts ...Option) (*Backend, *fake.Runtime) {
	rt := fake.New(c)
	return New(append([]Option{WithDriver(mtl.New(rt)), withAvailable(func() int64 { return 0 })}, opts...)...), rt
}

func one() fake.Config { return fake.Config{Devices: []fake.Device{{Name: "Apple M"}}} }

func open(t testing.TB, b *Backend, opts ...backend.Option) backend.Device {
	t.Helper()
	d, err := b.Open(0, opts...)
	require.NoError(t, err)
	return d
}

func newStream(t testing.TB, d backend.Device) *stream {
	t.Helper()
	s, err := d.NewStream()
	require.NoError(t, err)
	return s.(*stream)
}

// softmaxArgs are operands of a small launch.
func softmaxArgs(t testing.TB, d backend.Device) *kernels.SoftmaxArgs {
	t.Helper()
	b, err := d.Alloc(256)
	require.NoError(t, err)
	v := backend.NewView(b, 0, backend.F32, 4, 8)
	return &kernels.SoftmaxArgs{X: v, Y: v}
}

// settled requires that pools balance and that nothing was used after its release.
func settled(t testing.TB, rt *fake.Runtime) {
	t.Helper()
	c := rt.Counts()
	require.Equal(t, c.Pushes, c.Pops)
	require.Zero(t, c.Unpooled)
	require.Zero(t, c.WrongPops)
	require.Zero(t, c.Overreleases)
}

// Situation: no window server. The default device is nil although the list holds one.
func TestDeviceFromTheList(t *testing.T) {
	b, rt := faked(fake.Config{NoDefault: true, Devices: []fake.Device{{Name: "only"}}})
	infos, err := b.Probe()
	require.NoError(t, err)
	require.Len(t, infos, 1)
	require.Equal(t, "only", infos[0].Name)
	require.Equal(t, "fake, from the device list, as the system names no default device", infos[0].Driver)
	require.NoError(t, open(t, b).Close())
	settled(t, rt)

	b, _ = faked(fake.Config{NoDefault: true, Devices: []fake.Device{{Name: "integrated", LowPower: true}, {Name: "discrete"}}})
	infos, err = b.Probe()
	require.NoError(t, err)
	require.Equal(t, []string{"discrete", "integrated"}, []string{infos[0].Name, infos[1].Name})
	d := open(t, b)
	require.Equal(t, "discrete", d.Info().Name)
	require.NoError(t, d.Close())

	b, _ = faked(fake.Config{Devices: []fake.Device{{Name: "integrated", LowPower: true}, {Name: "discrete"}}})
	infos, err = b.Probe()
	require.NoError(t, err)
	require.Equal(t, []string{"integrated", "discrete"}, []string{infos[0].Name, infos[1].Name}, "the system's default comes first")
	require.Equal(t, "fake, default device", infos[0].Driver)
}

func TestNoDevice(t *testing.T) {
	b, _ := faked(fake.Config{})
	_, err := b.Probe()
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.EqualError(t, err, "metal: unavailable: the system names no default device and lists none")
	_, err = b.Open(0)
	require.ErrorIs(t, err, backend.ErrUnavailable)

	b, _ = faked(one())
	_, err = b.Open(1)
	require.EqualError(t, err, "metal: unavailable: there is no device 1, only 1")
}

func TestFrameworkDoesNotLoad(t *testing.T) {
	calls := 0
	b := New(withOpen(func() (mtl.Driver, error) {
		calls++
		return nil, unavailable("the Metal framework does not load", errors.New("image not found"))
	}))
	_, err := b.Probe()
	require.EqualError(t, err, "metal: unavailable: the Metal framework does not load: image not found")
	_, err = b.Open(0)
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.Equal(t, 2, calls, "tried again")
}

// TestAutoGoesOn: without Metal auto takes the next backend and says why.
func TestAutoGoesOn(t *testing.T) {
	d, decisions, err := backend.Select("auto")
	require.NoError(t, err)
	defer d.Close()
	require.NotEmpty(t, decisions)
	require.Equal(t, "metal", decisions[0].Backend)
	if decisions[0].Chosen {
		require.Equal(t, "darwin", runtime.GOOS)
		return
	}
	require.NotEqual(t, "metal", d.Info().Backend)
	if runtime.GOOS != "darwin" {
		require.Contains(t, decisions[0].Reason, "Metal exists on macOS only")
	}
}

// TestPoolsAndObjects: launches and synchronisations from goroutines that change threads leave nothing behind.
func TestPoolsAndObjects(t *testing.T) {
	b, rt := faked(one())
	d := open(t, b)
	a := softmaxArgs(t, d)
	_, err := d.Load("softmax_f32", "simdgroup")
	require.NoError(t, err)
	live := rt.Counts().Live
	const goroutines, launches = 8, 10000
	var wg sync.WaitGroup
	errs := make(chan error, goroutines)
	for range goroutines {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs <- func() error {
				s, err := d.NewStream()
				if err != nil {
					return err
				}
				p, err := kernels.Softmax.Prepare(s, a)
				if err != nil {
					return err
				}
				for i := range launches / goroutines {
					if err := p.Launch(a); err != nil {
						return err
					}
					runtime.Gosched()
					if i%3 == 0 {
						if err := s.Sync(); err != nil {
							return err
						}
					}
				}
				return errors.Join(p.Close(), s.Sync(), s.Close())
			}()
		}()
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, launches, rt.Counts().Dispatches)
	if fake.ThreadsKnown {
		settled(t, rt)
	}
	// The streams' status buffers went to the pool or, freed while another stream worked, back to the system.
	require.LessOrEqual(t, rt.Counts().Live, live+goroutines)
	require.NoError(t, a.X.Buf.Free())
	require.NoError(t, d.Close())
}

func TestBudgetOfSharedMemory(t *testing.T) {
	small := withAvailable(func() int64 { return 1 << 20 })
	b, _ := faked(one(), small)
	d := open(t, b)
	require.True(t, d.Info().Shared, "the row says so")
	require.EqualValues(t, 1<<20, d.Memory().Budget)
	_, err := d.Alloc(1<<20 + 1)
	require.ErrorIs(t, err, backend.ErrBudget)
	require.NoError(t, d.Close())

	d = open(t, b, backend.WithBudget(4096))
	require.EqualValues(t, 4096, d.Memory().Budget, "an explicit budget wins")
	require.NoError(t, d.Close())

	d = open(t, b, backend.WithBudget(-1))
	_, err = d.Alloc(1)
	require.ErrorIs(t, err, backend.ErrBudget, "so does one that is used up")
	require.NoError(t, d.Close())

	b, _ = faked(fake.Config{Devices: []fake.Device{{WorkingSet: 1 << 19}}}, small)
	d = open(t, b)
	require.EqualValues(t, 1<<19, d.Memory().Budget, "no more than the system recommends")
	require.NoError(t, d.Close())
	if runtime.GOOS == "linux" || runtime.GOOS == "darwin" {
		require.Positive(t, availableMemory())
	}
}

func TestAllocationFailures(t *testing.T) {
	c := one()
	c.BufferBytes, c.Devices[0].MaxBuffer = 1<<16, 1<<20
	b, _ := faked(c)
	d := open(t, b)
	_, err := d.Alloc(1<<20 + 1)
	require.ErrorIs(t, err, backend.ErrTooLarge)
	_, err = d.Alloc(1 << 17)
	require.ErrorIs(t, err, backend.ErrOutOfMemory)
	x, err := d.Alloc(1 << 15)
	require.NoError(t, err)
	require.NoError(t, x.Free())
	require.EqualValues(t, 1<<15, d.Memory().Pooled)
	y, err := d.Alloc(1 << 16)
	require.NoError(t, err, "the pool gives back what it keeps")
	require.NoError(t, y.Free())
	require.NoError(t, d.Close())
}

func TestCapabilityDecides(t *testing.T) {
	load := func(c fake.Config, instance, variant string) error {
		b, _ := faked(c)
		d := open(t, b)
		defer d.Close()
		_, err := d.Load(instance, variant)
		return err
	}
	old := one()
	old.Devices[0].NoSIMD = true
	for _, c := range []struct {
		config            fake.Config
		instance, variant string
		reason            string
	}{
		{old, "maxsim_bf16", "simdgroup", "needs simd_reduction: the GPU has no simdgroup reductions (needs family Apple7 or Mac2)"},
		{old, "softmax_f32", "naive", ""},
		{one(), "rbf_matmul_f64", "naive", "needs f64: the Metal Shading Language has no double type"},
		{one(), "nosuch", "naive", "not compiled in"},
		{fake.Config{Devices: one().Devices, Width: 16}, "maxsim_f32", "simdgroup",
			"written for simdgroups of 32 threads, the pipeline of maxsim_f32_simdgroup has 16"},
		{fake.Config{Devices: one().Devices, MaxThreads: 64}, "maxsim_f32", "simdgroup",
			"needs threadgroups of 256 threads, the pipeline of maxsim_f32_simdgroup_offsets allows 64"},
	} {
		err := load(c.config, c.instance, c.variant)
		if c.reason == "" {
			require.NoError(t, err)
			continue
		}
		var u *backend.UnsupportedError
		require.ErrorAs(t, err, &u)
		require.Equal(t, c.reason, u.Reason)
		require.ErrorIs(t, err, backend.ErrUnsupported)
	}
	err := load(fake.Config{Devices: one().Devices, CompileError: "lateinteraction/winner.h:12: error"}, "maxsim_f32", "naive")
	require.ErrorContains(t, err, "metal: compile lateinteraction:")
	require.ErrorContains(t, err, "winner.h:12")
	var e *backend.DriverError
	require.ErrorAs(t, err, &e)
	require.Error(t, load(fake.Config{Devices: one().Devices, NoFunction: true}, "maxsim_f32", "naive"))
}

func TestFailedCommandBufferNamesItsKernels(t *testing.T) {
	b, rt := faked(one())
	d := open(t, b)
	s := newStream(t, d)
	a := softmaxArgs(t, d)
	rt.SetCommandError(mtl.CommandTimeout)
	require.NoError(t, kernels.Softmax.Launch(s, a))
	err := s.Sync()
	var e *backend.DriverError
	require.ErrorAs(t, err, &e)
	require.Equal(t, "softmax_f32/simdgroup", e.Call)
	require.Equal(t, mtl.CommandTimeout, e.Code)
	require.NoError(t, s.Sync(), "told once")

	rt.SetCommandError(mtl.CommandOutOfMemory)
	require.NoError(t, kernels.Softmax.Launch(s, a))
	require.ErrorIs(t, s.Sync(), backend.ErrOutOfMemory)

	rt.SetCommandError(mtl.CommandPageFault)
	require.NoError(t, kernels.Softmax.Launch(s, a))
	require.ErrorIs(t, s.Download(make([]byte, 4), a.X.Buf, 0), backend.ErrDeviceLost, "a failed download says so")
	_, err = d.Alloc(16)
	require.ErrorIs(t, err, backend.ErrDeviceLost, "the device is unusable")
	rt.SetCommandError(0)
	require.ErrorIs(t, s.Sync(), backend.ErrDeviceLost)
	require.ErrorContains(t, d.Close(), "1 buffers still live")
	settled(t, rt)
}

func TestStatusBecomesAnArgumentError(t *testing.T) {
	b, _ := faked(one())
	d := open(t, b)
	s := newStream(t, d)
	buf, err := d.Alloc(256)
	require.NoError(t, err)
	v := backend.NewView(buf, 0, backend.F32, 2, 2)
	a := &kernels.HardestNegativeLossArgs{Score: v, Loss: backend.NewView(buf, 128, backend.F32, 2), Temperature: 1}
	require.NoError(t, kernels.Softmax.Launch(s, softmaxArgs(t, d)), "takes tag 0")
	require.NoError(t, kernels.HardestNegativeLoss.Launch(s, a))
	report(s, 1, 2, 0, 3)
	report(s, 1, 1, 0, 1)
	report(s, 1, 2, 0, 5)
	var e *backend.ArgumentError
	require.ErrorAs(t, s.Sync(), &e)
	require.Equal(t, backend.ArgumentError{Kernel: "hardest_negative_loss", Operand: "Score", Axis: "element", Why: "NaN or +Inf score", Got: 3}, *e)
	require.NoError(t, s.Sync(), "cleared")
}

// report does what src/msl/status.h does.
func report(s *stream, tag, code, operand int, index uint32) {
	b := s.status.mem.Bytes()
	b[0] = 1
	at := 4 * (1 + (tag*statusCodes+code)*statusOperands + operand)
	for i := range 4 {
		b[at+i] = max(b[at+i], byte(^index>>(8*i))) // bytes suffice for the small indices here
	}
}

// TestStatusTagsRunOut: more programs than tags are launched without a Sync; the first error is kept.
func TestStatusTagsRunOut(t *testing.T) {
	b, _ := faked(one())
	d := open(t, b)
	s := newStream(t, d)
	a := softmaxArgs(t, d)
	require.NoError(t, kernels.Softmax.Launch(s, a))
	report(s, 0, kernel.FaultOffsets, 1, 7)
	call := backend.Call{NOperand: 2, NAxis: 2, Args: a}
	call.Operands[0], call.Operands[1] = a.X, a.Y
	call.Axes[0], call.Axes[1] = 4, 8
	for i := range statusTags + 3 {
		p := &program{d: s.d, v: &variant{kernel: kernels.Softmax, binding: backend.Binding{Kernel: fmt.Sprint("k", i)}}}
		require.NoError(t, s.Launch(p, &call))
	}
	var e *backend.ArgumentError
	require.ErrorAs(t, s.Sync(), &e)
	require.Equal(t, "softmax", e.Kernel)
	require.EqualValues(t, 7, e.Got)
}

func TestFreeWhileWorkIsInFlight(t *testing.T) {
	b, rt := faked(one())
	d := open(t, b)
	s := newStream(t, d)
	a := softmaxArgs(t, d)
	require.NoError(t, kernels.Softmax.Launch(s, a))
	pooled := d.Memory().Pooled
	require.NoError(t, a.X.Buf.Free())
	require.Equal(t, pooled, d.Memory().Pooled, "not handed out again under the launch")
	require.NoError(t, s.Sync())
	require.NoError(t, s.Close())
	require.NoError(t, d.Close())
	settled(t, rt)
}

func TestEventsAreCommandBufferBoundaries(t *testing.T) {
	b, rt := faked(one())
	d := open(t, b)
	s, o := newStream(t, d), newStream(t, d)
	a := softmaxArgs(t, d)
	first, err := s.Record()
	require.NoError(t, err)
	require.NoError(t, kernels.Softmax.Launch(s, a))
	require.Equal(t, 1, rt.Counts().Commits, "a launch alone is not committed yet")
	e, err := s.Record()
	require.NoError(t, err)
	require.Equal(t, 2, rt.Counts().Commits)
	require.NoError(t, s.Wait(e))
	require.NoError(t, o.Wait(e))
	require.NoError(t, o.Sync())
	took, err := e.Elapsed(first)
	require.NoError(t, err)
	require.Zero(t, took)
	require.NoError(t, e.Close())
	require.ErrorIs(t, e.Close(), backend.ErrClosed)
	require.ErrorIs(t, o.Wait(e), backend.ErrClosed)
	require.NoError(t, s.Close())
	_, err = first.Elapsed(first)
	require.NoError(t, err, "an event outlives its stream")
	require.NoError(t, o.Wait(first), "so another stream may still wait for it")
	require.NoError(t, o.Sync())
	require.NoError(t, first.Close())
	require.NoError(t, a.X.Buf.Free())
	require.NoError(t, d.Close(), "closes the stream that is left")
	require.ErrorIs(t, o.Sync(), backend.ErrClosed)
	settled(t, rt)
}

func TestLaunchesAreCommittedInBatches(t *testing.T) {
	b, rt := faked(one())
	d := open(t, b)
	s := newStream(t, d)
	a := softmaxArgs(t, d)
	p, err := kernels.Softmax.Prepare(s, a)
	require.NoError(t, err)
	for range commitEvery {
		require.NoError(t, p.Launch(a))
	}
	require.Equal(t, 1, rt.Counts().Commits)
	groups, threads := rt.LastDispatch()
	require.Equal(t, mtl.Size{X: 4, Y: 1, Z: 1}, groups)
	require.Equal(t, mtl.Size{X: rowFewThreads, Y: 1, Z: 1}, threads)
	require.NoError(t, p.Close())
}

// TestAdopt: an application's buffer is an operand, is not accounted, and is not released.
func TestAdopt(t *testing.T) {
	b, rt := faked(one())
	d := open(t, b)
	drv, err := b.load()
	require.NoError(t, err)
	dev, err := drv.Default()
	require.NoError(t, err)
	mine, err := dev.NewBuffer(128)
	require.NoError(t, err)
	live := d.Memory().Live
	x, err := Adopt(d, mine)
	require.NoError(t, err)
	require.EqualValues(t, 128, x.Len())
	require.Equal(t, live, d.Memory().Live)
	s := newStream(t, d)
	v := backend.NewView(x, 0, backend.F32, 4, 8)
	require.NoError(t, kernels.Softmax.Launch(s, &kernels.SoftmaxArgs{X: v, Y: v}))
	require.NoError(t, s.Upload(x, 0, []byte("mine")))
	require.Equal(t, "mine", string(mine.Bytes()[:4]))
	require.NoError(t, x.Free())
	require.ErrorIs(t, x.Free(), backend.ErrClosed)
	require.Equal(t, "mine", string(mine.Bytes()[:4]))
	mine.Release()
	dev.Release()
	require.NoError(t, d.Close())
	settled(t, rt)
	_, err = Adopt(d, mine)
	require.ErrorIs(t, err, backend.ErrClosed)
}

func TestOperandsOfAnotherDevice(t *testing.T) {
	b, _ := faked(one())
	d, o := open(t, b), open(t, b)
	a := softmaxArgs(t, o)
	s := newStream(t, d)
	require.ErrorIs(t, s.Upload(a.X.Buf, 0, nil), backend.ErrArgument)
	require.ErrorIs(t, kernels.Softmax.Launch(s, a), backend.ErrArgument)
	p, err := o.Load("softmax_f32", "naive")
	require.NoError(t, err)
	require.ErrorIs(t, s.Launch(p, &backend.Call{}), backend.ErrArgument)
	e, err := newStream(t, o).Record()
	require.NoError(t, err)
	require.ErrorIs(t, s.Wait(e), backend.ErrArgument)

	p, err = d.Load("softmax_f32", "naive")
	require.NoError(t, err)
	var c backend.Call
	_, err = kernels.Softmax.Resolve(a, &c)
	require.NoError(t, err)
	require.EqualError(t, s.Launch(p, &c), "kernel: metal softmax_f32: operand X: belongs to another device")
	a = softmaxArgs(t, d)
	require.NoError(t, a.X.Buf.Free())
	require.EqualError(t, kernels.Softmax.Launch(s, a), "metal: softmax_f32: buffer X: used after close")
}
