// Package goldentest runs the golden vectors of the kernels on a device: the reference is
// held against what public implementations computed, then every variant of the device
// against the reference, within the declared tolerance. Only tests import it.
//
//	func TestGoldenKernels(t *testing.T) { goldentest.Run(t, device) }
//
// One file per kernel says which operations and arrays of the vectors it covers and how
// they become operands; nothing else lists it.
package goldentest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/harness"
	"github.com/likbench/likbench/backend/kernel"
)

// tests by kernel, filled at initialisation.
var tests = map[string]func(t *testing.T, r *runner){}

func register(name string, test func(t *testing.T, r *runner)) bool {
	if tests[name] != nil {
		panic("goldentest: " + name + " registered twice")
	}
	tests[name] = test
	return true
}

// Run runs the vectors of every kernel on the device, which stays open.
func Run(t *testing.T, dev backend.Device) {
	t.Helper()
	var names []string
	for name := range tests {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) { Kernel(t, dev, name) })
	}
}

// Kernel runs the vectors of one kernel, named as its forward declaration.
func Kernel(t *testing.T, dev backend.Device, name string) {
	t.Helper()
	test := tests[name]
	require.NotNil(t, test, "no golden vectors for %s", name)
	s, err := dev.NewStream()
	require.NoError(t, err)
	test(t, &runner{s})
	require.NoError(t, s.Close())
}

type runner struct{ s backend.Stream }

// vector is one case in the terms of a kernel.
type vector struct {
	kernel kernel.Info
	dims   kernel.Dims
	lens   map[string][]int64
	attrs  map[string]any
	in     map[string][]float64 // by field; an optional operand that is not here is absent
	want   map[string][]float64 // by field; an optional output that is not here is absent
	ignore map[string][]bool    // elements of an index that the vectors do not decide
	ulps   float64              // roundings to the output's dtype besides the last one
	slack  float64              // absolute allowance where the reference itself computes in float32
	bits   map[string][]bool    // elements of an output that every variant has to give to the bit
	types  []backend.DType      // T of the instances to run; nil = all whose inputs are exact, and f32
}

// check runs a vector through every instance that fits and every variant that takes it.
func (r *runner) check(t *testing.T, v vector) {
	t.Helper()
	ran, reasons := 0, map[string]bool{}
	for _, in := range v.kernel.Instances() {
		exact := v.exact(in)
		fits := exact || in.Types[0] == backend.F32
		if v.types != nil {
			fits = slices.Contains(v.types, in.Types[0])
		}
		if !fits {
			continue
		}
		n, refused := r.instance(t, v, in, exact)
		ran += n
		for _, why := range refused {
			reasons[why] = true
		}
	}
	if ran == 0 {
		t.Skipf("%s: no variant of %s runs here: %v", r.s.Device().Backend().Name(), v.kernel.Name(), reasons)
	}
}

// exact reports whether every input is representable in the instance's types.
func (v *vector) exact(in kernel.Instance) bool {
	for _, o := range v.kernel.Operands() {
		t := o.Type(in.Types)
		for _, x := range v.in[o.Name] {
			if y := kernel.Round(t, x); y != x && !(math.IsNaN(x) && math.IsNaN(y)) {
				return false
			}
		}
	}
	return true
}

func (v *vector) asCase(name string) kernel.Case {
	c := kernel.Case{Name: name, Dims: v.dims.Clone(), Lens: v.lens, Attrs: v.attrs, Fill: map[string]func(kernel.Rand, []float64){}}
	for _, o := range v.kernel.Operands() {
		data := v.in[o.Name]
		if o.Optional && data == nil && v.want[o.Name] == nil {
			c.Absent = append(c.Absent, o.Name)
		}
		if o.Mode == kernel.In && !o.IsOffsets {
			c.Fill[o.Name] = func(_ kernel.Rand, x []float64) {
				if copy(x, data) != len(x) {
					panic(fmt.Sprintf("goldentest: %s has %d values for %d elements", o.Name, len(data), len(x)))
				}
			}
		}
	}
	return c
}

// instance returns how many variants ran and why others did not.
func (r *runner) instance(t *testing.T, v vector, in kernel.Instance, exact bool) (ran int, refused []string) {
	t.Helper()
	ops, err := harness.Build(v.kernel, in, v.asCase(t.Name()), r.s, 0, harness.Layout{Guard: 64})
	if errors.Is(err, harness.ErrOtherInstance) {
		return 0, []string{err.Error()}
	}
	require.NoError(t, err, in.Name)
	defer func() { require.NoError(t, ops.Free()) }()
	e, err := ops.Expect()
	require.NoError(t, err, in.Name)
	require.Zero(t, e.Status, "%s: the vectors hold no data errors", in.Name)
	for i, o := range v.kernel.Operands() {
		if want := v.want[o.Name]; want != nil {
			got, limit, _ := e.Output(i)
			v.compare(t, in.Name, &o, o.Type(in.Types), got, want, limit, exact)
		}
	}
	for _, b := range r.s.Device().Backend().Bindings() {
		if b.Kernel != in.Name {
			continue
		}
		p, err := v.kernel.PrepareAny(r.s, ops.Args, kernel.WithVariant(b.Variant))
		if errors.Is(err, backend.ErrUnsupported) {
			refused = append(refused, err.Error())
			continue
		}
		require.NoError(t, err)
		require.NoError(t, ops.Repoison())
		require.NoError(t, p.LaunchAny(ops.Args))
		require.NoError(t, r.s.Sync())
		_, err = ops.Compare(e)
		require.NoError(t, err, "%s/%s", in.Name, b.Variant)
		v.compareBits(t, in, b.Variant, ops)
		require.NoError(t, p.Close())
		ran++
	}
	return ran, refused
}

// vectorError is how good the vectors are, of their largest magnitude, as their README says.
const vectorError = 1e-12

// compare holds the reference's output against the vector: within the last rounding where
// the inputs are exact, else within the kernel's own limit.
func (v *vector) compare(t *testing.T, instance string, o *kernel.Operand, dt backend.DType, got, want, limit []float64, exact bool) {
	t.Helper()
	require.Len(t, want, len(got), "%s: %s", instance, o.Name)
	var top float64
	for _, w := range want {
		if !math.IsInf(w, 0) && !math.IsNaN(w) {
			top = max(top, math.Abs(w))
		}
	}
	for i, w := range want {
		if ignore := v.ignore[o.Name]; ignore != nil && ignore[i] {
			continue
		}
		allowed := 0.0
		switch {
		case !dt.Float():
		case exact:
			allowed = (0.5+v.ulps)*harness.ULP(dt, w)*(1+1e-9) + vectorError*top
		case limit != nil:
			allowed = limit[i] + harness.ULP(dt, w)
		}
		allowed += v.slack
		g := got[i]
		ok := g == w || math.IsNaN(g) && math.IsNaN(w) || math.Abs(g-w) <= allowed
		require.True(t, ok, "%s: reference %s[%d] is %v, vector %v, allowed %.3g", instance, o.Name, i, g, w, allowed)
	}
}

// compareBits holds what a variant left against the elements that allow no difference.
func (v *vector) compareBits(t *testing.T, in kernel.Instance, variant string, ops *harness.Operands) {
	t.Helper()
	if v.bits == nil {
		return
	}
	out, err := ops.Outputs()
	require.NoError(t, err)
	for _, o := range v.kernel.Operands() {
		got := make([]float64, len(v.bits[o.Name]))
		kernel.Decode(o.Type(in.Types), got, out[o.Name])
		for i, decided := range v.bits[o.Name] {
			if decided {
				require.Equal(t, v.want[o.Name][i], got[i], "%s/%s: %s[%d]", in.Name, variant, o.Name, i)
			}
		}
	}
}

// uniform is n equal segment lengths.
func uniform(n, length int) []int64 {
	l := make([]int64, n)
	for i := range l {
		l[i] = int64(length)
	}
	return l
}

// rows flattens all axes but the last: the vectors have any rank, the kernels two.
func rows(shape []int) (n, width int) {
	n, width = 1, shape[len(shape)-1]
	for _, s := range shape[:len(shape)-1] {
		n *= s
	}
	return n, width
}
