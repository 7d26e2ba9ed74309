package harness

import (
	"math"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// Expected is what the reference says of a case.
type Expected struct {
	Status uint64 // status word with tag 0; 0 = no data error

	outputs []expectedOutput // by operand; inputs are empty
}

type expectedOutput struct {
	want  []float64 // as stored: rounded to the output's dtype
	ints  []int64   // of an i64 output: all its bits, which float64 does not hold
	limit []float64 // largest difference allowed; nil = exact
	check []bool    // of an index: whether its margin decides; nil = all
}

// Output is what is expected of an operand, row-major: values as stored, the largest
// differences allowed (nil: none), and of an index whether its margin decides (nil: it
// always does). All are nil for inputs and absent outputs.
func (e *Expected) Output(operand int) (want, limit []float64, decided []bool) {
	o := &e.outputs[operand]
	return o.want, o.limit, o.check
}

// Expect runs the reference on copies of the operands.
func (o *Operands) Expect() (*Expected, error) {
	return expect(o.Kernel, o.Instance, o.host, &o.Call)
}

// IgnoreValues leaves only guards and inputs to compare: after a fault whose outputs are
// unspecified.
func (e *Expected) IgnoreValues() {
	for i := range e.outputs {
		e.outputs[i].check = make([]bool, len(e.outputs[i].want))
	}
}

func expect(k kernel.Info, in kernel.Instance, host any, c *backend.Call) (*Expected, error) {
	args := withFreshOutputs(k, host)
	r := kernel.NewRef(k, images{})
	if err := runReference(k, r, args); err != nil {
		return nil, err
	}
	e := &Expected{Status: r.Status(), outputs: make([]expectedOutput, len(k.Operands()))}
	var abs any // the reference on absolute inputs, run once when a tolerance asks
	for i, op := range k.Operands() {
		v := k.View(args, i)
		if op.Mode == kernel.In || v.Absent() {
			continue
		}
		out := &e.outputs[i]
		out.want = readAll(v)
		if v.DType == backend.I64 {
			out.ints = kernel.NewRef(k, images{}).Ints(v)
		}
		tol := k.Tolerance(op.Name)
		var err error
		switch t := tol.(type) {
		case kernel.Exact:
		case kernel.ULP:
			out.limit = ulpLimits(v.DType, out.want, float64(t))
		case kernel.Winner:
			out.check, err = decided(k, in, c, r, op.Name, t)
		default:
			if abs == nil {
				if abs, err = absoluteReference(k, host); err != nil {
					return nil, err
				}
			}
			out.limit, err = roundingLimits(k, in, c, tol, args, host, abs, i, out.want)
		}
		if err != nil {
			return nil, err
		}
	}
	return e, nil
}

func runReference(k kernel.Info, r *kernel.Ref, args any) error {
	if err := k.Reference(r, args); err != nil {
		return err
	}
	return r.Err()
}

func absoluteReference(k kernel.Info, host any) (any, error) {
	abs := withFreshOutputs(k, host)
	return abs, runReference(k, kernel.NewRef(k, images{}).Absolute(), abs)
}

// withFreshOutputs copies an operand struct of images, with new memory for the outputs.
func withFreshOutputs(k kernel.Info, host any) any {
	args := k.CloneArgs(host)
	for i, op := range k.Operands() {
		v := k.View(args, i)
		if op.Mode == kernel.In || v.Absent() {
			continue
		}
		m := make([]byte, v.Bytes())
		if op.Mode == kernel.InOut {
			copy(m, v.Buf.(*image).b)
		}
		v.Buf, v.Off = &image{m}, 0
	}
	return args
}

func readAll(v *backend.View) []float64 { return kernel.NewRef(nil, images{}).Read(v) }

// bounds is what a Rounding exports.
type bounds interface{ Bounds() kernel.Bounds }

// unit is the accumulator's unit roundoff and smallest normal for an instance.
func unit(in kernel.Instance, b kernel.Bounds) (u, tiny float64) {
	u, tiny = 0x1p-24, 0x1p-126
	if in.Types[0] == backend.F64 {
		u, tiny = 0x1p-53, 0x1p-1022
	}
	if b.Unit > 0 {
		u = b.Unit
	}
	return u, tiny
}

func termsOf(k kernel.Info, c *backend.Call, terms string) (float64, error) {
	return kernel.Sum(terms, func(name string) (int64, bool) {
		for i, a := range k.Axes() {
			if a == name {
				return c.Axes[i], true
			}
		}
		return 0, false
	})
}

func roundingLimits(k kernel.Info, in kernel.Instance, c *backend.Call, tol kernel.Tolerance, args, host, abs any, i int, want []float64) ([]float64, error) {
	b := tol.(bounds).Bounds()
	terms, err := termsOf(k, c, b.Terms)
	if err != nil {
		return nil, err
	}
	scale, extra := k.Scale(tol, kernel.NewRef(k, images{}), host)
	if scale == nil {
		scale = readAll(k.View(abs, i))
	}
	t := k.View(args, i).DType
	u, tiny := unit(in, b)
	ulps := b.Ulps
	if ulps == 0 && t.Size() < 4 {
		ulps = 1
	}
	limit := make([]float64, len(want))
	for j, w := range want {
		s := scale[j]
		if math.IsNaN(s) || math.IsInf(s, 0) {
			s = math.Abs(w) // the magnitude overflowed or met a NaN that the value did not
		}
		limit[j] = b.Slack*u*terms*s + terms*tiny + ulps*ULP(t, w)
		if extra != nil {
			limit[j] += extra[j]
		}
	}
	return limit, nil
}

func ulpLimits(t backend.DType, want []float64, n float64) []float64 {
	limit := make([]float64, len(want))
	for i, w := range want {
		limit[i] = n * ULP(t, w)
	}
	return limit
}

// decided marks the indices whose margin over the runner-up exceeds the rounding of both.
func decided(k kernel.Info, in kernel.Instance, c *backend.Call, r *kernel.Ref, field string, w kernel.Winner) ([]bool, error) {
	b := k.Tolerance(w.Of).(bounds).Bounds()
	terms, err := termsOf(k, c, b.Terms)
	if err != nil {
		return nil, err
	}
	u, tiny := unit(in, b)
	m, _ := r.Margins(field)
	check := make([]bool, len(m.Margin))
	for i, margin := range m.Margin {
		limit := 2 * (b.Slack*u*terms*m.Scale[i] + terms*tiny)
		// Small integers are exact in every format: a margin of 0 there is a tie, decided by index.
		check[i] = margin > limit || exactTie(margin, m.Scale[i])
	}
	return check, nil
}

// exactTie reports ties between candidates whose arithmetic was exact: integers small
// enough that no sum rounds.
func exactTie(margin, scale float64) bool {
	return margin == 0 && scale == math.Trunc(scale) && scale < 1<<11
}

// ULP is the spacing of a dtype at x.
func ULP(t backend.DType, x float64) float64 {
	bits, least := 0, 0.0
	switch t {
	case backend.F64:
		bits, least = 52, 0x1p-1074
	case backend.F32:
		bits, least = 23, 0x1p-149
	case backend.F16:
		bits, least = 10, 0x1p-24
	case backend.BF16:
		bits, least = 7, 0x1p-133
	case backend.F8E4M3:
		bits, least = 3, 0x1p-9
	case backend.F8E5M2:
		bits, least = 2, 0x1p-16
	default:
		return 0
	}
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return least
	}
	_, e := math.Frexp(x)
	return math.Max(math.Ldexp(1, e-1-bits), least)
}
