package metal

import (
	"fmt"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/metal/mtl"
)

// program is a variant whose pipelines exist on one device.
type program struct {
	d         *device
	v         *variant
	pipelines []mtl.Pipeline // by stage
}

func (p *program) Kernel() string  { return p.v.binding.Kernel }
func (p *program) Variant() string { return p.v.binding.Variant }

// Workspace implements backend.Program.
func (p *program) Workspace(c *backend.Call) int64 {
	if p.v.workspace == nil {
		return 0
	}
	return p.v.workspace(c)
}

func (p *program) release() {
	for _, l := range p.pipelines {
		l.Release()
	}
}

// loadProgram makes the pipelines of a variant; the device is locked.
func (d *device) loadProgram(v *variant) (*program, error) {
	p := &program{d: d, v: v}
	for i := range v.stages {
		l, err := d.pipeline(v.stages[i].entry)
		if err == nil {
			p.pipelines = append(p.pipelines, l)
			err = d.fits(v, &v.stages[i], l)
		}
		if err != nil {
			p.release()
			return nil, err
		}
	}
	return p, nil
}

// pipeline makes an entry point executable, from the library of its family.
func (d *device) pipeline(entry string) (mtl.Pipeline, error) {
	set, err := embeddedObjects()
	if err != nil {
		return nil, err
	}
	family, ok := set.entries[entry]
	if !ok {
		return nil, fmt.Errorf("metal: entry point %s is not in the embedded sources", entry)
	}
	l := d.library[family]
	if l == nil {
		if l, err = d.dev.NewLibrary(set.families[family]); err != nil {
			return nil, fmt.Errorf("metal: compile %s: %w", family, driverError(err, ""))
		}
		d.library[family] = l
	}
	p, err := l.Pipeline(entry, nil)
	if err != nil {
		return nil, fmt.Errorf("metal: %w", driverError(err, ""))
	}
	return p, nil
}

// fits holds a stage's needs against the pipeline and the device: neither is assumed.
func (d *device) fits(v *variant, s *stage, l mtl.Pipeline) error {
	if s.width != 0 && l.Width() != s.width {
		return v.unsupported("written for simdgroups of %d threads, the pipeline of %s has %d", s.width, s.entry, l.Width())
	}
	if s.threads > l.MaxThreads() {
		return v.unsupported("needs threadgroups of %d threads, the pipeline of %s allows %d", s.threads, s.entry, l.MaxThreads())
	}
	if n := max(s.memory, l.StaticMemory()); n > d.limits.ThreadgroupMemory {
		return v.unsupported("needs %d bytes of threadgroup memory, the device has %d", n, d.limits.ThreadgroupMemory)
	}
	return nil
}
