package harness

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
)

// The layouts put operands where they say.
func TestLayouts(t *testing.T) {
	r := newRig(t)
	for _, l := range []Layout{{}, {Guard: 256}, {Guard: 100, Shift: 3}, {Shift: 1}, {Guard: 64, Strided: true}, {Guard: 64, InPlace: true}} {
		for _, name := range []string{"toy_f32", "toy_bf16", "toy_f64"} {
			o := r.build(name, small(nil), l)
			for i, op := range o.Kernel.Operands() {
				v := o.Kernel.View(o.Args, i)
				if v.Absent() {
					require.Equal(t, "Live", op.Name)
					continue
				}
				require.Equal(t, l.Guard/64*64+l.Shift*v.DType.Size(), v.Off, op.Name)
				require.GreaterOrEqual(t, v.Buf.Len(), v.Off+v.Bytes()+l.Guard)
				require.Equal(t, op.Name == "X" && l.Strided, v.Stride == 7)
			}
			_, x := operand(o, "X")
			_, y := operand(o, "Y")
			require.Equal(t, l.InPlace, x.Buf == y.Buf)
			var n int64
			for _, b := range o.buffers {
				n += b.Len()
			}
			require.Equal(t, n, o.Bytes())
		}
	}
}

// Data depends on the seed, the kernel and the operand, not on the layout or device.
func TestDataIsSeeded(t *testing.T) {
	r := newRig(t)
	k, in := instance(t, "toy_f32")
	read := func(seed uint64, l Layout) []float64 {
		o, err := Build(k, in, small(nil), r.s, seed, l)
		require.NoError(t, err)
		defer func() { require.NoError(t, o.Free()) }()
		return r.peek(o, "X")
	}
	a := read(1, Layout{})
	require.Equal(t, a, read(1, Layout{}))
	require.Equal(t, a, read(1, Layout{Guard: 64, Strided: true}))
	require.NotEqual(t, a, read(2, Layout{}))
	for _, x := range a {
		require.Less(t, math.Abs(x), 1.)
	}
	require.Equal(t, Seed("a"), Seed("a"))
	require.NotEqual(t, Seed("a"), Seed("b"))
	c := small(nil)
	c.Absent = nil
	o := r.build("toy_f32", c, Layout{})
	for _, n := range r.peek(o, "Live") {
		require.True(t, n >= 0 && n <= 4, "live counts are at most n")
	}
}

func TestLargeDataRepeatsRotated(t *testing.T) {
	k, _ := instance(t, "toy_f32")
	raw := make([]byte, 4*(3*block+5))
	draw(k, &k.Operands()[0], backend.F32, &kernel.Case{}, 0, 1, raw)
	x := make([]float64, 3*block+5)
	kernel.Decode(backend.F32, x, raw)
	first, second := x[:block], x[block:2*block]
	require.NotEqual(t, first, second)
	sorted := func(x []float64) []float64 { y := slices.Clone(x); slices.Sort(y); return y }
	require.Equal(t, sorted(first), sorted(second))
	for _, v := range x[3*block:] {
		require.NotZero(t, v)
	}
}

func ragged() kernel.Case {
	return kernel.Case{Name: "ragged", Dims: kernel.Dims{"d": 2}, Absent: []string{"QueryMask", "DocMask"},
		Lens: map[string][]int64{"tq": {2, 0, 3}, "td": {1, 4}}}
}

func TestRaggedAxes(t *testing.T) {
	r := newRig(t)
	o := r.build("maxsim_f32", ragged(), Layout{Guard: 64})
	require.Equal(t, kernel.Dims{"tq": 5, "d": 2, "nq": 3, "td": 5, "nd": 2}, o.Case.Dims)
	require.Equal(t, []float64{0, 2, 2, 5}, r.peek(o, "QueryOff"))
	a := o.Args.(*kernels.MaxSimArgs)
	require.Equal(t, []int64{3, 5, 3}, []int64{a.QueryOff.N, a.QueryOff.Total, a.QueryOff.Max})
	require.Equal(t, []int64{2, 5, 4}, []int64{a.DocOff.N, a.DocOff.Total, a.DocOff.Max})

	c := ragged()
	c.Dims["td"] = 9 // spare capacity
	o = r.build("maxsim_f32", c, Layout{})
	require.EqualValues(t, 9, o.Args.(*kernels.MaxSimArgs).Doc.Dims[0])
	require.EqualValues(t, 5, o.Args.(*kernels.MaxSimArgs).DocOff.Total)

	c = ragged()
	c.Lens = nil
	c.Dims["nq"], c.Dims["nd"] = 3, 7 // lengths are drawn
	o = r.build("maxsim_f32", c, Layout{})
	require.EqualValues(t, 7, o.Args.(*kernels.MaxSimArgs).DocOff.N)
	require.Positive(t, o.Case.Dims["td"])

	// Offsets as another kernel would write them: not checked, and wrong where the case says so.
	c = ragged()
	c.Fill = map[string]func(kernel.Rand, []float64){"DocOff": func(_ kernel.Rand, x []float64) { x[1] = 99 }}
	o = r.build("maxsim_f32", c, Layout{Device: true})
	require.Equal(t, []float64{0, 99, 5}, r.peek(o, "DocOff"))
	e, err := o.Expect()
	require.NoError(t, err)
	require.Equal(t, kernel.StatusWord(kernel.FaultOffsets, 3, 0, 1), e.Status)
}

func TestBuildRefusals(t *testing.T) {
	r := newRig(t)
	for want, change := range map[string]func(c *kernel.Case){
		"harness: maxsim_f32, case ragged: axis nq has no size, and axis tq no segment lengths": func(c *kernel.Case) { delete(c.Lens, "tq") },
		"harness: maxsim_f32, case ragged: axis d has no size":                                  func(c *kernel.Case) { delete(c.Dims, "d") },
		"harness: maxsim_f32, case ragged: axis nd is 3 but has 2 segment lengths":              func(c *kernel.Case) { c.Dims["nd"] = 3 },
		"harness: maxsim_f32, case ragged: operand Doc: not optional, but the case leaves it out": func(c *kernel.Case) {
			c.Absent = []string{"Doc"}
		},
		"harness: maxsim_f32, case ragged: kernel: maxsim: operand Bogus: no such attribute": func(c *kernel.Case) { c.Attrs = map[string]any{"Bogus": 1} },
		"harness: maxsim_f32, case ragged: kernel: maxsim: operand DocOff: offsets end past the axis: axis td is 5, want 4": func(c *kernel.Case) {
			c.Dims["td"] = 4
		},
		"harness: maxsim_f32, case ragged: kernel: maxsim: operand Query: tokens need at least one component: axis d is 0, want 1": func(c *kernel.Case) {
			c.Dims["d"] = 0
		},
	} {
		k, in := instance(t, "maxsim_f32")
		c := ragged()
		change(&c)
		_, err := Build(k, in, c, r.s, 1, Layout{})
		require.ErrorContains(t, err, want)
	}
	// A case that leaves the weight out is of the instance whose weight has x's type.
	k, in := instance(t, "rms_norm_bf16_f32")
	_, err := Build(k, in, kernel.Case{Dims: kernel.Dims{"rows": 1, "n": 1}, Absent: []string{"Weight"}}, r.s, 1, Layout{})
	require.ErrorIs(t, err, ErrOtherInstance)
	require.EqualValues(t, 0, r.s.Device().Memory().Live, "a failed build keeps nothing")
}

func TestBuildWithoutMemory(t *testing.T) {
	r := newRig(t)
	d, err := r.s.Device().Backend().Open(0, backend.WithBudget(100))
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	k, in := instance(t, "toy_f32")
	_, err = Build(k, in, small(nil), s, 1, Layout{})
	require.ErrorIs(t, err, backend.ErrBudget)
	require.ErrorContains(t, err, "harness: toy_f32, case small: operand Y: host: alloc 80 B: over budget")
	require.Zero(t, d.Memory().Live)
	require.NoError(t, errors.Join(s.Close(), d.Close()))
}

// Measure says what Build takes, without building.
func TestMeasureEqualsBuild(t *testing.T) {
	r := newRig(t)
	for _, k := range kernel.All() {
		for _, in := range k.Instances() {
			for _, c := range k.Cases() {
				if !c.Of(in) {
					continue
				}
				bytes, cost, err := Measure(k, in, c)
				require.NoError(t, err)
				o, err := Build(k, in, c, r.s, Seed(c.Name), Layout{})
				if errors.Is(err, ErrOtherInstance) {
					continue
				}
				require.NoError(t, err)
				require.Equal(t, o.Bytes(), bytes, "%s %s", in.Name, c.Name)
				require.Equal(t, k.Cost(&o.Call), cost, "%s %s", in.Name, c.Name)
				require.NoError(t, o.Free())
			}
		}
	}
	k, in := instance(t, "toy_f32")
	_, _, err := Measure(k, in, kernel.Case{Dims: kernel.Dims{"n": 1}})
	require.EqualError(t, err, "axis rows has no size")
}

func TestTileCases(t *testing.T) {
	k, _ := instance(t, "toy_f32")
	b := &backend.Binding{Tile: map[string]int64{"rows": 8, "n": 1}}
	var names []string
	for _, c := range TileCases(k, b) {
		names = append(names, c.Name)
		require.Equal(t, map[string]any{"Gain": 3.}, c.Attrs, "Derive runs on each")
	}
	require.Equal(t, []string{"tile-n-1-of-1", "tile-n-0-of-1", "tile-n-1-of-1", "tile-n-2-of-1", "tile-n-2-of-1", "tile-n-0-of-1",
		"tile-rows-1-of-8", "tile-rows-7-of-8", "tile-rows-8-of-8", "tile-rows-9-of-8", "tile-rows-16-of-8", "tile-rows-0-of-8"}, names)
	require.Equal(t, 2., k.Cases()[1].Attrs["Gain"], "the declaration is not touched")

	m, _ := instance(t, "maxsim_f32")
	cs := TileCases(m, &backend.Binding{Tile: map[string]int64{"td": 16}})
	require.Len(t, cs, 2, "odd and aligned widths")
	require.EqualValues(t, 33, cs[0].Dims["d"])
	require.EqualValues(t, 64, cs[1].Dims["d"])
	require.Equal(t, []int64{1, 15, 16, 17, 32, 0}, cs[0].Lens["td"])
	require.EqualValues(t, 6, cs[0].Dims["nd"])
	require.Equal(t, m.Cases()[1].Lens["tq"], cs[0].Lens["tq"])
	require.Len(t, m.Cases()[1].Lens["td"], 6)
	require.EqualValues(t, 13, m.Cases()[1].Lens["td"][0])
}
