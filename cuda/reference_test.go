package cuda

import (
	"fmt"
	"math"
	"reflect"
	"testing/fstest"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	_ "github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/cuda/driver"
	"github.com/likbench/likbench/cuda/driver/fake"
	"github.com/likbench/likbench/cuda/internal/manifest"
)

// The fake driver runs kernels that are Go functions. The ones here read the argument block as a device body
// does, word by word, and run the declared reference on it, so that conformance on the fake proves everything the
// host does: order and contents of the block, scratch, status words, transfers, graphs.

// memoryView is fake device memory as an operand's buffer.
type memoryView struct {
	backend.Buffer
	data []byte
}

func (m *memoryView) Len() int64 { return int64(len(m.data)) }

// rawMemory is the kernel.Memory of such operands.
type rawMemory struct{}

func (rawMemory) Read(v *backend.View) ([]byte, error) {
	return append([]byte(nil), v.Buf.(*memoryView).data[:v.Bytes()]...), nil
}

func (rawMemory) Write(v *backend.View, raw []byte) error {
	copy(v.Buf.(*memoryView).data, raw)
	return nil
}

// reference is the body of an instance.
func reference(k kernel.Info, in kernel.Instance) fake.Kernel {
	return func(l *fake.Launch) {
		args, rest := decode(k, in, l)
		r := kernel.NewRef(k, rawMemory{})
		err := k.Reference(r, args)
		if err == nil {
			err = r.Err()
		}
		if err != nil {
			panic(fmt.Sprintf("%s: %v", l.Entry, err))
		}
		if s := r.Status(); s != 0 {
			word := (*uint64)(unsafe.Pointer(unsafe.SliceData(l.Bytes(rest[2]))))
			*word = max(*word, s|rest[3]<<40)
		}
	}
}

// decode makes the operand struct of an argument block again. rest is scratch, scratch_bytes, status, tag.
func decode(k kernel.Info, in kernel.Instance, l *fake.Launch) (args any, rest []uint64) {
	args = k.NewArgs()
	ops := k.Operands()
	axes := l.Words[len(ops) : len(ops)+len(k.Axes())]
	strides := l.Words[len(ops)+len(axes):]
	n := 0
	for i, o := range ops {
		v := backend.View{DType: o.Type(in.Types), Rank: uint8(len(o.Axes))}
		for j, a := range o.Axes {
			v.Dims[j] = int64(axes[a.Axis]) + a.Plus
		}
		if o.Strided {
			v.Stride = int64(strides[n])
			n++
		}
		if l.Words[i] == 0 {
			continue
		}
		v.Buf = &memoryView{data: l.Bytes(l.Words[i])}
		if o.IsOffsets {
			total := int64(axes[o.OffsetsOf])
			k.SetOffsets(args, i, kernel.DeviceOffsets(v, total, total))
		} else {
			*k.View(args, i) = v
		}
	}
	words := strides[n:]
	for i, a := range k.Attrs() {
		var value any = int64(words[i])
		switch a.Kind {
		case reflect.Float64:
			value = math.Float64frombits(words[i])
		case reflect.Bool:
			value = words[i] != 0
		}
		if err := k.SetAttr(args, a.Name, value); err != nil {
			panic(err)
		}
	}
	return args, words[len(k.Attrs()):]
}

// everything is a variant of each declared instance, called "fake", whose entry runs the reference on d.
func everything(d *fake.Driver) []*variant {
	var out []*variant
	for _, k := range kernel.All() {
		for _, in := range k.Instances() {
			v := &variant{kernel: k, source: "fake", binding: backend.Binding{Kernel: in.Name, Variant: "fake", Requires: []string{"sm_80"}}}
			entry := in.Name + "_fake"
			v.stages = []stage{{entry: entry, geometry: func(_ *backend.Call, g *Geometry) { g.Line(1, 32) }}}
			v.workspace = func(c *backend.Call) int64 { return 64 * (1 + c.Axes[0]) } // to be poisoned and moved
			for i, o := range k.Operands() {
				if o.Strided {
					v.strided = append(v.strided, i)
				}
			}
			d.Kernels[entry] = reference(k, in)
			out = append(out, v)
		}
	}
	return out
}

// fakeObjects is a folder with one source that holds every entry of the variants, for the given targets.
func fakeObjects(vs []*variant, targets ...string) *objects {
	files := fstest.MapFS{}
	src := manifest.Source{Name: "test/fake.cu"}
	for _, t := range targets {
		o := manifest.Object{Target: t, File: "fake." + t + ".gz"}
		data := []byte("object for " + t)
		o.SHA256, o.Bytes = manifest.Sum(data), len(data)
		z, err := manifest.Compress(data)
		if err != nil {
			panic(err)
		}
		files[o.File] = &fstest.MapFile{Data: z}
		for _, v := range vs {
			for _, s := range v.stages {
				o.Entries = append(o.Entries, manifest.Entry{Name: s.entry})
			}
		}
		src.Objects = append(src.Objects, o)
	}
	m := manifest.Manifest{Compiler: "test", Sources: []manifest.Source{src}}
	data, err := m.Encode()
	if err != nil {
		panic(err)
	}
	files[manifest.FileName] = &fstest.MapFile{Data: data}
	return newObjects(files)
}

// onFake is a backend over d in which every declared instance runs its reference.
func onFake(d *fake.Driver) *cuda {
	b := newBackend([]Option{WithDriver(func() (driver.API, error) { return d, nil })})
	vs := everything(d)
	b.variants = func() []*variant { return vs }
	b.objects = fakeObjects(vs, "sm_80", "sm_90a", "compute_80")
	return b
}
