package metal

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/metal/mtl"
)

// Launcher is a variant as data: the stages that a launch enqueues, in order. Nothing in it is a closure made per launch.
type Launcher[A any] struct {
	// Stages run in order. A variant with one kernel has one stage without a name; none: no device can run it, as
	// Requires says.
	Stages []Stage[A]
	// Workspace is the scratch bytes of a launch; nil is none. It depends on axes, attributes and absent operands only
	// and is monotone in every axis. Scratch is 256-byte aligned and not cleared.
	Workspace func(c *backend.Call) int64
}

// Stage is one kernel of a variant.
type Stage[A any] struct {
	// Name completes the entry point: <instance>_<variant>[_<Name>].
	Name string
	// Geometry fills g, which arrives zero.
	Geometry func(a *A, c *backend.Call, g *Geometry)
	// Threads is the most threads of a threadgroup that Geometry asks for; the pipeline must allow them.
	Threads int
	// Width is the simdgroup width that the body is written for; 0 = any.
	Width int
	// Memory is the kernel-local threadgroup memory in bytes, as its header states.
	Memory int64
}

// Geometry is the shape of one kernel launch.
type Geometry struct {
	Groups  mtl.Size // threadgroups
	Threads mtl.Size // threads of each
	Skip    bool     // there is nothing to run
}

// Line sets x threadgroups of threads; none skips the stage.
func (g *Geometry) Line(x int64, threads int) { g.Plane(x, 1, threads) }

// Plane sets x by y threadgroups of threads in a line.
func (g *Geometry) Plane(x, y int64, threads int) {
	g.Groups = mtl.Size{X: uint64(x), Y: uint64(y), Z: 1}
	g.Threads = mtl.Size{X: uint64(threads), Y: 1, Z: 1}
	g.Skip = x <= 0 || y <= 0
}

// CeilDiv is the number of blocks of size b that cover a elements.
func CeilDiv(a, b int64) int64 { return (a + b - 1) / b }

// maxGroups is the most threadgroups along one side: positions are 32-bit.
const maxGroups = 1<<32 - 1

// acceptAxes refuses axes beyond the 32 bits of a position in a grid or of a trusted offset.
func acceptAxes(instance, variant string, axes ...int) func(*backend.Call) error {
	return func(c *backend.Call) error {
		for _, i := range axes {
			if n := c.Axes[i]; n > math.MaxInt32 {
				return &backend.UnsupportedError{Backend: name, Kernel: instance, Variant: variant,
					Reason: fmt.Sprintf("an axis of %d elements; positions have 31 bits", n)}
			}
		}
		return nil
	}
}

// variant is a launcher without its operand type.
type variant struct {
	binding   backend.Binding
	kernel    kernel.Info
	stages    []stage
	workspace func(*backend.Call) int64
	rank      int
	strided   []int // operands whose row strides are in the block
	floats    []int // attributes that are float64, narrowed in the block
}

type stage struct {
	entry    string
	geometry func(*backend.Call, *Geometry)
	threads  int
	width    int
	memory   int64
}

var table struct {
	sync.Mutex
	variants []*variant // append-only, filled at initialisation; sorted when read
	sorted   bool
}

// Bind adds a variant of one instance of k. A launcher with the wrong operand struct does not compile; an instance
// that k does not have or a second variant of that name panics at initialisation.
func Bind[A any](k *kernel.Kernel[A], b backend.Binding, l Launcher[A]) bool {
	if !slices.ContainsFunc(k.Instances(), func(i kernel.Instance) bool { return i.Name == b.Kernel }) {
		panic(fmt.Sprintf("metal: %s is no instance of %s", b.Kernel, k.Name()))
	}
	v := &variant{binding: b, kernel: k, workspace: l.Workspace, rank: len(b.Requires)}
	for _, s := range l.Stages {
		st := stage{entry: b.Kernel + "_" + b.Variant, threads: s.Threads, width: s.Width, memory: s.Memory}
		if s.Name != "" {
			st.entry += "_" + s.Name
		}
		st.geometry = func(c *backend.Call, g *Geometry) { s.Geometry(c.Args.(*A), c, g) }
		v.stages = append(v.stages, st)
	}
	for i, o := range k.Operands() {
		if o.Strided {
			v.strided = append(v.strided, i)
		}
	}
	v.floats = floatAttributes(k)
	table.Lock()
	defer table.Unlock()
	for _, o := range table.variants {
		if o.binding.Kernel == b.Kernel && o.binding.Variant == b.Variant {
			panic(fmt.Sprintf("metal: %s/%s bound twice", b.Kernel, b.Variant))
		}
	}
	table.variants, table.sorted = append(table.variants, v), false
	return true
}

// variants lists what is bound, by instance, best first: the one that requires more.
func variants() []*variant {
	table.Lock()
	defer table.Unlock()
	if !table.sorted {
		sorted := slices.Clone(table.variants)
		slices.SortStableFunc(sorted, func(a, b *variant) int {
			if a.binding.Kernel != b.binding.Kernel {
				if a.binding.Kernel < b.binding.Kernel {
					return -1
				}
				return 1
			}
			return b.rank - a.rank
		})
		table.variants, table.sorted = sorted, true
	}
	return table.variants
}

func findVariant(instance, name string) *variant {
	for _, v := range variants() {
		if v.binding.Kernel == instance && v.binding.Variant == name {
			return v
		}
	}
	return nil
}
