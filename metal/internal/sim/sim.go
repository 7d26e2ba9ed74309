// Package sim is a Metal driver for tests: it translates MSL to C++, compiles it with clang and runs the threads of a
// threadgroup as fibers, on Linux and without a GPU. Only tests import it; auto never chooses it.
//
// It executes what a GPU would, with these differences. Simdgroups have 32 lanes, reductions run in ascending lane
// order, matrix products in ascending order of k; subnormals are kept; one threadgroup runs at a time. Fibers change
// at barriers and simdgroup functions only, so a missing barrier shows as a wrong result in some [Order] rather than
// as a race: a simdgroup may run ahead of the others to the next threadgroup barrier. Threadgroup memory is filled with NaN first. Address spaces are checked; double, long long, log1p and
// what else MSL lacks do not compile.
package sim

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"github.com/likbench/likbench/metal/mtl"
)

// Order is how the fibers of a threadgroup take turns, and the threadgroups of a grid.
type Order uint32

// Orders; any other value is the seed of another shuffle.
const (
	Forward  Order = 0
	Reversed Order = 1
	Shuffled Order = 0x2545f491
)

// Orders are the three that conformance runs.
var Orders = []Order{Forward, Reversed, Shuffled}

func (o Order) String() string {
	switch o {
	case Forward:
		return "forward"
	case Reversed:
		return "reversed"
	}
	return "shuffled"
}

// Config is a simulated machine.
type Config struct {
	Order    Order
	Memory   int64  // bytes of buffers; 0 = 1 GiB
	CacheDir string // where compiled kernels are kept; "" = a folder below the system's temporary one
}

// New returns the driver of a machine with one device.
func New(c Config) (mtl.Driver, error) {
	if err := Available(); err != nil {
		return nil, err
	}
	comp, err := sharedCompiler(c.CacheDir)
	if err != nil {
		return nil, err
	}
	if c.Memory == 0 {
		c.Memory = 1 << 30
	}
	return &driver{config: c, compiler: comp, local: map[string]int64{}}, nil
}

var compilers struct {
	sync.Mutex
	by map[string]*compiler // by folder
}

// sharedCompiler returns the one compiler of a folder, so that a test process compiles a source once.
func sharedCompiler(dir string) (*compiler, error) {
	if dir == "" {
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("likbench-msl-%d", os.Getuid()))
	}
	compilers.Lock()
	defer compilers.Unlock()
	if c := compilers.by[dir]; c != nil {
		return c, nil
	}
	c, err := newCompiler(dir)
	if err != nil {
		return nil, err
	}
	if compilers.by == nil {
		compilers.by = map[string]*compiler{}
	}
	compilers.by[dir] = c
	return c, nil
}

type driver struct {
	config   Config
	compiler *compiler
	mu       sync.Mutex
	used     int64
	local    map[string]int64 // threadgroup bytes of each entry point launched
}

// ThreadgroupMemory reports the most threadgroup memory that each entry point launched so far took, in bytes: to hold
// against what its header states. d must be of New.
func ThreadgroupMemory(d mtl.Driver) map[string]int64 {
	s := d.(*driver)
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.local)
}

func (d *driver) tookLocal(entry string, bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.local[entry] = max(d.local[entry], bytes)
}

func (d *driver) Name() string                   { return "sim" }
func (d *driver) Default() (mtl.Device, error)   { return &device{d}, nil }
func (d *driver) Devices() ([]mtl.Device, error) { return []mtl.Device{&device{d}}, nil }

type device struct{ d *driver }

func (d *device) Info() mtl.Info {
	return mtl.Info{Name: "simulated (" + d.d.config.Order.String() + ")", Registry: 1, Unified: true,
		MaxBuffer: d.d.config.Memory, WorkingSet: d.d.config.Memory, ThreadgroupMemory: threadgroupMemory, SIMDReduce: true, SIMDMatrix: true}
}

// threadgroupMemory is what every Apple GPU has.
const threadgroupMemory = 32 << 10

func (d *device) NewQueue() (mtl.Queue, error) { return &queue{d.d}, nil }
func (d *device) NewEvent() (mtl.Event, error) { return &event{}, nil }
func (d *device) Release()                     {}

func (d *device) NewBuffer(bytes int64) (mtl.Buffer, error) {
	d.d.mu.Lock()
	defer d.d.mu.Unlock()
	if d.d.used+bytes > d.d.config.Memory {
		return nil, &mtl.Error{Call: "newBufferWithLength", Domain: mtl.CommandDomain, Code: mtl.CommandOutOfMemory, Text: "the system refused the memory"}
	}
	d.d.used += bytes
	b := make([]byte, bytes+alignment)
	for i := range b {
		b[i] = 0xa5 // not cleared, so that a test that relies on zeros fails
	}
	at := alignUp(b)
	return &buffer{d: d.d, b: b[at : int64(at)+bytes : int64(at)+bytes]}, nil
}

func (d *device) NewLibrary(source string) (mtl.Library, error) {
	t, err := translate(source)
	if err != nil {
		return nil, &mtl.Error{Call: "newLibraryWithSource", Text: err.Error()}
	}
	path, err := d.d.compiler.build(t.text)
	if err != nil {
		return nil, &mtl.Error{Call: "newLibraryWithSource", Text: err.Error()}
	}
	l, err := loadLibrary(path)
	if err != nil {
		return nil, &mtl.Error{Call: "newLibraryWithSource", Text: err.Error()}
	}
	return &library{d: d.d, image: l, entries: t.entries}, nil
}

type buffer struct {
	d    *driver
	b    []byte
	once sync.Once
}

func (b *buffer) Bytes() []byte { return b.b }

func (b *buffer) Release() {
	b.once.Do(func() {
		b.d.mu.Lock()
		b.d.used -= int64(len(b.b))
		b.d.mu.Unlock()
	})
}

type library struct {
	d       *driver
	image   *image
	entries []entryInfo
}

func (l *library) Release() {}

// Entries lists the entry points of a library that this driver made.
func Entries(l mtl.Library) []string {
	var names []string
	for _, e := range l.(*library).entries {
		names = append(names, e.name)
	}
	return names
}

func (l *library) Pipeline(entry string, constants []uint32) (mtl.Pipeline, error) {
	fn, err := l.image.symbol("msl_" + entry)
	if err != nil {
		return nil, &mtl.Error{Call: "newFunctionWithName " + entry, Text: "no such function"}
	}
	return &pipeline{image: l.image, fn: fn, name: entry, constants: append([]uint32(nil), constants...)}, nil
}

type pipeline struct {
	image     *image
	fn        uintptr
	name      string
	constants []uint32
}

func (p *pipeline) Width() int          { return 32 }
func (p *pipeline) MaxThreads() int     { return 1024 }
func (p *pipeline) StaticMemory() int64 { return 0 } // checked at launch, when the size is known
func (p *pipeline) Release()            {}

type event struct {
	mu    sync.Mutex
	value uint64
}

func (e *event) Release() {}

type queue struct{ d *driver }

func (q *queue) CommandBuffer() (mtl.CommandBuffer, error) { return &commandBuffer{d: q.d}, nil }
func (q *queue) Release()                                  {}

// commandBuffer runs its work at Commit, so work of all queues is done in the order of commits.
type commandBuffer struct {
	d          *driver
	work       []func() error
	err        error
	committed  bool
	start, end float64
}

func (c *commandBuffer) add(f func() error) error {
	if c.committed {
		return &mtl.Error{Call: "commandBuffer", Text: "recorded after commit"}
	}
	c.work = append(c.work, f)
	return nil
}

func (c *commandBuffer) Dispatch(d *mtl.Dispatch) error {
	l, err := newLaunch(d, c.d)
	if err != nil {
		return err
	}
	return c.add(l.run)
}

func (c *commandBuffer) Copy(dst mtl.Buffer, dstOff int64, src mtl.Buffer, srcOff, n int64) error {
	to, from := dst.(*buffer).b, src.(*buffer).b
	if dstOff < 0 || srcOff < 0 || n < 0 || dstOff+n > int64(len(to)) || srcOff+n > int64(len(from)) {
		return &mtl.Error{Call: "copyFromBuffer", Text: fmt.Sprintf("%d bytes from %d of %d to %d of %d", n, srcOff, len(from), dstOff, len(to))}
	}
	return c.add(func() error { copy(to[dstOff:dstOff+n], from[srcOff:srcOff+n]); return nil })
}

func (c *commandBuffer) Signal(e mtl.Event, value uint64) error {
	return c.add(func() error {
		ev := e.(*event)
		ev.mu.Lock()
		ev.value = max(ev.value, value)
		ev.mu.Unlock()
		return nil
	})
}

func (c *commandBuffer) WaitFor(e mtl.Event, value uint64) error {
	return c.add(func() error {
		ev := e.(*event)
		ev.mu.Lock()
		defer ev.mu.Unlock()
		if ev.value < value {
			return &mtl.Error{Call: "encodeWaitForEvent", Text: "the signal was not committed before the wait: a device would hang"}
		}
		return nil
	})
}

func (c *commandBuffer) Commit() error {
	if c.committed {
		return &mtl.Error{Call: "commit", Text: "committed twice"}
	}
	c.committed = true
	c.start = seconds()
	for _, f := range c.work {
		if c.err = f(); c.err != nil {
			break
		}
	}
	c.end = seconds()
	c.work = nil
	return nil
}

func (c *commandBuffer) Wait() error {
	if !c.committed {
		return &mtl.Error{Call: "waitUntilCompleted", Text: "not committed"}
	}
	return c.err
}

func (c *commandBuffer) Times() (start, end float64) { return c.start, c.end }
func (c *commandBuffer) Release()                    {}
