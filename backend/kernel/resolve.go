package kernel

import (
	"math"
	"reflect"
	"unsafe"

	"github.com/likbench/likbench/backend"
)

// Resolve checks args against the tags and fills c. It allocates only to build an error,
// and returns the instance's name.
func (k *Kernel[A]) Resolve(args any, c *backend.Call) (string, error) {
	return k.resolve(args.(*A), c)
}

func (k *Kernel[A]) resolve(a *A, c *backend.Call) (string, error) {
	for i := range c.Axes {
		c.Axes[i] = -1
	}
	c.Types = [backend.MaxTypes]backend.DType{}
	c.Args, c.Kernel = a, k
	c.NOperand, c.NAxis, c.NAttr = uint8(len(k.operands)), uint8(len(k.axes)), uint8(len(k.attrs))
	for i := range k.operands {
		v := k.view(a, i)
		c.Operands[i] = *v
		if v.Absent() {
			if !k.operands[i].Optional {
				return "", k.wrong(i, "", "absent", 0, 0)
			}
			continue
		}
		if err := k.resolveOperand(a, i, c); err != nil {
			return "", err
		}
	}
	if err := k.resolveOffsets(a, c); err != nil {
		return "", err
	}
	for i := range c.Axes {
		c.Axes[i] = max(c.Axes[i], 0) // an axis of absent operands only
	}
	if err := k.resolveAliases(c); err != nil {
		return "", err
	}
	k.resolveAttrs(a, c)
	for i := 1; i < len(k.spec.Vars); i++ {
		if c.Types[i] == backend.Invalid {
			c.Types[i] = c.Types[0]
		}
	}
	if k.spec.Check != nil {
		if err := k.spec.Check(a); err != nil {
			return "", err
		}
	}
	for i := range k.instances {
		if k.instances[i].Types == c.Types {
			return k.instances[i].Name, nil
		}
	}
	return "", &backend.ArgumentError{Kernel: k.spec.Name, Why: "no instance for dtypes " + typeList(c.Types[:len(k.spec.Vars)])}
}

// again is resolve for operands that differ from those that c was resolved for in buffers,
// offsets into them and attributes only, which is what changes between the launches of a
// prepared one. It is false where it cannot tell, and leaves answers and errors to resolve.
func (k *Kernel[A]) again(a *A, d backend.Device, c *backend.Call) bool {
	moved := false
	for i := range k.operands {
		v, was := k.view(a, i), &c.Operands[i]
		if v.Rank != was.Rank || v.DType != was.DType || v.Stride != was.Stride || v.Dims != was.Dims {
			return false
		}
		if v.Buf == was.Buf && v.Off == was.Off {
			continue
		}
		if v.Buf == nil || was.Buf == nil || v.Buf.Device() != d {
			return false
		}
		was.Buf, was.Off = v.Buf, v.Off
		if k.resolveRange(i, was) != nil {
			return false
		}
		moved = true
	}
	c.Args = a
	k.resolveAttrs(a, c)
	return k.resolveOffsets(a, c) == nil && (!moved || k.resolveAliases(c) == nil) && (k.spec.Check == nil || k.spec.Check(a) == nil)
}

func typeList(ts []backend.DType) string {
	s := ""
	for i, t := range ts {
		if i > 0 {
			s += ","
		}
		s += t.String()
	}
	return s
}

func (k *Kernel[A]) wrong(i int, axis, why string, want, got int64) error {
	return &backend.ArgumentError{Kernel: k.spec.Name, Operand: k.operands[i].Name, Axis: axis, Why: why, Want: want, Got: got}
}

func (k *Kernel[A]) resolveOperand(a *A, i int, c *backend.Call) error {
	o, v := &k.operands[i], &c.Operands[i]
	if v.DType.Size() == 0 {
		return k.wrong(i, "", "dtype "+v.DType.String()+" is no element type", 0, 0)
	}
	if o.TypeVar >= 0 && !o.Acc && c.Types[o.TypeVar] == backend.Invalid {
		c.Types[o.TypeVar] = v.DType
	}
	if want := o.Type(c.Types); v.DType != want {
		return k.wrong(i, "", "dtype "+v.DType.String()+", want "+want.String(), 0, 0)
	}
	if int(v.Rank) != len(o.Axes) {
		return k.wrong(i, "", "rank", int64(len(o.Axes)), int64(v.Rank))
	}
	n := int64(1) // elements, empty axes counted as one, so that no product of axes overflows
	for j, r := range o.Axes {
		d := v.Dims[j] - r.Plus
		if d < 0 {
			return k.wrong(i, k.axes[r.Axis], "negative size", 0, d)
		}
		if have := c.Axes[r.Axis]; have < 0 {
			c.Axes[r.Axis] = d
		} else if have != d {
			return k.wrong(i, k.axes[r.Axis], "sizes differ between operands", have, d)
		}
		if v.Dims[j] > 0 && n > math.MaxInt64/8/v.Dims[j] {
			return k.wrong(i, k.axes[r.Axis], "too many elements", math.MaxInt64/8/n, d)
		}
		n *= max(v.Dims[j], 1)
	}
	return k.resolveRange(i, v)
}

// resolveRange checks stride, alignment and end of an operand.
func (k *Kernel[A]) resolveRange(i int, v *backend.View) error {
	o := &k.operands[i]
	if v.Stride != 0 {
		switch {
		case !o.Strided:
			return k.wrong(i, "", "a row stride is not declared for this operand", 0, v.Stride)
		case v.Rank < 2 || v.Stride < v.RowElements():
			return k.wrong(i, "", "row stride is less than a row", v.RowElements(), v.Stride)
		case v.Dims[0] > 0 && v.Stride > math.MaxInt64/8/v.Dims[0]:
			return k.wrong(i, "", "row stride is too large", math.MaxInt64/8/v.Dims[0], v.Stride)
		}
	}
	if size := v.DType.Size(); v.Off < 0 || v.Off&(size-1) != 0 { // sizes are powers of two; division takes longer than the rest
		return k.wrong(i, "", "byte offset is negative or no multiple of the element size", size, v.Off)
	}
	if have, n := v.Buf.Len(), v.Bytes(); v.Off > have || n > have-v.Off { // off + n may overflow
		return k.wrong(i, "", "past the end of its buffer", max(have-v.Off, 0), n)
	}
	return nil
}

func (k *Kernel[A]) resolveOffsets(a *A, c *backend.Call) error {
	for i := range k.operands {
		o := &k.operands[i]
		if !o.IsOffsets || c.Operands[i].Absent() {
			continue
		}
		off := (*Offsets)(unsafe.Add(unsafe.Pointer(a), o.offset))
		if !off.checked {
			return k.wrong(i, "", "offsets not made by NewOffsets or DeviceOffsets", 0, 0)
		}
		if off.N != off.View.Dims[0]-1 {
			return k.wrong(i, "", "offsets changed after they were checked", off.N, off.View.Dims[0]-1)
		}
		if off.Total < 0 || off.Max < 0 || off.Max > off.Total {
			return k.wrong(i, "", "longest segment and total of the offsets do not fit each other", off.Total, off.Max)
		}
		// Rows past the last offset are spare capacity, so that a captured graph can replay shorter inputs.
		if t := c.Axes[o.OffsetsOf]; t < 0 {
			c.Axes[o.OffsetsOf] = off.Total
		} else if off.Total > t {
			return k.wrong(i, k.axes[o.OffsetsOf], "offsets end past the axis", t, off.Total)
		}
	}
	return nil
}

// resolveAliases refuses outputs that overlap anything but their declared alias.
func (k *Kernel[A]) resolveAliases(c *backend.Call) error {
	for i := range k.operands {
		if k.operands[i].Mode == In {
			continue
		}
		p := &c.Operands[i]
		if p.Absent() {
			continue
		}
		n := p.Bytes()
		pe := p.Off + n
		for j := range k.operands {
			q := &c.Operands[j]
			if q.Buf != p.Buf || i == j || n == 0 {
				continue
			}
			m := q.Bytes()
			qe := q.Off + m
			if m == 0 {
				continue
			}
			if p.Off >= qe || q.Off >= pe {
				continue
			}
			if k.operands[i].Alias == j && p.Off == q.Off && pe == qe && p.RowStride() == q.RowStride() && p.DType == q.DType {
				continue
			}
			if k.operands[j].Mode != In && k.operands[j].Alias == i {
				continue // judged from the other side
			}
			return k.wrong(i, "", "overlaps operand "+k.operands[j].Name, 0, 0)
		}
	}
	return nil
}

func (k *Kernel[A]) resolveAttrs(a *A, c *backend.Call) {
	for i := range k.attrs {
		p := unsafe.Add(unsafe.Pointer(a), k.attrs[i].offset)
		switch k.attrs[i].Kind {
		case reflect.Float64:
			c.Attrs[i] = backend.Word(math.Float64bits(*(*float64)(p)))
		case reflect.Int64:
			c.Attrs[i] = backend.Word(*(*int64)(p))
		default:
			c.Attrs[i] = backend.Word(*(*uint8)(p))
		}
	}
}
