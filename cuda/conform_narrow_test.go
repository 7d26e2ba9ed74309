package cuda

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/conform"
	"github.com/likbench/likbench/backend/harness"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/cuda/driver"
	"github.com/likbench/likbench/cuda/driver/fake"
)

// narrow is a driver whose devices have fewer multiprocessors than they have.
type narrow struct {
	driver.API
	units int
}

func (n narrow) DeviceAttribute(d driver.Device, a driver.Attribute) (int, driver.Status) {
	v, s := n.API.DeviceAttribute(d, a)
	if a == driver.MultiprocessorCount {
		v = min(v, n.units)
	}
	return v, s
}

// narrowly is the suite's configuration on two multiprocessors, where of the forms of maxsim those for much to read run.
func narrowly(t *testing.T, open func() (driver.API, error)) conform.Config {
	for _, l := range []*wgmmaLimits{&maxsimWGMMA, &scaledWGMMA} {
		l.pair = 0
		t.Cleanup(func() { l.pair = pairBytes })
	}
	b := New(WithDriver(func() (driver.API, error) {
		api, err := open()
		return narrow{api, 2}, err
	}))
	return conform.Config{Backend: b, MaxWork: maxWork, NoSuite: true}
}

// TestConformNarrow runs the cases on two multiprocessors: a block has many pieces of work then, and rings and queues
// go round, as with operands that are many times as large.
func TestConformNarrow(t *testing.T) {
	cfg := narrowly(t, driver.Open)
	cfg.Smoke = testing.Short()
	conform.Run(t, cfg)
}

// TestCasesReachEveryStage: the cases of TestConform, TestConformNarrow and TestDeviceCentroids run every entry of every
// variant of a Hopper. Which entries a launch takes is the host's choice, so the fake driver shows it.
func TestCasesReachEveryStage(t *testing.T) {
	d := fake.New(fake.Hopper(0))
	ran, want := map[string]bool{}, []string{}
	for _, v := range variants() {
		for i := range v.stages {
			entry := v.stages[i].entry
			if entry == "" { // it only clears memory
				continue
			}
			d.Kernels[entry] = func(*fake.Launch) { ran[entry] = true }
			want = append(want, entry)
		}
	}
	open := func() (driver.API, error) { return d, nil }
	launchCases(t, New(WithDriver(open)), true)
	launchCases(t, narrowly(t, open).Backend, false)
	require.NotEmpty(t, want)
	require.Empty(t, slices.DeleteFunc(want, func(entry string) bool { return ran[entry] }), "entries that no case runs")
}

// launchCases launches the declared cases in every variant that takes them, and those of TestDeviceCentroids.
func launchCases(t *testing.T, b backend.Backend, centroids bool) {
	dev, err := b.Open(0)
	require.NoError(t, err)
	s, err := dev.NewStream()
	require.NoError(t, err)
	launch := func(k kernel.Info, in kernel.Instance, c kernel.Case) {
		ops, err := harness.Build(k, in, c, s, 1, harness.Layout{})
		if errors.Is(err, harness.ErrOtherInstance) || errors.Is(err, backend.ErrArgument) { // as conform has it
			return
		}
		require.NoError(t, err, "%s, %s", in.Name, c.Name)
		for _, v := range b.Bindings() {
			if v.Kernel != in.Name {
				continue
			}
			p, err := k.PrepareAny(s, ops.Args, kernel.WithVariant(v.Variant))
			if errors.Is(err, backend.ErrUnsupported) {
				continue
			}
			require.NoError(t, err)
			require.NoError(t, errors.Join(p.LaunchAny(ops.Args), s.Sync(), p.Close()), "%s, %s", in.Name, c.Name)
		}
		require.NoError(t, ops.Free())
	}
	for _, k := range kernel.All() {
		for _, in := range k.Instances() {
			cases := slices.Clone(k.Cases())
			for _, v := range b.Bindings() {
				if v.Kernel == in.Name {
					cases = append(cases, harness.TileCases(k, &v)...)
				}
			}
			for _, c := range cases {
				if c.Types == nil || slices.Equal(c.Types, in.Types[:len(c.Types)]) {
					launch(k, in, c)
				}
			}
		}
	}
	for _, c := range centroidCases {
		if k, in := kernel.Find(c.instance); centroids {
			launch(k, in, kernel.Case{Name: "large", Dims: c.dims, Fill: c.fill})
		}
	}
	require.NoError(t, errors.Join(s.Close(), dev.Close()))
}
