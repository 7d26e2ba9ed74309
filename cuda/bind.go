package cuda

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/cuda/driver"
)

// Launcher is a variant as data: the source that holds its entry points and the stages that a launch enqueues,
// in order. Nothing in it is called with a closure made per launch, so a launch allocates nothing.
type Launcher[A any] struct {
	// Source is the stem of the .cu file: "maxsim_naive".
	Source string
	// Stages run in order. A variant with one kernel has one stage without a name.
	Stages []Stage[A]
	// Workspace is the scratch bytes of a launch; nil is none. It depends on axes and absent operands only and
	// is monotone in every axis. Scratch is 256-byte aligned and not cleared.
	Workspace func(c *backend.Call) int64
	// Spills says why the variant's kernels may spill registers; "" means they must not.
	Spills string
}

// Stage is one kernel of a variant, or one range of scratch set to zero before the next.
type Stage[A any] struct {
	// Name completes the entry point: <instance>_<variant>[_<Name>].
	Name string
	// Geometry fills g, which arrives with the device's facts and otherwise zero.
	Geometry func(a *A, c *backend.Call, g *Geometry)
	// Shared is the most dynamic shared memory that Geometry asks for, in bytes.
	Shared int
	// Maps describe tensors for the bulk copy engine. Encoded, they follow the argument block as further
	// __grid_constant__ parameters of 128 bytes, in this order.
	Maps []func(a *A, c *backend.Call, m *driver.TensorMap)
	// Early says that every thread of the kernel calls awaitEarlier (common/early.cuh) before it first reads or writes
	// global memory; prefetches to the second-level cache, which keeps no stale copies, may come before. Then the device
	// may start it while the kernel in front of it in the stream ends, which saves most of the time between the two.
	// awaitEarlier returns once the kernel in front has ended and its writes are visible. Since that one has waited in its
	// turn, or was not started early, this holds for everything before it too: what all earlier work wrote can be read, and
	// what it read can be overwritten, scratch and status word included. A single thread that does not wait would break
	// this for every launch after it. letNext, which allows the next one to start, comes after awaitEarlier, so that no
	// more than two kernels hold a multiprocessor's places, and promises nothing about what this kernel has written. What
	// is no kernel (copies, clears, events) and kernels without Early wait for the end of what is in front as ever. Objects
	// for devices before sm_90, and drivers without the feature, ignore all this.
	Early bool
	// Clear makes this a stage without a kernel: it zeroes bytes of the scratch from off.
	Clear func(c *backend.Call) (off, bytes int64)
}

// Geometry is the shape of one kernel launch.
type Geometry struct {
	Grid    [3]uint32
	Block   [3]uint32
	Cluster [3]uint32 // zero: none
	Shared  uint32    // dynamic shared memory, bytes
	Skip    bool      // there is nothing to run

	Units     int // multiprocessors of the device
	MaxShared int // most dynamic shared memory a block may have, bytes
}

// Line sets a one-dimensional grid of blocks with the given threads. No block skips the stage; more blocks than a
// grid holds are cut to 2^31-1, so that a kernel which may meet that many strides over its grid.
func (g *Geometry) Line(blocks int64, threads int) {
	g.Plane(blocks, 1, threads)
}

// Plane sets a two-dimensional grid; y is cut to 65535.
func (g *Geometry) Plane(x, y int64, threads int) {
	g.Grid = [3]uint32{uint32(min(x, math.MaxInt32)), uint32(min(y, 65535)), 1}
	g.Block = [3]uint32{uint32(threads), 1, 1}
	g.Skip = x <= 0 || y <= 0
}

// CeilDiv is the number of blocks of size b that cover a elements.
func CeilDiv(a, b int64) int64 { return (a + b - 1) / b }

// variant is a launcher without its operand type.
type variant struct {
	binding   backend.Binding
	kernel    kernel.Info
	source    string
	stages    []stage
	workspace func(*backend.Call) int64
	spills    string
	rank      int   // features first: the most demanding variant is tried first
	strided   []int // operands whose row strides are in the block
}

type stage struct {
	entry    string
	geometry func(*backend.Call, *Geometry)
	shared   int
	early    bool
	maps     []func(*backend.Call, *driver.TensorMap)
	clear    func(*backend.Call) (off, bytes int64)
}

var table struct {
	sync.Mutex
	variants []*variant // append-only, filled at initialisation
	sorted   bool
}

// Bind adds a variant of one instance of k. A launcher with the wrong operand struct does not compile; an
// instance that k does not have, a second variant of that name or a launcher without stages panics at
// initialisation.
func Bind[A any](k *kernel.Kernel[A], b backend.Binding, l Launcher[A]) bool {
	v := newVariant(k, b, l)
	table.Lock()
	defer table.Unlock()
	for _, o := range table.variants {
		if o.binding.Kernel == b.Kernel && o.binding.Variant == b.Variant {
			panic(fmt.Sprintf("cuda: %s/%s bound twice", b.Kernel, b.Variant))
		}
	}
	table.variants, table.sorted = append(table.variants, v), false
	return true
}

// newVariant checks a launcher and takes its type away.
func newVariant[A any](k *kernel.Kernel[A], b backend.Binding, l Launcher[A]) *variant {
	if !slices.ContainsFunc(k.Instances(), func(i kernel.Instance) bool { return i.Name == b.Kernel }) {
		panic(fmt.Sprintf("cuda: %s is no instance of %s", b.Kernel, k.Name()))
	}
	if l.Source == "" || len(l.Stages) == 0 {
		panic(fmt.Sprintf("cuda: %s/%s has no source or no stages", b.Kernel, b.Variant))
	}
	v := &variant{binding: b, kernel: k, source: l.Source, workspace: l.Workspace, spills: l.Spills, rank: rank(b.Requires)}
	for _, s := range l.Stages {
		v.stages = append(v.stages, untyped(b, s))
	}
	for i, o := range k.Operands() {
		if o.Strided {
			v.strided = append(v.strided, i)
		}
	}
	return v
}

func untyped[A any](b backend.Binding, s Stage[A]) stage {
	if (s.Geometry == nil) == (s.Clear == nil) {
		panic(fmt.Sprintf("cuda: %s/%s: a stage has either Geometry or Clear", b.Kernel, b.Variant))
	}
	if len(s.Maps) >= driver.MaxParams {
		panic(fmt.Sprintf("cuda: %s/%s: %d tensor maps, at most %d", b.Kernel, b.Variant, len(s.Maps), driver.MaxParams-1))
	}
	u := stage{shared: s.Shared, early: s.Early, clear: s.Clear}
	if s.Clear != nil {
		return u
	}
	u.entry = b.Kernel + "_" + b.Variant
	if s.Name != "" {
		u.entry += "_" + s.Name
	}
	u.geometry = func(c *backend.Call, g *Geometry) { s.Geometry(c.Args.(*A), c, g) }
	for _, f := range s.Maps {
		u.maps = append(u.maps, func(c *backend.Call, m *driver.TensorMap) { f(c.Args.(*A), c, m) })
	}
	return u
}

// rank orders variants of an instance: those that need the newest device first.
func rank(requires []string) int {
	order := []string{"sm_80", "sm_89", "fp8", "sm_90a"}
	r := 0
	for _, f := range requires {
		r = max(r, slices.Index(order, f)+1)
	}
	return r
}

// plain is 1 for the first, slow body of a kernel, which is the last to be taken among equal requirements.
func plain(v *variant) int {
	if v.binding.Variant == "naive" {
		return 1
	}
	return 0
}

// variants lists what is bound, by instance, best first.
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
			if c := b.rank - a.rank; c != 0 {
				return c
			}
			return plain(a) - plain(b)
		})
		table.variants, table.sorted = sorted, true
	}
	return table.variants
}

// Address is the device address of an operand, 0 if it is absent.
func Address(v *backend.View) driver.Pointer {
	b, ok := v.Buf.(*buffer)
	if !ok {
		return 0
	}
	return b.address + driver.Pointer(v.Off)
}
