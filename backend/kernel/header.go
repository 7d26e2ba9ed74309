package kernel

import (
	"fmt"
	"reflect"
	"strings"
)

// Target is a language of device sources.
type Target uint8

// Targets of generated headers.
const (
	CUDA Target = iota
	MSL
)

// Member is one 8-byte word of the argument block.
type Member struct {
	Name string // snake case
	What string // "operand", "axis", "stride", "attribute", "block"
	Kind reflect.Kind
	Note string
}

// Members lists the words of the argument block in order: operand addresses, axes, row
// strides of strided operands, attributes, then scratch, scratch_bytes, status, tag.
func (k *Kernel[A]) Members() []Member { return k.members() }

func (l *layout) members() []Member {
	var m []Member
	for i := range l.operands {
		o := &l.operands[i]
		m = append(m, Member{o.Snake, "operand", reflect.Uint64, l.operandNote(o)})
	}
	for _, a := range l.axes {
		m = append(m, Member{a, "axis", reflect.Int64, ""})
	}
	for i := range l.operands {
		if o := &l.operands[i]; o.Strided {
			m = append(m, Member{o.Snake + "_stride", "stride", reflect.Int64, "elements between rows"})
		}
	}
	for _, a := range l.attrs {
		kind := reflect.Int64
		if a.Kind == reflect.Float64 {
			kind = reflect.Float64
		}
		m = append(m, Member{a.Snake, "attribute", kind, ""})
	}
	for _, b := range []Member{{Name: "scratch", Note: "address of the workspace"}, {Name: "scratch_bytes"},
		{Name: "status", Note: "address of the stream's status word"}, {Name: "tag", Note: "number of this binding in status words"}} {
		b.What, b.Kind = "block", reflect.Uint64
		m = append(m, b)
	}
	return m
}

func (l *layout) operandNote(o *Operand) string {
	var ax []string
	for _, r := range o.Axes {
		n := l.axes[r.Axis]
		if r.Plus > 0 {
			n += "+1"
		}
		ax = append(ax, n)
	}
	s := [...]string{"in", "out", "inout"}[o.Mode] + " [" + strings.Join(ax, ",") + "]"
	if o.Optional {
		s += ", 0 = absent"
	}
	return s
}

// Header is the generated C struct of a kernel's argument block: 8-byte words only, so
// that Go, CUDA and MSL cannot disagree on its layout. MSL has no double: the host puts a
// float into the low 4 bytes there.
func Header(k Info, t Target) string {
	var b strings.Builder
	guard := strings.ToUpper(k.Name()) + "_ARGS_H"
	fmt.Fprintf(&b, "// Code generated from the declaration of %s. DO NOT EDIT.\n#ifndef %s\n#define %s\n", k.Name(), guard, guard)
	integer, unsigned := "long long", "unsigned long long"
	if t == MSL {
		integer, unsigned = "long", "ulong"
	}
	fmt.Fprintf(&b, "struct %s_args {\n", k.Name())
	for _, m := range k.Members() {
		typ := integer
		switch {
		case m.Kind == reflect.Uint64:
			typ = unsigned
		case m.Kind == reflect.Float64 && t == CUDA:
			typ = "double"
		}
		note := ""
		if m.Note != "" {
			note = " // " + m.Note
		}
		if m.Kind == reflect.Float64 && t == MSL {
			fmt.Fprintf(&b, "  float %s; uint %s_pad;%s\n", m.Name, m.Name, note)
			continue
		}
		fmt.Fprintf(&b, "  %s %s;%s\n", typ, m.Name, note)
	}
	b.WriteString("};\n")
	if t == MSL {
		writeIndices(&b, k)
	}
	b.WriteString("#endif\n")
	return b.String()
}

// writeIndices names the buffer indices: operands in declaration order, then scratch,
// status and the block.
func writeIndices(b *strings.Builder, k Info) {
	up := strings.ToUpper(k.Name())
	n := 0
	for _, o := range k.Operands() {
		fmt.Fprintf(b, "#define %s_%s %d\n", up, strings.ToUpper(o.Snake), n)
		n++
	}
	for _, s := range []string{"SCRATCH", "STATUS", "ARGS"} {
		fmt.Fprintf(b, "#define %s_BUFFER_%s %d\n", up, s, n)
		n++
	}
}
