package kernel

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"sort"
	"sync"
	"unsafe"

	"github.com/likbench/likbench/backend"
)

// Instance is a kernel at fixed dtypes.
type Instance struct {
	Name  string // "rms_norm_bf16"; "rms_norm_bf16_f32" where the types differ
	Types [backend.MaxTypes]backend.DType
}

// Kernel is a declared kernel with operand struct A.
type Kernel[A any] struct {
	spec Spec[A]
	layout
	instances []Instance // in the order of Spec.Instances
	fixed     bool       // no axis is known from offsets alone
}

// Info is the untyped side of a kernel: for harness, docs, generators and backends.
type Info interface {
	Name() string
	Family() string
	Source() string
	Doc() string
	Vars() []string
	Instances() []Instance
	Axes() []string
	Operands() []Operand
	Attrs() []Attr
	Members() []Member
	Faults() []string
	Tolerance(field string) Tolerance
	Independent() string
	Cost(c *backend.Call) Cost
	Cases() []Case
	Bench() []Case
	Derive(c *Case)

	NewArgs() any                                   // *A
	View(args any, operand int) *backend.View       // the field's view; of Offsets, its View
	SetOffsets(args any, operand int, o Offsets)    // field of type Offsets
	OffsetsAt(args any, operand int) *Offsets       // nil for a plain view
	SetAttr(args any, name string, value any) error // float64, int64, bool, any integer for an enumeration
	Resolve(args any, c *backend.Call) (string, error)
	Reference(r *Ref, args any) error
	Scale(t Tolerance, r *Ref, args any) (scale, extra []float64) // nil: the reference on absolute inputs; none
	PrepareAny(s backend.Stream, args any, o ...Option) (Launcher, error)
	CloneArgs(args any) any // a copy that a graph may keep
}

var registry struct {
	sync.Mutex
	all []Info // append-only, sorted by name
}

// All lists the declared kernels by name.
func All() []Info {
	registry.Lock()
	defer registry.Unlock()
	return slices.Clone(registry.all)
}

// Find returns the kernel that has the instance, or nil.
func Find(instance string) (Info, Instance) {
	for _, k := range All() {
		for _, i := range k.Instances() {
			if i.Name == instance {
				return k, i
			}
		}
	}
	return nil, Instance{}
}

// Declare reads the tags once. It panics on a malformed declaration or a duplicate name:
// both are mistakes of ours, met at initialisation.
func Declare[A any](s Spec[A]) *Kernel[A] {
	l, err := parseLayout(reflect.TypeFor[A](), s.Vars)
	if err != nil {
		panic("kernel: " + s.Name + "." + err.Error())
	}
	k := &Kernel[A]{spec: s, layout: l}
	if k.instances, err = instances(s.Name, s.Vars, s.Instances); err != nil {
		panic("kernel: " + s.Name + ": " + err.Error())
	}
	if err := k.complete(); err != nil {
		panic("kernel: " + s.Name + ": " + err.Error())
	}
	k.fixed = k.offsetsDivideOperands()
	registry.Lock()
	defer registry.Unlock()
	for _, o := range registry.all {
		if o.Name() == s.Name {
			panic("kernel: " + s.Name + " declared twice")
		}
	}
	registry.all = append(registry.all, k)
	sort.Slice(registry.all, func(i, j int) bool { return registry.all[i].Name() < registry.all[j].Name() })
	return k
}

func instances(name string, vars []string, list [][]backend.DType) ([]Instance, error) {
	if len(vars) == 0 {
		if len(list) != 0 {
			return nil, fmt.Errorf("instances without type variables")
		}
		return []Instance{{Name: name}}, nil
	}
	var out []Instance
	for _, ds := range list {
		if len(ds) != len(vars) {
			return nil, fmt.Errorf("instance %v: want %d dtypes", ds, len(vars))
		}
		in := Instance{Name: name + "_" + ds[0].String()}
		copy(in.Types[:], ds)
		if slices.ContainsFunc(ds, func(d backend.DType) bool { return d != ds[0] }) {
			for _, d := range ds[1:] {
				in.Name += "_" + d.String()
			}
		}
		if slices.ContainsFunc(out, func(o Instance) bool { return o.Name == in.Name }) {
			return nil, fmt.Errorf("instance %s twice", in.Name)
		}
		out = append(out, in)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no instances")
	}
	return out, nil
}

// offsetsDivideOperands reports that each axis that offsets divide is one of an operand that
// every call has.
func (k *Kernel[A]) offsetsDivideOperands() bool {
	for _, o := range k.operands {
		has := func(p Operand) bool {
			return !p.Optional && slices.ContainsFunc(p.Axes, func(r AxisRef) bool { return r.Axis == o.OffsetsOf })
		}
		if o.IsOffsets && !slices.ContainsFunc(k.operands, has) {
			return false
		}
	}
	return true
}

// complete reports what a declaration leaves out.
func (k *Kernel[A]) complete() error {
	if !cName(k.spec.Name) {
		return fmt.Errorf("the name is not lower snake case")
	}
	if k.spec.Reference == nil || k.spec.Cost == nil || k.spec.Source == "" || k.spec.Family == "" {
		return fmt.Errorf("reference, cost, source and family are required")
	}
	outs := 0
	for _, o := range k.operands {
		if o.Mode == In {
			continue
		}
		outs++
		if err := k.completeTolerance(o.Name); err != nil {
			return err
		}
	}
	if outs != len(k.spec.Tolerance) {
		return fmt.Errorf("%d tolerances for %d outputs", len(k.spec.Tolerance), outs)
	}
	if k.spec.Independent != "" && !slices.Contains(k.axes, k.spec.Independent) {
		return fmt.Errorf("independent axis %q is not an axis", k.spec.Independent)
	}
	if len(k.spec.Faults) >= faultOffsets {
		return fmt.Errorf("%d fault codes, at most %d", len(k.spec.Faults), faultOffsets-1)
	}
	return nil
}

func (k *Kernel[A]) completeTolerance(output string) error {
	switch t := k.spec.Tolerance[output].(type) {
	case nil:
		return fmt.Errorf("output %s has no tolerance", output)
	case Rounding[A]:
		_, err := sum(t.Terms, func(name string) (int64, bool) { return 0, slices.Contains(k.axes, name) })
		return err
	case Winner:
		if _, ok := k.spec.Tolerance[t.Of].(Rounding[A]); !ok {
			return fmt.Errorf("winner %s of %q, which is no output with a Rounding", output, t.Of)
		}
	}
	return nil
}

// Name is the kernel's name, without dtypes.
func (k *Kernel[A]) Name() string { return k.spec.Name }

// Family is the folder of its device sources.
func (k *Kernel[A]) Family() string { return k.spec.Family }

// Source says where the algorithm comes from.
func (k *Kernel[A]) Source() string { return k.spec.Source }

// Doc says what it computes.
func (k *Kernel[A]) Doc() string { return k.spec.Doc }

// Vars names the type variables.
func (k *Kernel[A]) Vars() []string { return k.spec.Vars }

// Instances lists the dtypes it is declared for.
func (k *Kernel[A]) Instances() []Instance { return k.instances }

// Axes names the axes in order of first appearance: the index into Call.Axes.
func (k *Kernel[A]) Axes() []string { return k.axes }

// Operands lists the operands in declaration order: the index into Call.Operands.
func (k *Kernel[A]) Operands() []Operand { return k.operands }

// Attrs lists the attributes: the index into Call.Attrs.
func (k *Kernel[A]) Attrs() []Attr { return k.attrs }

// Faults are the data errors, from status code 1.
func (k *Kernel[A]) Faults() []string { return k.spec.Faults }

// Tolerance is the rule for an output field.
func (k *Kernel[A]) Tolerance(field string) Tolerance { return k.spec.Tolerance[field] }

// Independent is an axis along which outputs do not depend on one another, or "".
func (k *Kernel[A]) Independent() string { return k.spec.Independent }

// Cost is the compulsory work of a resolved call.
func (k *Kernel[A]) Cost(c *backend.Call) Cost { return k.spec.Cost(c) }

// Cases are the declared test cases.
func (k *Kernel[A]) Cases() []Case { return k.spec.Cases }

// Bench are the declared benchmark shapes.
func (k *Kernel[A]) Bench() []Case { return k.spec.Bench }

// Derive makes dependent sizes of a case fit.
func (k *Kernel[A]) Derive(c *Case) {
	if k.spec.Derive != nil {
		k.spec.Derive(c)
	}
}

// NewArgs returns a zero *A.
func (k *Kernel[A]) NewArgs() any { return new(A) }

// View points at an operand's view inside args.
func (k *Kernel[A]) View(args any, operand int) *backend.View {
	return k.view(args.(*A), operand)
}

func (k *Kernel[A]) view(a *A, i int) *backend.View {
	p := unsafe.Add(unsafe.Pointer(a), k.operands[i].offset)
	if k.operands[i].IsOffsets {
		return &(*Offsets)(p).View
	}
	return (*backend.View)(p)
}

// OffsetsAt points at an Offsets field, or is nil.
func (k *Kernel[A]) OffsetsAt(args any, operand int) *Offsets {
	if !k.operands[operand].IsOffsets {
		return nil
	}
	return (*Offsets)(unsafe.Add(unsafe.Pointer(args.(*A)), k.operands[operand].offset))
}

// SetOffsets sets an Offsets field.
func (k *Kernel[A]) SetOffsets(args any, operand int, o Offsets) {
	*k.OffsetsAt(args, operand) = o
}

// SetAttr sets an attribute by field name.
func (k *Kernel[A]) SetAttr(args any, name string, value any) error {
	for _, at := range k.attrs {
		if at.Name != name {
			continue
		}
		f := reflect.ValueOf(args).Elem().FieldByName(name)
		v := reflect.ValueOf(value)
		if !fits(v, f) {
			return &backend.ArgumentError{Kernel: k.spec.Name, Operand: name, Why: fmt.Sprintf("attribute is %v of type %T, want %s", value, value, f.Type())}
		}
		f.Set(v.Convert(f.Type()))
		return nil
	}
	return &backend.ArgumentError{Kernel: k.spec.Name, Operand: name, Why: "no such attribute"}
}

// fits reports whether converting v to the type of field f keeps its value.
func fits(v, f reflect.Value) bool {
	switch {
	case !v.IsValid():
		return false
	case f.Kind() == reflect.Bool:
		return v.Kind() == reflect.Bool
	case v.CanInt():
		return f.CanFloat() || f.CanInt() || v.Int() >= 0 && !f.OverflowUint(uint64(v.Int()))
	case v.CanUint():
		return f.CanFloat() || f.CanInt() && v.Uint() <= math.MaxInt64 || f.CanUint() && !f.OverflowUint(v.Uint())
	}
	return v.CanFloat() && f.CanFloat()
}

// Reference runs the float64 reference.
func (k *Kernel[A]) Reference(r *Ref, args any) error { return k.spec.Reference(r, args.(*A)) }

// Scale is the declared magnitude and further allowance of a Rounding, nil where it has none.
func (k *Kernel[A]) Scale(t Tolerance, r *Ref, args any) (scale, extra []float64) {
	round, ok := t.(Rounding[A])
	if !ok {
		return nil, nil
	}
	if round.Scale != nil {
		scale = round.Scale(r, args.(*A))
	}
	if round.Extra != nil {
		extra = round.Extra(r, args.(*A))
	}
	return scale, extra
}

// CloneArgs copies the operand struct.
func (k *Kernel[A]) CloneArgs(args any) any {
	c := *args.(*A)
	return &c
}
