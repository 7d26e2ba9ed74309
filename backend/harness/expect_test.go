package harness

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// limits are those of one output of the toy kernel, by hand below.
func limits(t *testing.T, name, field string, fill func(kernel.Rand, []float64)) (want, limit []float64) {
	r := newRig(t)
	o := r.build(name, small(fill), Layout{})
	e, err := o.Expect()
	require.NoError(t, err)
	i, _ := operand(o, field)
	want, limit, _ = e.Output(i)
	return want, limit
}

func TestULPLimits(t *testing.T) {
	fill := values(1, 0, -.75, nan, inf) // times 2
	want, limit := limits(t, "toy_f32", "Y", fill)
	require.Equal(t, []float64{2, 0, -1.5}, want[:3])
	require.Equal(t, []float64{0x1p-22, 0x1p-149, 0x1p-23, 0x1p-149, 0x1p-149}, limit[:5])
	_, limit = limits(t, "toy_bf16", "Y", fill)
	require.Equal(t, []float64{0x1p-6, 0x1p-133, 0x1p-7}, limit[:3])
	_, limit = limits(t, "toy_f64", "Y", fill)
	require.Equal(t, []float64{0x1p-51, 0x1p-1074, 0x1p-52}, limit[:3])
	_, limit = limits(t, "toy_f32", "Copy", fill)
	require.Nil(t, limit)
}

// slack·u·terms·scale + terms·smallest normal: 3·u·(4+2)·Σ|x| + 6·tiny.
func TestRoundingLimits(t *testing.T) {
	fill := values(1, -2, 3, -4)
	want, limit := limits(t, "toy_f32", "Sum", fill)
	require.Equal(t, -2., want[0])
	require.Equal(t, 3*0x1p-24*6*10+6*0x1p-126, limit[0])
	_, limit = limits(t, "toy_bf16", "Sum", fill) // accumulated and stored in f32
	require.Equal(t, 3*0x1p-24*6*10+6*0x1p-126, limit[0])
	_, limit = limits(t, "toy_f64", "Sum", fill)
	require.Equal(t, 3*0x1p-53*6*10+6*0x1p-1022, limit[0])
}

// A magnitude that is NaN or overflowed is replaced by the value's own.
func TestRoundingLimitWithoutMagnitude(t *testing.T) {
	_, limit := limits(t, "toy_f32", "Sum", values(math.MaxFloat32, -math.MaxFloat32, 5, 0))
	require.Equal(t, 3*0x1p-24*6*5+6*0x1p-126, limit[0])
}

func TestRoundingOptions(t *testing.T) {
	scale := func(_ *kernel.Ref, a *toyArgs) []float64 { return []float64{1, 2, 3, 4, 5} }
	for name, c := range map[string]struct {
		sum   kernel.Rounding[toyArgs]
		limit [2]float64 // of rows 0 and 4
	}{
		"toy_unit":  {kernel.Rounding[toyArgs]{Terms: "4", Slack: 1, Unit: 0x1p-10}, [2]float64{4*0x1p-10*10 + 4*0x1p-126, 4*0x1p-10*10 + 4*0x1p-126}},
		"toy_scale": {kernel.Rounding[toyArgs]{Terms: "n", Slack: 2, Scale: scale}, [2]float64{2*0x1p-24*4*1 + 4*0x1p-126, 2*0x1p-24*4*5 + 4*0x1p-126}},
		"toy_extra": {kernel.Rounding[toyArgs]{Terms: "1", Slack: 0, Extra: scale}, [2]float64{1 + 0x1p-126, 5 + 0x1p-126}},
		"toy_ulps":  {kernel.Rounding[toyArgs]{Terms: "1", Slack: 0, Ulps: 3}, [2]float64{3*0x1p-22 + 0x1p-126, 3*0x1p-22 + 0x1p-126}},
	} {
		declareToy(name, c.sum)
		_, limit := limits(t, name+"_f32", "Sum", values(1, -2, 3, -4))
		require.Equal(t, c.limit, [2]float64{limit[0], limit[4]}, name)
	}
}

// narrowArgs has a Rounding output narrower than its accumulator.
type narrowArgs struct {
	X backend.View `kernel:"in T n"`
	Y backend.View `kernel:"out T n"`
}

// One rounding to the output's dtype is allowed where it is narrower than the accumulator.
func TestRoundingOfNarrowOutputs(t *testing.T) {
	kernel.Declare(kernel.Spec[narrowArgs]{Name: "toy_narrow", Family: "toys", Source: "definition", Vars: []string{"T"},
		Instances: [][]backend.DType{{backend.F32}, {backend.F16}},
		Reference: func(r *kernel.Ref, a *narrowArgs) error { r.Write(&a.Y, r.Read(&a.X)); return nil },
		Cost:      func(*backend.Call) kernel.Cost { return kernel.Cost{} },
		Tolerance: map[string]kernel.Tolerance{"Y": kernel.Rounding[narrowArgs]{Terms: "1", Slack: 1}}})
	r := newRig(t)
	for name, want := range map[string]float64{"toy_narrow_f32": 0x1p-24*3 + 0x1p-126, "toy_narrow_f16": 0x1p-24*3 + 0x1p-126 + 0x1p-9} {
		o := r.build(name, kernel.Case{Dims: kernel.Dims{"n": 1}, Fill: map[string]func(kernel.Rand, []float64){"X": values(3)}}, Layout{})
		e, err := o.Expect()
		require.NoError(t, err)
		_, limit, _ := e.Output(1)
		require.Equal(t, []float64{want}, limit)
		in, _, _ := e.Output(0)
		require.Nil(t, in)
	}
}

func TestULP(t *testing.T) {
	for _, c := range []struct {
		dt   backend.DType
		x    float64
		want float64
	}{
		{backend.F64, 1, 0x1p-52}, {backend.F32, 1, 0x1p-23}, {backend.F16, 1, 0x1p-10}, {backend.BF16, 1, 0x1p-7},
		{backend.F8E4M3, 1, .125}, {backend.F8E5M2, 1, .25}, {backend.F32, -3, 0x1p-22}, {backend.F32, 4, 0x1p-21},
		{backend.F32, 0x1p-130, 0x1p-149}, {backend.F16, 0x1p-20, 0x1p-24}, {backend.F8E4M3, 0x1p-9, 0x1p-9}, {backend.F8E5M2, 0, 0x1p-16},
		{backend.F64, 0x1p-1074, 0x1p-1074}, {backend.BF16, inf, 0x1p-133}, {backend.F16, nan, 0x1p-24}, {backend.I32, 5, 0},
	} {
		require.Equal(t, c.want, ULP(c.dt, c.x), "%s at %v", c.dt, c.x)
		if c.dt.Float() && !math.IsNaN(c.x) && !math.IsInf(c.x, 0) { // the next value of the dtype is that far
			next := kernel.Round(c.dt, math.Abs(c.x)+c.want)
			require.Equal(t, math.Abs(c.x)+c.want, next, "%s at %v", c.dt, c.x)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		got, want, limit, diff float64
		ok                     bool
	}{
		{1, 1, 0, 0, true}, {1, 2, 1, 1, true}, {1, 2.5, 1, 1.5, false}, {inf, inf, 0, inf, true}, {-inf, inf, inf, inf, false}, {1, inf, inf, inf, false}, {0, math.Copysign(0, -1), 0, 0, true},
	} {
		diff, ok := within(c.got, c.want, c.limit)
		require.Equal(t, c.ok, ok)
		require.Equal(t, c.diff, diff)
	}
	for _, c := range [][3]float64{{nan, 1, inf}, {1, nan, inf}} {
		_, ok := within(c[0], c[1], c[2])
		require.False(t, ok)
	}
	_, ok := within(nan, nan, 0)
	require.True(t, ok)
}
