package conform

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/harness"
	"github.com/likbench/likbench/backend/kernel"
)

// fuzzAxis is the largest size a fuzzed axis takes: past two tiles of most bodies, and
// quick enough for the reference.
const fuzzAxis = 150

// Fuzz holds every kernel in every variant against its reference over axes, segment
// lengths, layouts and seeds: a fuzz target of a backend's tests.
//
//	func FuzzKernels(f *testing.F) { conform.Fuzz(f, conform.Config{Backend: simd.New()}) }
func Fuzz(f *testing.F, cfg Config) {
	dev, err := cfg.Backend.Open(cfg.Ordinal, append(cfg.Options[:len(cfg.Options):len(cfg.Options)], backend.WithPoison())...)
	if errors.Is(err, backend.ErrUnavailable) {
		f.Skip(err)
	}
	require.NoError(f, err)
	f.Cleanup(func() {
		if err := dev.Close(); err != nil {
			f.Error(err)
		}
	})
	kernels := kernel.All()
	for i := range 4 * len(kernels) { // what runs without fuzzing
		f.Add(uint64(i), uint16(i), uint16(i))
	}
	r := &runner{cfg: cfg, dev: dev, info: dev.Info()}
	f.Fuzz(func(t *testing.T, seed uint64, which, what uint16) {
		k := kernels[int(which)%len(kernels)]
		in := k.Instances()[int(what)%len(k.Instances())]
		r.fuzz(t, k, in, rand.New(rand.NewPCG(seed, uint64(what))), seed)
	})
}

// fuzz runs one drawn case. Sizes that the kernel refuses, and instances without a variant,
// are fine.
func (r *runner) fuzz(t *testing.T, k kernel.Info, in kernel.Instance, g *rand.Rand, seed uint64) {
	v := &variants{runner: r, k: k, in: in, classes: map[string]classBits{}}
	for _, b := range r.cfg.Backend.Bindings() {
		if _, err := r.dev.Load(b.Kernel, b.Variant); b.Kernel == in.Name && err == nil {
			v.usable = append(v.usable, b)
		}
	}
	if len(v.usable) == 0 {
		return
	}
	c := drawCase(k, g)
	layouts := v.layouts(0)
	l := layouts[g.IntN(len(layouts))]
	l.Shift = g.Int64N(4)
	s, err := r.dev.NewStream()
	require.NoError(t, err)
	defer closeAll(t, s)
	ops, err := harness.Build(k, in, c, s, seed, l)
	if errors.Is(err, backend.ErrArgument) || errors.Is(err, harness.ErrOtherInstance) {
		return
	}
	require.NoError(t, err)
	defer func() { require.NoError(t, ops.Free()) }()
	e, err := ops.Expect()
	require.NoError(t, err)
	ran := v.layout(t, s, ops, l, e)
	require.NotZero(t, ran, "no variant of %s accepts sizes %v, layout %+v", in.Name, ops.Case.Dims, l)
}

// drawCase is a declared case with other sizes.
func drawCase(k kernel.Info, g *rand.Rand) kernel.Case {
	cases := k.Cases()
	c := cases[g.IntN(len(cases))]
	c.Name, c.Dims, c.Lens = "fuzz-"+c.Name, kernel.Dims{}, map[string][]int64{}
	size := func() int64 { // small ones as often as large ones
		return g.Int64N(1 + g.Int64N(fuzzAxis))
	}
	for _, a := range k.Axes() {
		c.Dims[a] = size()
	}
	for _, o := range k.Operands() {
		if !o.IsOffsets {
			continue
		}
		ragged, segments := k.Axes()[o.OffsetsOf], k.Axes()[o.Axes[0].Axis]
		lens := make([]int64, g.Int64N(6))
		for i := range lens {
			lens[i] = size()
		}
		c.Lens[ragged], c.Dims[segments] = lens, int64(len(lens))
		delete(c.Dims, ragged)
	}
	k.Derive(&c)
	return c
}
