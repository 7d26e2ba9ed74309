package kernel

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/likbench/likbench/backend"
)

// Mode says what a kernel does to an operand.
type Mode uint8

// Modes.
const (
	In Mode = iota
	Out
	InOut
)

// AxisRef is one axis of an operand: its index in Axes, and 1 for "axis+1".
type AxisRef struct {
	Axis int
	Plus int64
}

// Operand is what a tag says of one field.
type Operand struct {
	Name      string // field
	Snake     string // name in generated headers
	Mode      Mode
	Optional  bool
	Strided   bool
	IsOffsets bool
	TypeVar   int // index in Vars; -1 = DType is fixed
	Acc       bool
	DType     backend.DType
	Axes      []AxisRef
	Alias     int // operand that may share storage; -1 = none
	OffsetsOf int // axis that this operand's segments divide; -1 = none
	CountOf   int // axis whose live length this operand holds; -1 = none

	offset uintptr
}

// Type is the operand's dtype in an instance with these types.
func (o *Operand) Type(types [backend.MaxTypes]backend.DType) backend.DType {
	if o.TypeVar < 0 {
		return o.DType
	}
	t := types[o.TypeVar]
	if !o.Acc {
		return t
	}
	if t == backend.F64 {
		return backend.F64
	}
	return backend.F32
}

// Attr is an attribute field.
type Attr struct {
	Name, Snake string
	Kind        reflect.Kind // Float64, Int64, Bool, Uint8

	offset uintptr
}

// layout is everything the tags say.
type layout struct {
	axes     []string
	operands []Operand
	attrs    []Attr
}

var (
	viewType    = reflect.TypeFor[backend.View]()
	offsetsType = reflect.TypeFor[Offsets]()
)

func parseLayout(t reflect.Type, vars []string) (layout, error) {
	var l layout
	for i := range t.NumField() {
		f := t.Field(i)
		w := strings.Fields(f.Tag.Get("kernel"))
		switch {
		case len(w) == 0:
			return l, fmt.Errorf("%s: no kernel tag", f.Name)
		case !f.IsExported():
			return l, fmt.Errorf("%s: not exported", f.Name)
		}
		var err error
		if w[0] == "attr" {
			err = l.addAttr(f)
		} else {
			err = l.addOperand(f, w, vars)
		}
		if err != nil {
			return l, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if len(l.axes) > backend.MaxAxes || len(l.operands) > backend.MaxOperands ||
		len(l.attrs) > backend.MaxAttrs || len(vars) > backend.MaxTypes {
		return l, fmt.Errorf("%d axes, %d operands, %d attributes, %d type variables: more than a call holds",
			len(l.axes), len(l.operands), len(l.attrs), len(vars))
	}
	if err := l.checkReferences(vars); err != nil {
		return l, err
	}
	return l, l.checkNames()
}

// checkReferences looks for axes and type variables that nothing gives a value.
func (l *layout) checkReferences(vars []string) error {
	for i := range l.operands {
		o := &l.operands[i]
		sized := func(p Operand) bool {
			return slices.ContainsFunc(p.Axes, func(r AxisRef) bool { return r.Axis == o.CountOf })
		}
		if o.CountOf >= 0 && !slices.ContainsFunc(l.operands, sized) {
			return fmt.Errorf("%s: count of axis %q, which no operand has", o.Name, l.axes[o.CountOf])
		}
		if o.Acc && !slices.ContainsFunc(l.operands[:i], func(p Operand) bool { return p.TypeVar == o.TypeVar && !p.Acc && !p.Optional }) {
			return fmt.Errorf("%s: acc(%s) before a required operand of type %s", o.Name, vars[o.TypeVar], vars[o.TypeVar])
		}
	}
	for j, v := range vars {
		if !slices.ContainsFunc(l.operands, func(p Operand) bool { return p.TypeVar == j && !p.Acc && (j > 0 || !p.Optional) }) {
			return fmt.Errorf("type variable %s: no operand has it", v)
		}
	}
	return nil
}

func (l *layout) addAttr(f reflect.StructField) error {
	switch f.Type.Kind() {
	case reflect.Float64, reflect.Int64, reflect.Bool, reflect.Uint8:
	default:
		return fmt.Errorf("attribute of type %s: want float64, int64, bool or a uint8 enumeration", f.Type)
	}
	l.attrs = append(l.attrs, Attr{Name: f.Name, Snake: snake(f.Name), Kind: f.Type.Kind(), offset: f.Offset})
	return nil
}

func (l *layout) addOperand(f reflect.StructField, w, vars []string) error {
	if len(w) < 3 {
		return fmt.Errorf("tag %q: want mode, dtype, axes", strings.Join(w, " "))
	}
	o := Operand{Name: f.Name, Snake: snake(f.Name), TypeVar: -1, Alias: -1, OffsetsOf: -1, CountOf: -1, offset: f.Offset}
	mode := slices.Index([]string{"in", "out", "inout"}, w[0])
	if mode < 0 {
		return fmt.Errorf("mode %q", w[0])
	}
	o.Mode = Mode(mode)
	o.IsOffsets = f.Type == offsetsType
	if !o.IsOffsets && f.Type != viewType {
		return fmt.Errorf("type %s: want backend.View or kernel.Offsets", f.Type)
	}
	if err := o.parseType(w[1], vars); err != nil {
		return err
	}
	if w[2] != "-" {
		for _, a := range strings.Split(w[2], ",") {
			var r AxisRef
			if n, ok := strings.CutSuffix(a, "+1"); ok {
				a, r.Plus = n, 1
			}
			if !cName(a) {
				return fmt.Errorf("axis %q", a)
			}
			r.Axis = l.axis(a)
			o.Axes = append(o.Axes, r)
		}
	}
	if len(o.Axes) > backend.MaxRank {
		return fmt.Errorf("rank %d, at most %d", len(o.Axes), backend.MaxRank)
	}
	for _, x := range w[3:] {
		if err := l.option(&o, x); err != nil {
			return err
		}
	}
	switch {
	case o.Alias >= 0 && o.Mode != Out:
		return fmt.Errorf("alias is for outputs")
	case o.Strided && len(o.Axes) < 2:
		return fmt.Errorf("strided needs rows: at least two axes")
	case o.CountOf >= 0 && (o.DType != backend.I64 || o.Mode != In):
		return fmt.Errorf("a count is an input of type i64")
	}
	if o.IsOffsets != (o.OffsetsOf >= 0) || o.IsOffsets && (o.DType != backend.I64 || len(o.Axes) != 1 || o.Axes[0].Plus != 1) {
		return fmt.Errorf("offsets are a field of type Offsets with tag \"i64 n+1 offsets=axis\"")
	}
	l.operands = append(l.operands, o)
	return nil
}

func (o *Operand) parseType(s string, vars []string) error {
	if in, ok := strings.CutPrefix(s, "acc("); ok {
		v, closed := strings.CutSuffix(in, ")")
		if o.TypeVar = slices.Index(vars, v); o.TypeVar < 0 || !closed {
			return fmt.Errorf("dtype %q: acc takes a type variable", s)
		}
		o.Acc = true
		return nil
	}
	if o.DType = backend.ParseDType(s); o.DType == backend.Invalid {
		if o.TypeVar = slices.Index(vars, s); o.TypeVar < 0 {
			return fmt.Errorf("dtype %q", s)
		}
	}
	return nil
}

func (l *layout) option(o *Operand, x string) error {
	key, val, valued := strings.Cut(x, "=")
	switch {
	case (key == "offsets" || key == "count") && !cName(val):
		return fmt.Errorf("option %q: axis %q", x, val)
	case (key == "opt" || key == "strided") && valued:
		return fmt.Errorf("option %q takes no value", x)
	}
	switch key {
	case "opt":
		o.Optional = true
	case "strided":
		o.Strided = true
	case "alias":
		o.Alias = slices.IndexFunc(l.operands, func(p Operand) bool { return p.Name == val })
		if o.Alias < 0 {
			return fmt.Errorf("alias of unknown or later operand %q", val)
		}
	case "offsets":
		o.OffsetsOf = l.axis(val)
	case "count":
		o.CountOf = l.axis(val)
	default:
		return fmt.Errorf("option %q", x)
	}
	return nil
}

// cName reports whether an axis or kernel can be named s in generated C: lower snake case.
func cName(s string) bool {
	for i, c := range s {
		if (c < 'a' || c > 'z') && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}

func (l *layout) axis(name string) int {
	if i := slices.Index(l.axes, name); i >= 0 {
		return i
	}
	l.axes = append(l.axes, name)
	return len(l.axes) - 1
}

// deviceWords cannot name a member of the generated struct, in CUDA or in Metal.
var deviceWords = []string{"bool", "char", "short", "int", "long", "float", "double", "half", "bfloat", "signed", "unsigned", "void", "auto",
	"const", "constant", "device", "kernel", "thread", "threadgroup", "vertex", "fragment", "register", "volatile", "sampler", "texture"}

// checkNames keeps the members of the generated struct apart.
func (l *layout) checkNames() error {
	seen := map[string]string{}
	add := func(n, what string) error {
		if n == "" {
			return fmt.Errorf("empty %s name", what)
		}
		if slices.Contains(deviceWords, n) {
			return fmt.Errorf("%s %q is a word of a device language", what, n)
		}
		if was, ok := seen[n]; ok {
			return fmt.Errorf("%s %q collides with %s of the same name", what, n, was)
		}
		seen[n] = what
		return nil
	}
	for _, m := range l.members() {
		if err := add(m.Name, m.What); err != nil {
			return err
		}
	}
	return nil
}

// snake turns QueryOff into query_off and DX into dx.
func snake(s string) string {
	var b strings.Builder
	r := []rune(s)
	for i, c := range r {
		if unicode.IsUpper(c) && i > 0 && (unicode.IsLower(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1]) && unicode.IsUpper(r[i-1]) && i > 1) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}
