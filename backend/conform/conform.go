// Package conform is the suite that every backend passes: kernels against their
// references in every variant, and the rules of memory, streams and errors. It is the only
// package outside tests that imports testing.
//
//	func TestConform(t *testing.T) {
//		conform.Run(t, conform.Config{Backend: simd.New()})
//	}
package conform

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/harness"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/internal/testneed"
)

// Config says what to run.
type Config struct {
	Backend backend.Backend
	Ordinal int
	Options []backend.Option
	Only    string                           // pattern of path.Match on instances; "" = all
	MaxWork float64                          // cases with more reference multiply-adds are left out and counted; 0 = all
	Smoke   bool                             // the first cases, those that say so, and those of Also: for sanitizers, which are slow
	Also    func(instance, name string) bool // nil = none
	Seed    uint64                           // added to every case's own seed
	NoSuite bool                             // kernels only, without the rules of memory and streams
}

// Run runs the suite on one device.
func Run(t *testing.T, cfg Config) {
	t.Helper()
	opts := append(slices.Clone(cfg.Options), backend.WithPoison())
	dev, err := cfg.Backend.Open(cfg.Ordinal, opts...)
	if errors.Is(err, backend.ErrUnavailable) {
		testneed.Skip(t, cfg.Backend.Name(), err.Error())
	}
	require.NoError(t, err)
	r := &runner{cfg: cfg, dev: dev, info: dev.Info()}
	t.Run("kernels", r.kernels)
	if !cfg.NoSuite {
		t.Run("memory", r.memory)
		t.Run("streams", r.streams)
		t.Run("arguments", r.arguments)
		t.Run("lifetimes", r.lifetimes)
	}
	require.EqualValues(t, 0, dev.Memory().Live-dev.Memory().Scratch, "device memory still live after the suite")
	require.NoError(t, dev.Close())
	require.ErrorIs(t, dev.Close(), backend.ErrClosed)
	_, err = dev.Alloc(16)
	require.ErrorIs(t, err, backend.ErrClosed)
}

type runner struct {
	cfg  Config
	dev  backend.Device
	info backend.Info
}

// kernels runs every declared instance that the backend binds.
func (r *runner) kernels(t *testing.T) {
	for _, k := range kernel.All() {
		for _, in := range k.Instances() {
			if ok, err := path.Match(r.cfg.Only, in.Name); r.cfg.Only != "" && (err != nil || !ok) {
				continue
			}
			t.Run(in.Name, func(t *testing.T) { r.instance(t, k, in) })
		}
	}
}

func (r *runner) instance(t *testing.T, k kernel.Info, in kernel.Instance) {
	var usable, all []backend.Binding
	for _, b := range r.cfg.Backend.Bindings() {
		if b.Kernel != in.Name {
			continue
		}
		all = append(all, b)
		if _, err := r.dev.Load(b.Kernel, b.Variant); err == nil {
			usable = append(usable, b)
		} else {
			require.ErrorIs(t, err, backend.ErrUnsupported, "%s", b.Variant)
			t.Run(b.Variant, func(t *testing.T) { testneed.Skip(t, r.info.Missing(b.Requires), err.Error()) })
		}
	}
	if len(usable) == 0 {
		r.unsupported(t, k, in, len(all))
		return
	}
	v := &variants{runner: r, k: k, in: in, usable: usable, classes: map[string]classBits{}}
	for i, c := range Cases(k, usable) {
		if !c.Of(in) || r.cfg.Smoke && i > 2 && !c.Smoke && (r.cfg.Also == nil || !r.cfg.Also(in.Name, c.Name)) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) { v.testCase(t, c, i) })
	}
	if v.leftOut > 0 {
		t.Logf("%d cases of more than %g multiply-adds left out", v.leftOut, r.cfg.MaxWork)
	}
	t.Run("neighbours", v.neighbours)
	t.Run("two-streams", v.twoStreams)
	t.Run("graph", v.graph)
	t.Run("device-offsets", v.deviceOffsets)
}

// Cases are those that the suite runs for an instance of k with these variants: the declared ones, and those around the
// variants' tiles.
func Cases(k kernel.Info, variants []backend.Binding) []kernel.Case {
	cases := slices.Clip(k.Cases())
	for i := range variants {
		cases = append(cases, harness.TileCases(k, &variants[i])...)
	}
	seen := map[string]bool{}
	out := cases[:0:0]
	for _, c := range cases {
		if !seen[c.Name] {
			seen[c.Name] = true
			out = append(out, c)
		}
	}
	return out
}

// unsupported: no variant runs here. A launch must say so, typed, and the fallback must
// give the reference's answer and be counted.
func (r *runner) unsupported(t *testing.T, k kernel.Info, in kernel.Instance, bound int) {
	s, err := r.dev.NewStream()
	require.NoError(t, err)
	defer closeAll(t, s)
	c := k.Cases()[min(1, len(k.Cases())-1)]
	ops, err := harness.Build(k, in, c, s, harness.Seed(in.Name), harness.Layout{Guard: 64})
	require.NoError(t, err)
	defer func() { require.NoError(t, ops.Free()) }()
	_, err = k.PrepareAny(s, ops.Args)
	require.ErrorIs(t, err, backend.ErrUnsupported)
	var u *backend.UnsupportedError
	require.ErrorAs(t, err, &u)
	require.NotEmpty(t, u.Reason)
	var f kernel.Fallback
	p, err := k.PrepareAny(s, ops.Args, kernel.WithHostFallback(&f))
	require.NoError(t, err)
	require.NoError(t, p.LaunchAny(ops.Args))
	require.Len(t, f.Counts(), 1)
	compareWith(t, ops)
	t.Logf("unsupported (%d bindings): %v", bound, err)
}

func compareWith(t *testing.T, ops *harness.Operands) harness.Result {
	e, err := ops.Expect()
	require.NoError(t, err)
	res, err := ops.Compare(e)
	require.NoError(t, err)
	return res
}

func closeAll(t *testing.T, s ...interface{ Close() error }) {
	for _, c := range s {
		require.NoError(t, c.Close())
	}
}

// classBits are the outputs of the first variant of a class on each case and layout.
type classBits map[string]map[string][]byte

func (c classBits) same(t *testing.T, key, variant string, out map[string][]byte) {
	if was, ok := c[key]; ok {
		for name, raw := range was {
			require.Equal(t, raw, out[name], "output %s of %s differs in bits from its class", name, variant)
		}
		return
	}
	c[key] = out
}

func key(c *kernel.Case, l harness.Layout) string { return fmt.Sprintf("%s/%+v", c.Name, l) }
