package harness

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/backend/kernel"
)

// toyArgs are operands of y = gain·x with a sum, a copy and the index of each row's largest
// element: one output under every tolerance.
type toyArgs struct {
	X    backend.View `kernel:"in T rows,n strided"`
	Live backend.View `kernel:"in i64 rows opt count=n"`
	Y    backend.View `kernel:"out T rows,n alias=X"`
	Sum  backend.View `kernel:"out acc(T) rows"`
	Copy backend.View `kernel:"out T rows,n opt"`
	At   backend.View `kernel:"out i32 rows opt"`
	Gain float64      `kernel:"attr"`
}

var _ = declareToy("toy", kernel.Rounding[toyArgs]{Terms: "n+2", Slack: 3})

func declareToy(name string, sum kernel.Rounding[toyArgs]) *kernel.Kernel[toyArgs] {
	return kernel.Declare(kernel.Spec[toyArgs]{
		Name: name, Family: "toys", Source: "definition", Vars: []string{"T"},
		Instances: [][]backend.DType{{backend.F32}, {backend.BF16}, {backend.F64}}, Reference: toyRef, Faults: []string{"thirteen"},
		Tolerance:   map[string]kernel.Tolerance{"Y": kernel.ULP(1), "Sum": sum, "Copy": kernel.Exact{}, "At": kernel.Winner{Of: "Sum"}},
		Independent: "rows",
		Cost:        func(c *backend.Call) kernel.Cost { return kernel.Cost{FLOP: 2 * float64(c.Axes[0]*c.Axes[1])} },
		Cases: []kernel.Case{
			{Name: "one", Dims: kernel.Dims{"rows": 1, "n": 1}, Absent: []string{"Live"}},
			{Name: "small", Dims: kernel.Dims{"rows": 5, "n": 4}, Absent: []string{"Live"}, Attrs: map[string]any{"Gain": 2.}},
		},
		Derive: func(c *kernel.Case) { c.Attrs["Gain"] = 3. },
	})
}

func toyRef(r *kernel.Ref, a *toyArgs) error {
	x := r.Read(&a.X)
	rows, n := int(a.X.Dims[0]), int(a.X.Dims[1])
	r.Write(&a.Copy, x)
	y, sum, at := make([]float64, len(x)), make([]float64, rows), make([]int64, rows)
	margin, scale := make([]float64, rows), make([]float64, rows)
	for i := range rows {
		best, second := math.Inf(-1), math.Inf(-1)
		for j := range n {
			v := x[i*n+j]
			if v == 13 {
				r.Fault(1, "X", int64(i*n+j))
			}
			y[i*n+j] = v * a.Gain
			sum[i] += v
			scale[i] = max(scale[i], math.Abs(v))
			if v > best {
				best, second, at[i] = v, best, int64(j)
			} else {
				second = max(second, v)
			}
		}
		margin[i] = best - second
	}
	r.Write(&a.Y, y)
	r.Write(&a.Sum, sum)
	r.WriteInts(&a.At, at)
	r.Margin("At", margin, scale)
	return nil
}

// small is a case of 5 rows of 4 elements; fill nil draws them.
func small(fill func(kernel.Rand, []float64), absent ...string) kernel.Case {
	c := kernel.Case{Name: "small", Dims: kernel.Dims{"rows": 5, "n": 4}, Attrs: map[string]any{"Gain": 2.}, Absent: append(absent, "Live")}
	if fill != nil {
		c.Fill = map[string]func(kernel.Rand, []float64){"X": fill}
	}
	return c
}

// rig is a host device, which computes the references, and what a faulty one would do after.
type rig struct {
	t *testing.T
	s backend.Stream
}

func newRig(t *testing.T) *rig {
	d, err := host.Backend{}.Open(0)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, d.Close(), "operands were not freed")
	})
	return &rig{t, s}
}

// instance finds a declared instance.
func instance(t *testing.T, name string) (kernel.Info, kernel.Instance) {
	k, in := kernel.Find(name)
	require.NotNil(t, k, name)
	return k, in
}

func (r *rig) build(name string, c kernel.Case, l Layout) *Operands {
	k, in := instance(r.t, name)
	o, err := Build(k, in, c, r.s, 1, l)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, o.Free()) })
	return o
}

// ran is operands of a case after a right launch, and what is expected of it.
func (r *rig) ran(name string, c kernel.Case, l Layout) (*Operands, *Expected) {
	o := r.build(name, c, l)
	e, err := o.Expect()
	require.NoError(r.t, err)
	r.launch(o)
	return o, e
}

func (r *rig) launch(o *Operands) {
	p, err := o.Kernel.PrepareAny(r.s, o.Args)
	require.NoError(r.t, err)
	require.NoError(r.t, p.LaunchAny(o.Args))
	require.NoError(r.t, p.Close())
}

// operand is the number and device view of a field.
func operand(o *Operands, field string) (int, *backend.View) {
	for i, op := range o.Kernel.Operands() {
		if op.Name == field {
			return i, o.Kernel.View(o.Args, i)
		}
	}
	panic("no operand " + field)
}

// poke writes one element of an operand, counted in memory from its start; elements before
// it and after its end are guards.
func (r *rig) poke(o *Operands, field string, at int64, x float64) {
	_, v := operand(o, field)
	raw := make([]byte, v.DType.Size())
	kernel.Encode(v.DType, raw, []float64{x})
	require.NoError(r.t, r.s.Upload(v.Buf, v.Off+at*v.DType.Size(), raw))
}

// peek reads an operand.
func (r *rig) peek(o *Operands, field string) []float64 {
	_, v := operand(o, field)
	return kernel.NewRef(o.Kernel, kernel.StreamMemory(r.s)).Read(v)
}

// mismatch requires that Compare finds something wrong.
func (r *rig) mismatch(o *Operands, e *Expected) *MismatchError {
	r.t.Helper()
	_, err := o.Compare(e)
	var m *MismatchError
	require.ErrorAs(r.t, err, &m)
	return m
}

// values fills an operand.
func values(x ...float64) func(kernel.Rand, []float64) {
	return func(_ kernel.Rand, dst []float64) {
		for i := range dst {
			dst[i] = x[i%len(x)]
		}
	}
}
