package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/cuda/driver"
	"github.com/likbench/likbench/cuda/driver/fake"
)

// rmsNorm is one prepared launch on the fake, with two sizes of operands to alternate between.
type rmsNorm struct {
	dev      backend.Device
	s        backend.Stream
	buf      []backend.Buffer
	prepared *kernel.Prepared[kernels.RMSNormArgs]
	args     [2]kernels.RMSNormArgs
}

func newRMSNorm(t testing.TB, b backend.Backend) *rmsNorm {
	r := &rmsNorm{}
	var err error
	r.dev, err = b.Open(0)
	require.NoError(t, err)
	r.s, err = r.dev.NewStream()
	require.NoError(t, err)
	for range 3 {
		m, err := r.dev.Alloc(1 << 12)
		require.NoError(t, err)
		r.buf = append(r.buf, m)
	}
	for i, rows := range []int64{16, 7} {
		r.args[i] = kernels.RMSNormArgs{
			X:    backend.NewView(r.buf[0], 0, backend.F32, rows, 32),
			Y:    backend.NewView(r.buf[1], 0, backend.F32, rows, 32),
			RStd: backend.NewView(r.buf[2], 0, backend.F32, rows), Eps: 1e-6}
	}
	r.prepared, err = kernels.RMSNorm.Prepare(r.s, &r.args[0])
	require.NoError(t, err)
	return r
}

func (r *rmsNorm) close(t testing.TB) {
	require.NoError(t, r.prepared.Close())
	for _, b := range r.buf {
		require.NoError(t, b.Free())
	}
	require.NoError(t, r.s.Close())
	require.NoError(t, r.dev.Close())
}

// idle is a backend whose kernels do nothing, so that only the host's work is measured; tensor maps included.
func idle() *cuda {
	d := fake.New(fake.Hopper(0))
	b := onFake(d)
	clear(d.Kernels)
	for _, v := range b.variants() {
		v.stages = append(v.stages, stage{clear: func(c *backend.Call) (int64, int64) { return 0, 64 }},
			stage{entry: v.stages[0].entry, geometry: v.stages[0].geometry, maps: []func(*backend.Call, *driver.TensorMap){
				func(c *backend.Call, m *driver.TensorMap) {
					*m = driver.TensorMap{Type: driver.TensorF32, Rank: 2, Address: Address(&c.Operands[0]),
						Dims: [5]uint64{32, uint64(c.Axes[0])}, Strides: [4]uint64{128}, Box: [5]uint32{32, 1}}
				}}})
	}
	return b
}

// TestLaunchAllocates nothing, whatever the sizes, and with tensor maps that change.
func TestLaunchAllocates(t *testing.T) {
	r := newRMSNorm(t, idle())
	n := testing.AllocsPerRun(100, func() {
		for i := range r.args {
			if err := r.prepared.Launch(&r.args[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.s.Sync(); err != nil {
			t.Fatal(err)
		}
	})
	require.Zero(t, n)
	r.close(t)
}

// TestReplayAllocates nothing either.
func TestReplayAllocates(t *testing.T) {
	r := newRMSNorm(t, idle())
	g, err := r.s.(backend.GraphCapturer).Capture(func() error { return r.prepared.Launch(&r.args[0]) })
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if err := g.Replay(r.s); err != nil {
			t.Fatal(err)
		}
	}))
	require.NoError(t, g.Close())
	r.close(t)
}

// TestEarly: a stage starts early where the object can wait and the driver can start it, in graphs too; the stages
// beside it do not.
func TestEarly(t *testing.T) {
	for _, c := range []struct {
		name  string
		card  fake.Device
		lacks []driver.Feature
		want  bool
	}{
		{"both", fake.Hopper(0), nil, true},
		{"old object", fake.Device{Name: "Fake A100", Major: 8, Units: 108, Memory: 1 << 36}, nil, false},
		{"old driver", fake.Hopper(0), []driver.Feature{driver.EarlyStart}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := fake.New(c.card)
			d.Lacks = c.lacks
			b := onFake(d)
			for _, v := range b.variants() {
				first := v.stages[0]
				first.early = true
				v.stages = append([]stage{first}, v.stages...)
			}
			var early []bool
			entry := "rms_norm_f32_fake"
			inner := d.Kernels[entry]
			d.Kernels[entry] = func(l *fake.Launch) {
				early = append(early, l.Early)
				inner(l)
			}
			r := newRMSNorm(t, b)
			require.NoError(t, r.prepared.Launch(&r.args[0]))
			g, err := r.s.(backend.GraphCapturer).Capture(func() error { return r.prepared.Launch(&r.args[0]) })
			require.NoError(t, err)
			require.NoError(t, g.Replay(r.s))
			require.Equal(t, []bool{c.want, false, c.want, false}, early)
			require.NoError(t, g.Close())
			r.close(t)
		})
	}
}

// A panic of the recording function leaves no graph behind, and the stream as it was.
func TestCapturePanics(t *testing.T) {
	d := fake.New(fake.Hopper(0))
	r := newRMSNorm(t, onFake(d))
	require.PanicsWithValue(t, "recording", func() {
		_, _ = r.s.(backend.GraphCapturer).Capture(func() error {
			require.NoError(t, r.prepared.Launch(&r.args[0]))
			panic("recording")
		})
	})
	require.Zero(t, d.Counts().Graphs)
	require.NoError(t, r.prepared.Launch(&r.args[0]))
	r.close(t)
}

// TestScratchStays: a launch that needs more scratch than a graph was recorded with moves none of the graph's, and
// capturing a launch whose scratch is not there yet is refused.
func TestScratchStays(t *testing.T) {
	d := fake.New(fake.Hopper(0))
	b := onFake(d)
	var seen []uint64
	entry := "rms_norm_f32_fake"
	inner := d.Kernels[entry]
	d.Kernels[entry] = func(l *fake.Launch) {
		seen = append(seen, l.Words[len(l.Words)-4])
		inner(l)
	}
	r := newRMSNorm(t, b)
	g, err := r.s.(backend.GraphCapturer).Capture(func() error { return r.prepared.Launch(&r.args[1]) })
	require.NoError(t, err)
	require.NoError(t, g.Replay(r.s))
	release, err := r.s.(backend.ScratchReserver).ReserveScratch(1 << 20)
	require.NoError(t, err)
	require.NoError(t, r.prepared.Launch(&r.args[1]))
	require.NoError(t, g.Replay(r.s))
	require.Equal(t, seen[0], seen[2], "the graph's scratch")
	require.NotEqual(t, seen[0], seen[1])
	require.NoError(t, g.Close())
	release()
	release()

	o, err := r.dev.NewStream()
	require.NoError(t, err)
	p, err := r.dev.Load("rms_norm_f32", "fake")
	require.NoError(t, err)
	var c backend.Call
	_, err = kernels.RMSNorm.Resolve(&r.args[0], &c)
	require.NoError(t, err)
	_, err = o.(backend.GraphCapturer).Capture(func() error {
		_, err := r.dev.Alloc(16)
		require.ErrorIs(t, err, backend.ErrCapturing)
		return o.Launch(p, &c)
	})
	require.ErrorIs(t, err, backend.ErrCapturing)
	require.NoError(t, o.Launch(p, &c))
	require.NoError(t, o.Sync())
	require.NoError(t, o.Close())
	r.close(t)
	require.Zero(t, d.Counts().Buffers)
}

// TestBinding: what a wrong binding meets.
func TestBinding(t *testing.T) {
	geometry := func(*kernels.TopKArgs, *backend.Call, *Geometry) {}
	good := backend.Binding{Kernel: "topk", Variant: "x"}
	for _, c := range []struct {
		b    backend.Binding
		l    Launcher[kernels.TopKArgs]
		text string
	}{
		{backend.Binding{Kernel: "topk_f32"}, Launcher[kernels.TopKArgs]{}, "cuda: topk_f32 is no instance of topk"},
		{good, Launcher[kernels.TopKArgs]{}, "cuda: topk/x has no source or no stages"},
		{good, Launcher[kernels.TopKArgs]{Source: "s", Stages: make([]Stage[kernels.TopKArgs], 1)}, "cuda: topk/x: a stage has either Geometry or Clear"},
		{good, Launcher[kernels.TopKArgs]{Source: "s", Stages: []Stage[kernels.TopKArgs]{{Geometry: geometry,
			Maps: make([]func(*kernels.TopKArgs, *backend.Call, *driver.TensorMap), 9)}}}, "cuda: topk/x: 9 tensor maps, at most 8"},
	} {
		require.PanicsWithValue(t, c.text, func() { newVariant(kernels.TopK, c.b, c.l) })
	}
	require.Equal(t, []int{0, 1, 2, 4}, []int{rank(nil), rank([]string{"sm_80"}), rank([]string{"sm_80", "sm_89"}), rank([]string{"fp8", "sm_90a"})})
}

// TestGeometry: empty grids are skipped, large ones cut.
func TestGeometry(t *testing.T) {
	var g Geometry
	g.Line(0, 128)
	require.True(t, g.Skip)
	g.Plane(1<<40, 1<<20, 64)
	require.Equal(t, Geometry{Grid: [3]uint32{1<<31 - 1, 65535, 1}, Block: [3]uint32{64, 1, 1}}, g)
	require.EqualValues(t, 3, CeilDiv(9, 4))
}

// TestCapability: which object suits which device.
func TestCapability(t *testing.T) {
	for _, c := range []struct {
		device capability
		want   string
		words  []string
	}{
		{capability{8, 0}, "sm_80", []string{"sm_80"}},
		{capability{8, 6}, "sm_80", []string{"sm_80"}},
		{capability{8, 9}, "sm_89", []string{"sm_80", "sm_89", "fp8"}},
		{capability{9, 0}, "sm_90a", []string{"sm_80", "sm_89", "fp8", "sm_90a"}},
		{capability{10, 0}, "compute_80", []string{"sm_80", "sm_89", "fp8"}},
		{capability{7, 5}, "", nil},
	} {
		o := fakeObjects(nil, "compute_80", "sm_80", "sm_89", "sm_90a")
		m, err := o.manifest()
		require.NoError(t, err)
		got := ""
		if b := c.device.best(&m.Sources[0]); b != nil {
			got = b.Target
		}
		require.Equal(t, c.want, got, "%v", c.device)
		require.Equal(t, c.words, c.device.features())
	}
}

func BenchmarkPreparedLaunch(b *testing.B) {
	r := newRMSNorm(b, idle())
	b.ReportAllocs()
	for b.Loop() {
		if err := r.prepared.Launch(&r.args[0]); err != nil {
			b.Fatal(err)
		}
	}
	r.close(b)
}
