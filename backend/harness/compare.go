package harness

import (
	"bytes"
	"fmt"
	"math"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// Result is how outputs compared with the reference.
type Result struct {
	Worst  float64 // largest difference over its limit; 0 where everything is exact
	Error  float64 // largest difference
	Field  string  // output of Worst
	Values int64   // outputs compared
}

// MismatchError is an output outside its tolerance, or memory that should not have changed.
type MismatchError struct {
	Kernel, Case, Field string
	Seed                uint64
	Dims                kernel.Dims
	Index               int64
	Got, Want, Limit    float64
	Count               int64 // outputs of the field that are wrong
	Why                 string
}

func (e *MismatchError) Error() string {
	s := fmt.Sprintf("harness: %s, case %s (seed %d, %v): output %s", e.Kernel, e.Case, e.Seed, e.Dims, e.Field)
	if e.Why != "" {
		return s + ": " + e.Why
	}
	return fmt.Sprintf("%s[%d] is %v, want %v within %.3g; %d wrong", s, e.Index, e.Got, e.Want, e.Limit, e.Count)
}

func (o *Operands) mismatch(field string) *MismatchError {
	return &MismatchError{Kernel: o.Instance.Name, Case: o.Case.Name, Field: field, Seed: o.Seed, Dims: o.Case.Dims}
}

// Compare downloads the outputs and holds them against e. With guards it also checks that
// nothing else changed.
func (o *Operands) Compare(e *Expected) (Result, error) {
	var res Result
	for i, op := range o.Kernel.Operands() {
		v := o.Kernel.View(o.Args, i)
		if v.Absent() {
			continue
		}
		raw, err := o.download(i, v)
		if err != nil {
			return res, err
		}
		if err := o.checkUnchanged(i, &op, v, raw); err != nil {
			return res, err
		}
		if op.Mode == kernel.In {
			continue
		}
		whole := *v
		whole.Buf = &image{raw}
		if o.slots[i].initial == nil {
			whole.Off = 0
		}
		got := kernel.NewRef(o.Kernel, images{}).Read(&whole)
		if err := o.compareField(op.Name, got, &e.outputs[i], &res); err != nil {
			return res, err
		}
		if err := o.compareInts(op.Name, &whole, &e.outputs[i]); err != nil {
			return res, err
		}
	}
	return res, nil
}

// download reads the whole buffer where there are guards to check, else the operand.
func (o *Operands) download(i int, v *backend.View) ([]byte, error) {
	s := &o.slots[i]
	if s.initial != nil {
		raw := make([]byte, s.buf.Len())
		return raw, o.stream.Download(raw, s.buf, 0)
	}
	if o.Kernel.Operands()[i].Mode == kernel.In {
		return nil, nil
	}
	raw := make([]byte, v.Bytes())
	return raw, o.stream.Download(raw, v.Buf, v.Off)
}

// checkUnchanged compares guards, and inputs that no output shares, with what was uploaded.
func (o *Operands) checkUnchanged(i int, op *kernel.Operand, v *backend.View, raw []byte) error {
	s := &o.slots[i]
	if s.initial == nil {
		return nil
	}
	lo, hi := v.Off, v.Off+v.Bytes()
	why := ""
	switch {
	case !bytes.Equal(raw[:lo], s.initial[:lo]):
		why = "bytes before it were written"
	case !bytes.Equal(raw[hi:], s.initial[hi:]):
		why = "bytes after it were written"
	case op.Mode == kernel.In && !o.shared(i) && !bytes.Equal(raw[lo:hi], s.initial[lo:hi]):
		why = "the input was written"
	default:
		return nil
	}
	m := o.mismatch(op.Name)
	m.Why = why
	return m
}

func (o *Operands) shared(i int) bool {
	for j := range o.slots {
		if j != i && o.slots[j].buf != nil && o.slots[j].owner == i {
			return true
		}
	}
	return false
}

func (o *Operands) compareField(field string, got []float64, e *expectedOutput, res *Result) error {
	m := o.mismatch(field)
	worst := -1.0
	for i, g := range got {
		if e.check != nil && !e.check[i] {
			continue
		}
		res.Values++
		w, limit := e.want[i], 0.0
		if e.limit != nil {
			limit = e.limit[i]
		}
		diff, ok := within(g, w, limit)
		if ok {
			if diff > res.Error {
				res.Error = diff
			}
			if limit > 0 && diff/limit > res.Worst {
				res.Worst, res.Field = diff/limit, field
			}
			continue
		}
		m.Count++
		if over := diff / math.Max(limit, math.SmallestNonzeroFloat64); over > worst || math.IsNaN(diff) && m.Count == 1 {
			worst, m.Index, m.Got, m.Want, m.Limit = over, int64(i), g, w, limit
		}
	}
	if m.Count > 0 {
		return m
	}
	return nil
}

// compareInts compares all bits of an i64 output: sums in fixed point have more of them
// than float64 keeps.
func (o *Operands) compareInts(field string, v *backend.View, e *expectedOutput) error {
	if e.ints == nil || e.check != nil {
		return nil
	}
	m := o.mismatch(field)
	for i, g := range kernel.NewRef(o.Kernel, images{}).Ints(v) {
		if w := e.ints[i]; g != w {
			if m.Count == 0 {
				m.Why = fmt.Sprintf("element %d is %d, want %d exactly", i, g, w)
			}
			m.Count++
		}
	}
	if m.Count > 0 {
		return m
	}
	return nil
}

// within compares one value. NaN must meet NaN and an infinity itself.
func within(got, want, limit float64) (diff float64, ok bool) {
	if math.IsNaN(want) || math.IsNaN(got) {
		return math.NaN(), math.IsNaN(want) && math.IsNaN(got)
	}
	if math.IsInf(want, 0) || math.IsInf(got, 0) {
		return math.Inf(1), got == want
	}
	diff = math.Abs(got - want)
	return diff, diff <= limit
}

// Outputs downloads the raw bytes of every present output, by operand name.
func (o *Operands) Outputs() (map[string][]byte, error) {
	out := map[string][]byte{}
	for i, op := range o.Kernel.Operands() {
		v := o.Kernel.View(o.Args, i)
		if op.Mode == kernel.In || v.Absent() {
			continue
		}
		raw := make([]byte, v.Bytes())
		if err := o.stream.Download(raw, v.Buf, v.Off); err != nil {
			return nil, err
		}
		out[op.Name] = raw
	}
	return out, nil
}
