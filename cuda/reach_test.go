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

// configure makes a suite's configuration for a driver.
type configure = func(*testing.T, func() (driver.API, error)) conform.Config

// widely is the suite's configuration on a device as it is.
func widely(_ *testing.T, open func() (driver.API, error)) conform.Config {
	return conform.Config{Backend: New(WithDriver(open)), MaxWork: maxWork}
}

// sanitized is cfg, and in short mode, which is for sanitizers, only some cases: the first ones, those that say so, and
// for each entry of each variant the first that runs it and the one with the most work.
func sanitized(t *testing.T, cfg conform.Config, c configure) conform.Config {
	if infos, err := cfg.Backend.Probe(); err != nil || len(infos) == 0 {
		return cfg // the suite says so
	}
	if cfg.Smoke = testing.Short(); cfg.Smoke {
		chosen := map[caseName]bool{}
		for _, r := range reach(t, c) {
			chosen[r.first], chosen[r.most] = true, true
		}
		cfg.Also = func(instance, name string) bool { return chosen[caseName{instance, name}] }
	}
	return cfg
}

type caseName struct{ instance, name string }

// reached says which cases of the suite run an entry. Of TestDeviceCentroids any counts as the first.
type reached struct {
	first, most caseName
	work        float64
}

// large is the name that reach gives the cases of TestDeviceCentroids.
const large = "large"

// TestCasesReachEveryStage: the cases of TestConform, TestConformNarrow and TestDeviceCentroids run every entry of every
// variant of a Hopper.
func TestCasesReachEveryStage(t *testing.T) {
	wide, narrow := reach(t, widely), reach(t, narrowly)
	require.NotEmpty(t, wide)
	for entry, r := range wide {
		n := narrow[entry].first
		require.True(t, r.first != caseName{} || n != caseName{} && n.name != large, "no case runs %s", entry)
	}
}

// reach launches every case that the suite runs on a Hopper that is a fake, since which entries a launch takes is the
// host's choice, and returns what ran the entries of all variants.
func reach(t *testing.T, c configure) map[string]*reached {
	d := fake.New(fake.Hopper(0))
	entries := map[string]*reached{}
	var now reached
	for _, v := range variants() {
		for i := range v.stages {
			entry := v.stages[i].entry
			if entry == "" { // it only clears memory
				continue
			}
			r := &reached{}
			d.Kernels[entry] = func(*fake.Launch) {
				if r.first.name == "" {
					*r = now
				} else if now.first.name != large && now.work > r.work {
					r.most, r.work = now.most, now.work
				}
			}
			entries[entry] = r
		}
	}
	cfg := c(t, func() (driver.API, error) { return d, nil })
	dev, err := cfg.Backend.Open(0)
	require.NoError(t, err)
	s, err := dev.NewStream()
	require.NoError(t, err)
	for _, k := range kernel.All() {
		for _, in := range k.Instances() {
			bound := slices.DeleteFunc(slices.Clone(cfg.Backend.Bindings()), func(b backend.Binding) bool { return b.Kernel != in.Name })
			for _, c := range conform.Cases(k, bound) {
				if c.Of(in) {
					launchCase(t, cfg, s, k, in, c, &now)
				}
			}
		}
	}
	for _, c := range centroidCases {
		k, in := kernel.Find(c.instance)
		launchCase(t, conform.Config{Backend: cfg.Backend}, s, k, in, kernel.Case{Name: large, Dims: c.dims, Fill: c.fill}, &now)
	}
	require.NoError(t, errors.Join(s.Close(), dev.Close()))
	return entries
}

// launchCase launches a case, where the suite runs it, in every variant that takes it; now says so meanwhile.
func launchCase(t *testing.T, cfg conform.Config, s backend.Stream, k kernel.Info, in kernel.Instance, c kernel.Case, now *reached) {
	ops, err := harness.Build(k, in, c, s, 1, harness.Layout{})
	if errors.Is(err, harness.ErrOtherInstance) || errors.Is(err, backend.ErrArgument) { // as conform has it
		return
	}
	require.NoError(t, err, "%s, %s", in.Name, c.Name)
	work, is := conform.Work(ops), caseName{in.Name, c.Name}
	*now = reached{is, is, work}
	for _, v := range cfg.Backend.Bindings() {
		if v.Kernel != in.Name || cfg.MaxWork > 0 && work > cfg.MaxWork {
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
