package sim

import (
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/likbench/likbench/metal/mtl"
)

const (
	alignment  = 256  // of buffers, as a device gives
	maxBuffers = 31   // buffer indices of a kernel
	maxThreads = 1024 // of a threadgroup
)

var epoch = time.Now()

func seconds() float64 { return time.Since(epoch).Seconds() }

// alignUp is the index of the first aligned byte of b.
func alignUp(b []byte) int {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return int((alignment - at%alignment) % alignment)
}

// image is a loaded library. Its kernels share variables for function constants, so one runs at a time.
type image struct {
	mu          sync.Mutex
	handle      uintptr
	setConstant uintptr
}

var images struct {
	sync.Mutex
	by map[string]*image // by path; never unloaded, as a launch may still be in flight
}

func loadLibrary(path string) (*image, error) {
	images.Lock()
	defer images.Unlock()
	if i := images.by[path]; i != nil {
		return i, nil
	}
	h, err := dlopen(path)
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	i := &image{handle: h}
	if i.setConstant, err = i.symbol("msl_set_constant"); err != nil {
		return nil, err
	}
	if images.by == nil {
		images.by = map[string]*image{}
	}
	images.by[path] = i
	return i, nil
}

// block mirrors msl::Launch in shim/runtime.h.
type block struct {
	buffers unsafe.Pointer
	groups  [3]uint32
	threads [3]uint32
	dynamic uint64
	order   uint32
	err     uint32
	local   uint64
}

// faults are the texts of msl::Fault.
var faults = map[uint32]string{
	1: "divergent barrier: no fiber can run",
	2: "threadgroup barrier after some threads had returned",
	3: "more kernel-local threadgroup variables than the simulator keeps",
}

type launch struct {
	d       *driver
	p       *pipeline
	bound   []mtl.Bound
	bytes   []byte
	block   block
	tgBytes int64
}

// newLaunch copies what d refers to: the work runs at Commit.
func newLaunch(d *mtl.Dispatch, drv *driver) (*launch, error) {
	p := d.Pipeline.(*pipeline)
	fail := func(format string, a ...any) (*launch, error) {
		return nil, &mtl.Error{Call: "dispatchThreadgroups " + p.name, Text: fmt.Sprintf(format, a...)}
	}
	l := &launch{d: drv, p: p, bound: append([]mtl.Bound(nil), d.Buffers...), bytes: append([]byte(nil), d.Bytes...), tgBytes: d.Dynamic}
	if len(l.bound)+1 > maxBuffers {
		return fail("%d buffers, at most %d", len(l.bound)+1, maxBuffers)
	}
	if len(l.bytes) > 4096 {
		return fail("%d bytes in setBytes, at most 4096", len(l.bytes))
	}
	if d.Dynamic < 0 || d.Dynamic%16 != 0 {
		return fail("threadgroup memory of %d bytes is no multiple of 16", d.Dynamic)
	}
	sizes := [6]uint64{d.Groups.X, d.Groups.Y, d.Groups.Z, d.ThreadsGroup.X, d.ThreadsGroup.Y, d.ThreadsGroup.Z}
	for i, n := range sizes {
		if n == 0 || n > 1<<32-1 {
			return fail("size %d of the grid is %d", i, n)
		}
	}
	if n := sizes[3] * sizes[4] * sizes[5]; n > maxThreads {
		return fail("%d threads in a threadgroup, at most %d", n, maxThreads)
	}
	l.block = block{order: uint32(drv.config.Order), dynamic: uint64(d.Dynamic),
		groups: [3]uint32{uint32(sizes[0]), uint32(sizes[1]), uint32(sizes[2])}, threads: [3]uint32{uint32(sizes[3]), uint32(sizes[4]), uint32(sizes[5])}}
	return l, nil
}

// run executes the launch on the calling thread. Buffers are Go memory that the callee reads during the call only.
func (l *launch) run() error {
	var addresses [maxBuffers]unsafe.Pointer
	for i, b := range l.bound {
		m := b.Buffer.(*buffer).b
		if b.Offset < 0 || b.Offset > int64(len(m)) {
			return &mtl.Error{Call: "setBuffer " + l.p.name, Text: fmt.Sprintf("offset %d of a buffer of %d bytes at index %d", b.Offset, len(m), i)}
		}
		addresses[i] = unsafe.Add(unsafe.Pointer(unsafe.SliceData(m)), b.Offset)
	}
	addresses[len(l.bound)] = unsafe.Pointer(unsafe.SliceData(l.bytes))
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&addresses)
	pin.Pin(&l.block)
	l.block.buffers = unsafe.Pointer(&addresses)

	l.p.image.mu.Lock()
	for i, c := range l.p.constants {
		purego.SyscallN(l.p.image.setConstant, uintptr(i), uintptr(c))
	}
	purego.SyscallN(l.p.fn, uintptr(unsafe.Pointer(&l.block)))
	l.p.image.mu.Unlock()
	runtime.KeepAlive(l)

	if l.block.err != 0 {
		return &mtl.Error{Call: l.p.name, Code: int64(l.block.err), Text: faults[l.block.err]}
	}
	n := int64(l.block.local) + l.tgBytes
	l.d.tookLocal(l.p.name, n)
	if n > threadgroupMemory {
		return &mtl.Error{Call: l.p.name, Text: fmt.Sprintf("%d bytes of threadgroup memory, at most %d", n, threadgroupMemory)}
	}
	return nil
}

func (i *image) symbol(name string) (uintptr, error) { return dlsym(i.handle, name) }
