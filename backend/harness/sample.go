package harness

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// maxReference is the multiply-adds that parity before timing may spend on the reference:
// a scalar f64 dot of 128 takes 82 ns, so this is about 15 s in the worst case and mostly
// one or two.
const maxReference = 2e8

// CompareSample holds the outputs against the reference along the kernel's independent
// axis: the whole of it where the reference costs no more than limit multiply-adds (0 =
// 2e8), else a seeded sample with the first and last indices. A kernel without such an axis
// is compared whole. What the reference said is kept for further variants.
func (o *Operands) CompareSample(limit float64) (Result, error) {
	if o.sampled == nil {
		s, err := o.sample(limit)
		if err != nil {
			return Result{}, err
		}
		o.sampled = s
	}
	if o.sampled.subset == nil {
		return o.Compare(o.sampled.expected)
	}
	return o.sampled.subset.compare(o, o.sampled.expected)
}

// sampled is a reference result: of the whole case, or of a subset.
type sampled struct {
	expected *Expected
	subset   *Subset
}

func (o *Operands) sample(limit float64) (*sampled, error) {
	if limit <= 0 {
		limit = maxReference
	}
	axis := slices.Index(o.Kernel.Axes(), o.Kernel.Independent())
	work := o.work()
	if axis < 0 || work <= limit {
		e, err := o.Expect()
		return &sampled{expected: e}, err
	}
	n := o.Call.Axes[axis]
	take := min(max(int64(float64(n)*limit/work), 4), n)
	sub, err := o.Subset(o.pick(n, take))
	if err != nil {
		return nil, err
	}
	e, err := expect(sub.Kernel, o.Instance, sub.args, &sub.call)
	return &sampled{e, sub}, err
}

// work is the reference's multiply-adds, or a quarter of its traffic where it has none.
func (o *Operands) work() float64 {
	c := o.Kernel.Cost(&o.Call)
	return math.Max(c.FLOP/2+20*c.Special, (c.Read+c.Write)/4)
}

// pick draws indices without repetition, ascending: both ends, then while they fit both
// sides of the powers of two, where tiles end, then others.
func (o *Operands) pick(n, take int64) []int64 {
	r := random(o.Seed, "sample")
	seen := map[int64]bool{}
	add := func(i int64) {
		if i >= 0 && i < n && int64(len(seen)) < take {
			seen[i] = true
		}
	}
	for _, i := range []int64{0, n - 1, 1, n - 2} {
		add(i)
	}
	for edge := int64(16); edge < n && edge <= 1<<10; edge *= 2 {
		add(edge - 1)
		add(edge)
	}
	for int64(len(seen)) < take {
		add(r.Int64N(n))
	}
	out := make([]int64, 0, len(seen))
	for i := range seen {
		out = append(out, i)
	}
	slices.Sort(out)
	return out
}

// Subset is a case reduced to some indices of its independent axis, in host memory.
type Subset struct {
	Kernel  kernel.Info
	Indices []int64

	axis   int
	args   any
	call   backend.Call
	parent *Operands
	ragged int // axis whose segments belong to the indices, -1 = none
	lens   []int64
}

// Subset gathers the operands of some indices of the independent axis, ascending.
func (o *Operands) Subset(indices []int64) (*Subset, error) {
	s := &Subset{Kernel: o.Kernel, Indices: indices, parent: o, ragged: -1,
		axis: slices.Index(o.Kernel.Axes(), o.Kernel.Independent()), args: o.Kernel.CloneArgs(o.host)}
	if s.axis < 0 {
		return nil, fmt.Errorf("harness: %s has no independent axis", o.Kernel.Name())
	}
	var starts []int64 // first row of each chosen segment
	for i, op := range o.Kernel.Operands() {
		if op.IsOffsets && op.Axes[0].Axis == s.axis {
			s.ragged = op.OffsetsOf
			starts = s.segments(i)
		}
	}
	for i, op := range o.Kernel.Operands() {
		v := o.Kernel.View(s.args, i)
		if v.Absent() || op.IsOffsets && op.Axes[0].Axis == s.axis {
			continue
		}
		for d, a := range op.Axes {
			switch a.Axis {
			case s.axis:
				s.gather(i, v, d, indices, nil)
			case s.ragged:
				s.gather(i, v, d, starts, s.lens)
			}
		}
	}
	for i, op := range o.Kernel.Operands() {
		if v := o.Kernel.View(s.args, i); op.CountOf == s.axis && !v.Absent() {
			s.recount(v)
		}
	}
	_, err := o.Kernel.Resolve(s.args, &s.call)
	return s, err
}

// recount makes live lengths of the axis those of the chosen indices, which ascend.
func (s *Subset) recount(v *backend.View) {
	counts := kernel.NewRef(s.Kernel, images{}).Ints(v)
	m := make([]byte, 8*len(counts))
	for i, n := range counts {
		at, _ := slices.BinarySearch(s.Indices, n)
		binary.LittleEndian.PutUint64(m[8*i:], uint64(at))
	}
	v.Buf, v.Off = &image{m}, 0
}

// segments reads the offsets operand i, keeps the chosen segments and returns where each
// began.
func (s *Subset) segments(i int) []int64 {
	old := s.Kernel.OffsetsAt(s.args, i)
	raw := old.View.Buf.(*image).b
	at := func(j int64) int64 { return int64(binary.LittleEndian.Uint64(raw[8*j:])) }
	m := make([]byte, 8*(len(s.Indices)+1))
	var starts []int64
	var total, longest int64
	for j, x := range s.Indices {
		n := at(x+1) - at(x)
		starts, s.lens = append(starts, at(x)), append(s.lens, n)
		total, longest = total+n, max(longest, n)
		binary.LittleEndian.PutUint64(m[8*(j+1):], uint64(total))
	}
	v := backend.NewView(&image{m}, 0, backend.I64, int64(len(s.Indices))+1)
	s.Kernel.SetOffsets(s.args, i, kernel.DeviceOffsets(v, total, longest))
	return starts
}

// gather keeps ranges [starts, starts+lens) of axis d of an operand; nil lens are ones.
func (s *Subset) gather(i int, v *backend.View, d int, starts, lens []int64) {
	size := v.DType.Size()
	inner, outer := size, int64(1)
	for j := d + 1; j < int(v.Rank); j++ {
		inner *= v.Dims[j]
	}
	for j := range d {
		outer *= v.Dims[j]
	}
	raw, dim := v.Buf.(*image).b, v.Dims[d]
	// base is where index r of axis d begins inside block x of the axes before it; only the
	// first axis can be strided.
	base := func(x, r int64) int64 {
		switch {
		case v.Stride == 0:
			return x*dim*inner + r*inner
		case d == 0:
			return r * v.Stride * size
		}
		per := outer / v.Dims[0] // blocks in one row
		return x/per*v.Stride*size + x%per*dim*inner + r*inner
	}
	var total int64
	for k := range starts {
		if lens == nil {
			total++
		} else {
			total += lens[k]
		}
	}
	m := make([]byte, 0, outer*total*inner)
	for x := range outer {
		for k, at := range starts {
			n := int64(1)
			if lens != nil {
				n = lens[k]
			}
			for r := at; r < at+n; r++ {
				from := base(x, r)
				m = append(m, raw[from:from+inner]...)
			}
		}
	}
	v.Buf, v.Off, v.Dims[d], v.Stride = &image{m}, 0, total, 0
}

// compare holds the parent's device outputs at the chosen indices against the reference
// of the subset.
func (s *Subset) compare(o *Operands, e *Expected) (Result, error) {
	var res Result
	for i, op := range s.Kernel.Operands() {
		dv := o.Kernel.View(o.Args, i)
		if op.Mode == kernel.In || dv.Absent() {
			continue
		}
		raw := make([]byte, dv.Bytes())
		if err := o.stream.Download(raw, dv.Buf, dv.Off); err != nil {
			return res, err
		}
		whole := *dv
		whole.Buf, whole.Off = &image{raw}, 0
		found := false
		for d, a := range op.Axes {
			if a.Axis == s.axis {
				s.gather(i, &whole, d, s.Indices, nil)
				found = true
			}
		}
		if !found {
			return res, fmt.Errorf("harness: output %s of %s has no axis %s", op.Name, s.Kernel.Name(), s.Kernel.Independent())
		}
		if err := o.compareField(op.Name, readAll(&whole), &e.outputs[i], &res); err != nil {
			return res, err
		}
		if err := o.compareInts(op.Name, &whole, &e.outputs[i]); err != nil {
			return res, err
		}
	}
	return res, nil
}

// Upload puts the subset in device memory as a case of its own, without guards.
func (s *Subset) Upload(st backend.Stream) (*Operands, error) {
	p := s.parent
	o := &Operands{Kernel: p.Kernel, Instance: p.Instance, Case: p.Case, Seed: p.Seed, stream: st,
		Args: s.Kernel.CloneArgs(s.args), host: s.args, slots: make([]slot, len(p.slots))}
	for i, op := range s.Kernel.Operands() {
		v := s.Kernel.View(o.Args, i)
		if v.Absent() {
			continue
		}
		raw := v.Buf.(*image).b
		placed, err := o.place(i, &op, *v, raw)
		if err != nil {
			return nil, errors.Join(err, o.Free())
		}
		v.Buf, v.Off = placed.Buf, placed.Off
	}
	if _, err := o.Kernel.Resolve(o.Args, &o.Call); err != nil {
		return nil, errors.Join(err, o.Free())
	}
	return o, nil
}

// OutputsAt gathers the chosen indices of the parent's outputs, raw, by operand name.
func (s *Subset) OutputsAt(outputs map[string][]byte) map[string][]byte {
	sel := map[string][]byte{}
	for i, op := range s.Kernel.Operands() {
		raw, ok := outputs[op.Name]
		if !ok {
			continue
		}
		v := *s.parent.Kernel.View(s.parent.Args, i)
		v.Buf, v.Off = &image{raw}, 0
		for d, a := range op.Axes {
			if a.Axis == s.axis {
				s.gather(i, &v, d, s.Indices, nil)
			}
		}
		sel[op.Name] = v.Buf.(*image).b
	}
	return sel
}
