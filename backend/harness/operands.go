package harness

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// Layout says how operands lie in memory.
type Layout struct {
	Guard   int64 // bytes before and after each operand that must not change
	Shift   int64 // elements by which each operand is off its natural alignment
	Strided bool  // rows of strided operands are apart
	InPlace bool  // outputs with a declared alias take that operand's storage
	Device  bool  // offsets are declared as written by a kernel: unchecked, read on the device
}

// Fill bytes. A guard is NaN in every float dtype, so that a read past an operand shows in
// the outputs. Poison is a finite number in every float dtype and no plausible result.
const (
	guardByte  = 0xFF
	poisonByte = 0xFB
)

// ErrOtherInstance is a case whose absent operands leave a type variable open, so that it
// belongs to another instance: a variable takes T's type then.
var ErrOtherInstance = errors.New("the case belongs to another instance")

// strideGap is the elements between rows of a strided operand.
const strideGap = 3

// Operands is a case in device memory with the host's images of it.
type Operands struct {
	Kernel   kernel.Info
	Instance kernel.Instance
	Case     kernel.Case
	Args     any // operand struct with views of device buffers
	Call     backend.Call
	Seed     uint64

	stream  backend.Stream
	layout  Layout
	host    any    // operand struct with views of images
	slots   []slot // by operand
	buffers []backend.Buffer
	sampled *sampled
}

// slot is one operand's buffer.
type slot struct {
	buf     backend.Buffer
	at      int64  // byte offset of the operand inside the buffer
	initial []byte // whole buffer as uploaded, guards included
	owner   int    // operand that owns the buffer: another one when in place
}

// Build draws a case's data and uploads it. Whoever builds operands frees them.
func Build(k kernel.Info, in kernel.Instance, c kernel.Case, s backend.Stream, seed uint64, l Layout) (*Operands, error) {
	o := &Operands{Kernel: k, Instance: in, Case: c, Seed: seed, stream: s, layout: l,
		Args: k.NewArgs(), host: k.NewArgs(), slots: make([]slot, len(k.Operands()))}
	err := o.build()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("harness: %s, case %s: %w", in.Name, c.Name, err), o.Free())
	}
	return o, nil
}

// Use makes later transfers go through s, a stream of the same device. What was uploaded before
// must have arrived, which Sync of the stream of Build shows.
func (o *Operands) Use(s backend.Stream) { o.stream = s }

func (o *Operands) build() error {
	for name, v := range o.Case.Attrs {
		if err := errors.Join(o.Kernel.SetAttr(o.Args, name, v), o.Kernel.SetAttr(o.host, name, v)); err != nil {
			return err
		}
	}
	lens, err := o.dims()
	if err != nil {
		return err
	}
	for i := range o.Kernel.Operands() {
		if err := o.operand(i, lens); err != nil {
			return fmt.Errorf("operand %s: %w", o.Kernel.Operands()[i].Name, err)
		}
	}
	name, err := o.Kernel.Resolve(o.Args, &o.Call)
	if err == nil && name != o.Instance.Name {
		err = fmt.Errorf("%w: %s", ErrOtherInstance, name)
	}
	return err
}

// dims completes the case's sizes from the segment lengths of ragged axes.
func (o *Operands) dims() (map[string][]int64, error) {
	axes, d := o.Kernel.Axes(), o.Case.Dims.Clone()
	lens := map[string][]int64{}
	for _, op := range o.Kernel.Operands() {
		if !op.IsOffsets {
			continue
		}
		ragged, segments := axes[op.OffsetsOf], axes[op.Axes[0].Axis]
		l, ok := o.Case.Lens[ragged]
		if n, sized := d[segments]; !ok && sized {
			l = lengths(n, o.Seed, ragged)
		} else if !ok {
			return nil, fmt.Errorf("axis %s has no size, and axis %s no segment lengths", segments, ragged)
		}
		if n, ok := d[segments]; ok && n != int64(len(l)) {
			return nil, fmt.Errorf("axis %s is %d but has %d segment lengths", segments, n, len(l))
		}
		d[segments] = int64(len(l))
		var total int64
		for _, n := range l {
			total += n
		}
		if _, ok := d[ragged]; !ok {
			d[ragged] = total
		}
		lens[ragged] = l
	}
	for _, a := range axes {
		if _, ok := d[a]; !ok {
			return nil, fmt.Errorf("axis %s has no size", a)
		}
	}
	o.Case.Dims = d
	return lens, nil
}

func (o *Operands) operand(i int, lens map[string][]int64) error {
	op := &o.Kernel.Operands()[i]
	if slices.Contains(o.Case.Absent, op.Name) {
		if !op.Optional {
			return fmt.Errorf("not optional, but the case leaves it out")
		}
		return nil
	}
	t := op.Type(o.Instance.Types)
	dims := make([]int64, len(op.Axes))
	n := int64(1)
	for j, a := range op.Axes {
		dims[j] = o.Case.Dims[o.Kernel.Axes()[a.Axis]] + a.Plus
		n *= dims[j]
	}
	hv := backend.NewView(nil, 0, t, dims...)
	if op.Strided && o.layout.Strided && len(dims) > 1 {
		hv.Stride = hv.RowElements() + strideGap
	}
	raw := make([]byte, hv.Bytes())
	switch {
	case op.IsOffsets:
		prefix(raw, lens[o.Kernel.Axes()[op.OffsetsOf]])
		if f := o.Case.Fill[op.Name]; f != nil { // wrong offsets on purpose
			o.perturb(op, f, raw)
		}
	case op.Mode == kernel.Out:
		fillBytes(raw, poisonByte)
	default:
		o.drawRows(op, t, &hv, raw)
	}
	hv.Buf = &image{raw}
	*o.Kernel.View(o.host, i) = hv
	dv, err := o.place(i, op, hv, raw)
	if err != nil {
		return err
	}
	return o.setViews(i, op, dv, raw)
}

func (o *Operands) drawRows(op *kernel.Operand, t backend.DType, v *backend.View, raw []byte) {
	var count int64
	if op.CountOf >= 0 {
		count = o.Case.Dims[o.Kernel.Axes()[op.CountOf]]
	}
	if v.Stride == 0 || v.Elements() == 0 {
		draw(o.Kernel, op, t, &o.Case, count, o.Seed, raw)
		return
	}
	dense := make([]byte, v.Elements()*t.Size())
	draw(o.Kernel, op, t, &o.Case, count, o.Seed, dense)
	fillBytes(raw, guardByte)
	row := v.RowElements() * t.Size()
	for r := range v.Dims[0] {
		copy(raw[r*v.Stride*t.Size():], dense[r*row:(r+1)*row])
	}
}

func prefix(raw []byte, lens []int64) {
	var at int64
	for i, n := range lens {
		at += n
		binary.LittleEndian.PutUint64(raw[8*(i+1):], uint64(at))
	}
}

func (o *Operands) perturb(op *kernel.Operand, f func(kernel.Rand, []float64), raw []byte) {
	x := make([]float64, len(raw)/8)
	kernel.Decode(backend.I64, x, raw)
	f(random(o.Seed, o.Kernel.Name()+"."+op.Name), x)
	kernel.Encode(backend.I64, raw, x)
}

func fillBytes(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

// place allocates and uploads an operand, or shares its alias's storage.
func (o *Operands) place(i int, op *kernel.Operand, v backend.View, raw []byte) (backend.View, error) {
	if o.layout.InPlace && op.Alias >= 0 {
		in := *o.Kernel.View(o.Args, op.Alias)
		if !in.Absent() && in.Stride == 0 && in.DType == v.DType && in.Bytes() == v.Bytes() {
			o.slots[i] = o.slots[op.Alias]
			o.slots[i].owner = op.Alias
			return in, nil
		}
	}
	at := o.layout.Guard/64*64 + o.layout.Shift*v.DType.Size()
	whole := raw
	if at > 0 || o.layout.Guard > 0 {
		whole = make([]byte, at+int64(len(raw))+o.layout.Guard)
		fillBytes(whole, guardByte)
		copy(whole[at:], raw)
	}
	buf, err := o.stream.Device().Alloc(int64(len(whole)))
	if err != nil {
		return v, err
	}
	o.buffers = append(o.buffers, buf)
	if err := o.stream.Upload(buf, 0, whole); err != nil {
		return v, err
	}
	o.slots[i] = slot{buf: buf, at: at, owner: i}
	if o.layout.Guard > 0 {
		o.slots[i].initial = whole
	}
	v.Buf, v.Off = buf, at
	return v, nil
}

func (o *Operands) setViews(i int, op *kernel.Operand, v backend.View, raw []byte) error {
	if !op.IsOffsets {
		*o.Kernel.View(o.Args, i) = v
		return nil
	}
	hv := *o.Kernel.View(o.host, i)
	off := make([]int64, len(raw)/8)
	for j := range off {
		off[j] = int64(binary.LittleEndian.Uint64(raw[8*j:]))
	}
	total := o.Case.Dims[o.Kernel.Axes()[op.OffsetsOf]]
	if o.layout.Device {
		o.Kernel.SetOffsets(o.Args, i, kernel.DeviceOffsets(v, total, total))
		o.Kernel.SetOffsets(o.host, i, kernel.DeviceOffsets(hv, total, total))
		return nil
	}
	checked, err := kernel.NewOffsetsAt(o.stream, v.Buf, v.Off, off)
	if err != nil {
		return err
	}
	o.Kernel.SetOffsets(o.Args, i, checked)
	checked.View = hv
	o.Kernel.SetOffsets(o.host, i, checked)
	return nil
}

// Measure is the device memory and the cost of a case, without making it.
func Measure(k kernel.Info, in kernel.Instance, c kernel.Case) (bytes int64, cost kernel.Cost, err error) {
	o := &Operands{Kernel: k, Instance: in, Case: c, Args: k.NewArgs(), Seed: Seed(c.Name)}
	if _, err = o.dims(); err != nil {
		return 0, cost, err
	}
	var call backend.Call
	for i, a := range k.Axes() {
		call.Axes[i] = o.Case.Dims[a]
	}
	call.Types = in.Types
	for i := range k.Operands() {
		op := &k.Operands()[i]
		if slices.Contains(c.Absent, op.Name) {
			continue
		}
		v := &call.Operands[i]
		v.Buf, v.DType, v.Rank = &image{}, op.Type(in.Types), uint8(len(op.Axes))
		for j, a := range op.Axes {
			v.Dims[j] = o.Case.Dims[k.Axes()[a.Axis]] + a.Plus
		}
		bytes += v.Bytes()
	}
	return bytes, k.Cost(&call), nil
}

// Repoison writes the poison over the outputs that no input shares, and the inputs back
// where outputs were in place.
func (o *Operands) Repoison() error {
	for i := range o.slots {
		s := &o.slots[i]
		if s.initial == nil || s.owner != i {
			continue
		}
		if err := o.stream.Upload(s.buf, 0, s.initial); err != nil {
			return err
		}
	}
	return nil
}

// Bytes is the device memory that the operands take.
func (o *Operands) Bytes() int64 {
	var n int64
	for _, b := range o.buffers {
		n += b.Len()
	}
	return n
}

// Free releases the buffers.
func (o *Operands) Free() error {
	var errs []error
	for _, b := range o.buffers {
		errs = append(errs, b.Free())
	}
	o.buffers = nil
	return errors.Join(errs...)
}
