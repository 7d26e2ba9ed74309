package cuda

import (
	"fmt"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/cuda/driver"
	"github.com/likbench/likbench/cuda/internal/manifest"
)

// freeShared is the shared memory that a block may have without asking.
const freeShared = 48 << 10

// module is a compiled source on the device.
type module struct {
	handle driver.Module
	object *manifest.Object
}

// program is a variant on a device.
type program struct {
	d         *device
	v         *variant
	tag       int
	functions []driver.Function // by stage; 0 for one without a kernel
	early     bool              // stages that ask for it start early
}

// Kernel is the instance.
func (p *program) Kernel() string { return p.v.binding.Kernel }

// Variant is the variant.
func (p *program) Variant() string { return p.v.binding.Variant }

// Workspace is the scratch of a launch.
func (p *program) Workspace(c *backend.Call) int64 {
	if p.v.workspace == nil {
		return 0
	}
	return p.v.workspace(c)
}

// Load finds a variant and loads the object that holds it.
func (d *device) Load(instance, variantName string) (backend.Program, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	d.tables.Lock()
	defer d.tables.Unlock()
	key := [2]string{instance, variantName}
	if p := d.programs[key]; p != nil {
		return p, nil
	}
	for _, v := range d.backend.variants() {
		if v.binding.Kernel != instance || v.binding.Variant != variantName {
			continue
		}
		p, err := d.load(v)
		if err != nil {
			return nil, err
		}
		d.programs[key] = p
		return p, nil
	}
	return nil, &backend.UnsupportedError{Backend: name, Kernel: instance, Variant: variantName, Reason: "not compiled in"}
}

// load makes a program. The caller is inside enter and holds tables.
func (d *device) load(v *variant) (*program, error) {
	if m := d.card.info.Missing(v.binding.Requires); m != "" {
		return nil, v.unsupported("needs %s, the device has compute capability %v", m, d.card.capability)
	}
	if len(d.tagged) > kernel.MaxTag {
		return nil, v.unsupported("more than %d variants loaded", kernel.MaxTag)
	}
	m, err := d.module(v.source, v.unsupported)
	if err != nil {
		return nil, err
	}
	p := &program{d: d, v: v, tag: len(d.tagged), functions: make([]driver.Function, len(v.stages)),
		early: waits(m.object.Target) && d.api.Has(driver.EarlyStart)}
	for i := range v.stages {
		if v.stages[i].clear == nil {
			if p.functions[i], err = d.function(v, &v.stages[i], m); err != nil {
				return nil, err
			}
		}
	}
	d.tagged = append(d.tagged, p)
	return p, nil
}

// module loads the object of a source that suits the device best. The caller is inside enter and holds tables.
func (d *device) module(source string, unsupported func(format string, args ...any) error) (*module, error) {
	if m := d.modules[source]; m != nil {
		return m, nil
	}
	list, err := d.backend.objects.manifest()
	if err != nil {
		return nil, err
	}
	src := list.Source(source)
	if src == nil {
		return nil, unsupported("source %s is not among the compiled objects", source)
	}
	object := d.card.capability.best(src)
	if object == nil {
		return nil, unsupported("no object of %s for compute capability %v", source, d.card.capability)
	}
	image, err := object.Read(d.backend.objects.files)
	if err != nil {
		return nil, err
	}
	h, s := d.api.ModuleLoad(append(image, 0)) // the zero byte ends PTX, and a cubin knows its length
	switch s {
	case driver.Success:
	case driver.UnsupportedPTX, driver.NoBinary:
		return nil, unsupported("object %s: %s", object.File, s.Words())
	default:
		return nil, d.check("cuModuleLoadData "+object.File, s)
	}
	m := &module{handle: h, object: object}
	d.modules[source] = m
	return m, nil
}

// function finds a stage's entry point and gives it the shared memory it needs.
func (d *device) function(v *variant, st *stage, m *module) (driver.Function, error) {
	e := m.object.Entry(st.entry)
	if e == nil {
		return 0, fmt.Errorf("cuda: object %s has no entry %s", m.object.File, st.entry)
	}
	if len(st.maps) > 0 && !d.api.Has(driver.TensorMaps) {
		return 0, v.unsupported("driver lacks %v", driver.TensorMaps)
	}
	f, s := d.api.ModuleFunction(m.handle, st.entry)
	if err := d.check("cuModuleGetFunction "+st.entry, s); err != nil {
		return 0, err
	}
	if st.shared+e.StaticShared <= freeShared {
		return f, nil
	}
	switch {
	case st.shared+e.StaticShared > d.card.shared:
		return 0, v.unsupported("needs %s of shared memory in a block, the device has %s",
			backend.FormatBytes(int64(st.shared+e.StaticShared)), backend.FormatBytes(int64(d.card.shared)))
	case !d.api.Has(driver.SharedOpt):
		return 0, v.unsupported("driver lacks %v", driver.SharedOpt)
	}
	return f, d.check("cuFuncSetAttribute "+st.entry, d.api.SetDynamicShared(f, st.shared))
}
