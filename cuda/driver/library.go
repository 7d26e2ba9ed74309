//go:build (linux || windows) && (amd64 || arm64)

package driver

import (
	"bytes"
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Library is the driver library, opened and initialised. It is safe for concurrent use, as the library is.
type Library struct {
	path string
	fn   [symbols]uintptr
}

var _ API = (*Library)(nil)

// frame is the memory of one call: its arguments, and room for what the library writes. Frames come from a pool
// because memory whose address is handed out must not be on a stack.
type frame struct {
	args [12]uintptr
	out  [4]uint64
	ptr  unsafe.Pointer
	text [256]byte
}

var frames = sync.Pool{New: func() any { return new(frame) }}

func (f *frame) at(i int) uintptr { return uintptr(unsafe.Pointer(&f.out[i])) }

// call runs one function. a does not escape: it is copied into a frame.
func (l *Library) call(s symbol, a ...uintptr) Status {
	f := frames.Get().(*frame)
	st := l.callIn(f, s, a...)
	frames.Put(f)
	return st
}

// callIn is call with the caller's frame, for results in f.out.
func (l *Library) callIn(f *frame, s symbol, a ...uintptr) Status {
	if l.fn[s] == 0 {
		return missingSymbol
	}
	n := copy(f.args[:], a)
	r, _, _ := purego.SyscallN(l.fn[s], f.args[:n]...)
	return Status(int32(r))
}

// get runs a function that writes one word to the address in its first argument.
func (l *Library) get(s symbol, a ...uintptr) (uint64, Status) {
	f := frames.Get().(*frame)
	defer frames.Put(f)
	f.out[0] = 0
	var with [6]uintptr
	with[0] = f.at(0)
	n := 1 + copy(with[1:], a)
	st := l.callIn(f, s, with[:n]...)
	return f.out[0], st
}

// Path is the path or name under which the library was found.
func (l *Library) Path() string { return l.path }

// Has reports whether the library has all functions of a feature.
func (l *Library) Has(f Feature) bool {
	for _, s := range featureSymbols[f] {
		if l.fn[s] == 0 {
			return false
		}
	}
	return true
}

func (l *Library) init() Status { return l.call(symInit, 0) }

// Version is the newest CUDA version that the driver supports, as 1000*major + 10*minor.
func (l *Library) Version() (int, Status) {
	v, s := l.get(symVersion)
	return int(int32(v)), s
}

// DeviceCount counts the devices visible to the process.
func (l *Library) DeviceCount() (int, Status) {
	v, s := l.get(symDeviceCount)
	return int(int32(v)), s
}

// DeviceGet returns the device with an ordinal.
func (l *Library) DeviceGet(ordinal int) (Device, Status) {
	v, s := l.get(symDeviceGet, uintptr(ordinal))
	return Device(int32(v)), s
}

// DeviceName is the vendor's name of a device.
func (l *Library) DeviceName(d Device) (string, Status) {
	f := frames.Get().(*frame)
	defer frames.Put(f)
	f.text = [256]byte{}
	s := l.callIn(f, symDeviceName, uintptr(unsafe.Pointer(&f.text)), uintptr(len(f.text)), uintptr(d))
	name, _, _ := bytes.Cut(f.text[:], []byte{0})
	return string(name), s
}

// DeviceUUID identifies a device across processes.
func (l *Library) DeviceUUID(d Device) ([16]byte, Status) {
	f := frames.Get().(*frame)
	defer frames.Put(f)
	s := l.callIn(f, symDeviceUUID, f.at(0), uintptr(d))
	return *(*[16]byte)(unsafe.Pointer(&f.out[0])), s
}

// DeviceAttribute reads a property.
func (l *Library) DeviceAttribute(d Device, a Attribute) (int, Status) {
	v, s := l.get(symDeviceAttribute, uintptr(a), uintptr(d))
	return int(int32(v)), s
}

// DeviceTotalMem is the memory of a device in bytes.
func (l *Library) DeviceTotalMem(d Device) (int64, Status) {
	v, s := l.get(symDeviceTotalMem, uintptr(d))
	return int64(v), s
}

// PrimaryRetain makes the device's primary context, or counts one more user of it.
func (l *Library) PrimaryRetain(d Device) (Context, Status) {
	v, s := l.get(symPrimaryRetain, uintptr(d))
	return Context(v), s
}

// PrimaryRelease counts one user less; the last destroys the context.
func (l *Library) PrimaryRelease(d Device) Status { return l.call(symPrimaryRelease, uintptr(d)) }

// Push makes a context current on the calling thread, above what is.
func (l *Library) Push(c Context) Status { return l.call(symPush, uintptr(c)) }

// Pop makes current what was before the last Push.
func (l *Library) Pop() Status {
	_, s := l.get(symPop)
	return s
}

// Current is the calling thread's context, 0 for none.
func (l *Library) Current() (Context, Status) {
	v, s := l.get(symCurrent)
	return Context(v), s
}

// MemInfo is the device's free and total memory in bytes.
func (l *Library) MemInfo() (free, total int64, s Status) {
	f := frames.Get().(*frame)
	defer frames.Put(f)
	s = l.callIn(f, symMemInfo, f.at(0), f.at(1))
	return int64(f.out[0]), int64(f.out[1]), s
}

// MemAlloc takes device memory.
func (l *Library) MemAlloc(bytes int64) (Pointer, Status) {
	v, s := l.get(symMemAlloc, uintptr(bytes))
	return Pointer(v), s
}

// MemFree gives device memory back.
func (l *Library) MemFree(p Pointer) Status { return l.call(symMemFree, uintptr(p)) }

// hostFlags are CU_MEMHOSTALLOC_PORTABLE and CU_MEMHOSTALLOC_DEVICEMAP.
const hostFlags = 1 | 2

// HostAlloc takes page-locked memory, which is not Go's.
func (l *Library) HostAlloc(bytes int64) (unsafe.Pointer, Status) {
	f := frames.Get().(*frame)
	defer func() { f.ptr = nil; frames.Put(f) }()
	s := l.callIn(f, symHostAlloc, uintptr(unsafe.Pointer(&f.ptr)), uintptr(bytes), hostFlags)
	return f.ptr, s
}

// HostFree gives page-locked memory back.
func (l *Library) HostFree(p unsafe.Pointer) Status { return l.call(symHostFree, uintptr(p)) }

// HostPointer is the device's address of page-locked memory.
func (l *Library) HostPointer(p unsafe.Pointer) (Pointer, Status) {
	v, s := l.get(symHostPointer, uintptr(p), 0)
	return Pointer(v), s
}

// CopyIn copies page-locked memory to the device.
func (l *Library) CopyIn(dst Pointer, src unsafe.Pointer, bytes int64, st Stream) Status {
	return l.call(symCopyIn, uintptr(dst), uintptr(src), uintptr(bytes), uintptr(st))
}

// CopyOut copies to page-locked memory from the device.
func (l *Library) CopyOut(dst unsafe.Pointer, src Pointer, bytes int64, st Stream) Status {
	return l.call(symCopyOut, uintptr(dst), uintptr(src), uintptr(bytes), uintptr(st))
}

// Copy copies on the device.
func (l *Library) Copy(dst, src Pointer, bytes int64, st Stream) Status {
	return l.call(symCopy, uintptr(dst), uintptr(src), uintptr(bytes), uintptr(st))
}

// Fill sets bytes.
func (l *Library) Fill(dst Pointer, value uint8, bytes int64, st Stream) Status {
	return l.call(symFill, uintptr(dst), uintptr(value), uintptr(bytes), uintptr(st))
}

// StreamCreate makes a stream of kind CU_STREAM_NON_BLOCKING.
func (l *Library) StreamCreate() (Stream, Status) {
	v, s := l.get(symStreamCreate, 1)
	return Stream(v), s
}

// StreamDestroy ends a stream once its work is done.
func (l *Library) StreamDestroy(st Stream) Status { return l.call(symStreamDestroy, uintptr(st)) }

// StreamSync waits for a stream.
func (l *Library) StreamSync(st Stream) Status { return l.call(symStreamSync, uintptr(st)) }

// StreamWait orders a stream after an event.
func (l *Library) StreamWait(st Stream, e Event) Status {
	return l.call(symStreamWait, uintptr(st), uintptr(e), 0)
}

// EventCreate makes an event; one without timing (CU_EVENT_DISABLE_TIMING) is cheaper.
func (l *Library) EventCreate(timing bool) (Event, Status) {
	flags := uintptr(2)
	if timing {
		flags = 0
	}
	v, s := l.get(symEventCreate, flags)
	return Event(v), s
}

// EventDestroy ends an event.
func (l *Library) EventDestroy(e Event) Status { return l.call(symEventDestroy, uintptr(e)) }

// EventRecord puts an event behind the work of a stream.
func (l *Library) EventRecord(e Event, st Stream) Status {
	return l.call(symEventRecord, uintptr(e), uintptr(st))
}

// EventSync waits for an event.
func (l *Library) EventSync(e Event) Status { return l.call(symEventSync, uintptr(e)) }

// EventElapsed is the device time between two events.
func (l *Library) EventElapsed(from, to Event) (float32, Status) {
	f := frames.Get().(*frame)
	defer frames.Put(f)
	s := l.callIn(f, symEventElapsed, f.at(0), uintptr(from), uintptr(to))
	return *(*float32)(unsafe.Pointer(&f.out[0])), s
}

// ModuleLoad loads an object.
func (l *Library) ModuleLoad(image []byte) (Module, Status) {
	v, s := l.get(symModuleLoad, uintptr(unsafe.Pointer(unsafe.SliceData(image))))
	runtime.KeepAlive(image)
	return Module(v), s
}

// ModuleUnload unloads an object.
func (l *Library) ModuleUnload(m Module) Status { return l.call(symModuleUnload, uintptr(m)) }

// ModuleFunction finds an entry point and loads it: by default the driver would do so at the first launch, which
// may be inside a capture, where loading is not safe.
func (l *Library) ModuleFunction(m Module, name string) (Function, Status) {
	f := frames.Get().(*frame)
	defer frames.Put(f)
	f.out[0] = 0
	if n := copy(f.text[:], name); n < len(f.text) {
		f.text[n] = 0
	} else {
		return 0, NotFound
	}
	s := l.callIn(f, symModuleFunction, f.at(0), uintptr(m), uintptr(unsafe.Pointer(&f.text)))
	fn := Function(f.out[0])
	if s == Success && l.Has(EagerLoad) {
		s = l.call(symFuncLoad, uintptr(fn))
	}
	return fn, s
}

// SetDynamicShared allows more than 48 KiB (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES is 8).
func (l *Library) SetDynamicShared(fn Function, bytes int) Status {
	return l.call(symFuncSetAttribute, uintptr(fn), 8, uintptr(bytes))
}

// Launch enqueues a kernel. The library copies the parameters before it returns.
func (l *Library) Launch(k *Launch) Status {
	params := uintptr(unsafe.Pointer(&k.Params[0]))
	var s Status
	if n := k.attributes(); n > 0 {
		k.config = launchConfig{grid: k.Grid, block: k.Block, shared: k.Shared, stream: uintptr(k.Stream),
			attrs: unsafe.Pointer(&k.attrs[0]), nattrs: uint32(n)}
		s = l.call(symLaunchEx, uintptr(unsafe.Pointer(&k.config)), uintptr(k.Function), params, 0)
	} else {
		s = l.call(symLaunch, uintptr(k.Function), uintptr(k.Grid[0]), uintptr(k.Grid[1]), uintptr(k.Grid[2]),
			uintptr(k.Block[0]), uintptr(k.Block[1]), uintptr(k.Block[2]), uintptr(k.Shared), uintptr(k.Stream), params, 0)
	}
	runtime.KeepAlive(k)
	return s
}

// tensorArgs is what an encoding reads through addresses.
type tensorArgs struct {
	dims    [5]uint64
	strides [4]uint64
	box     [5]uint32
	steps   [5]uint32
}

var tensorFrames = sync.Pool{New: func() any { return new(tensorArgs) }}

// EncodeTensorMap writes the descriptor of a tiled tensor: no interleave, zeros outside.
func (l *Library) EncodeTensorMap(out *[128]byte, t *TensorMap) Status {
	a := tensorFrames.Get().(*tensorArgs)
	a.dims, a.strides, a.box, a.steps = t.Dims, t.Strides, t.Box, [5]uint32{1, 1, 1, 1, 1}
	s := l.call(symEncodeTensorMap, uintptr(unsafe.Pointer(out)), uintptr(t.Type), uintptr(t.Rank), uintptr(t.Address),
		uintptr(unsafe.Pointer(&a.dims)), uintptr(unsafe.Pointer(&a.strides)), uintptr(unsafe.Pointer(&a.box)),
		uintptr(unsafe.Pointer(&a.steps)), 0, uintptr(t.Swizzle), uintptr(t.Promotion), 0)
	runtime.KeepAlive(out)
	tensorFrames.Put(a)
	return s
}

// CaptureBegin records the stream's work from here on. The mode is CU_STREAM_CAPTURE_MODE_RELAXED (2): calls of
// other threads do not break a capture, and ours are kept out of it by the stream itself.
func (l *Library) CaptureBegin(st Stream) Status { return l.call(symCaptureBegin, uintptr(st), 2) }

// CaptureEnd ends recording.
func (l *Library) CaptureEnd(st Stream) (Graph, Status) {
	f := frames.Get().(*frame)
	defer frames.Put(f)
	f.out[0] = 0
	s := l.callIn(f, symCaptureEnd, uintptr(st), f.at(0))
	return Graph(f.out[0]), s
}

// GraphInstantiate makes a graph ready to run.
func (l *Library) GraphInstantiate(g Graph) (GraphExec, Status) {
	v, s := l.get(symGraphInstantiate, uintptr(g), 0)
	return GraphExec(v), s
}

// GraphLaunch enqueues a graph.
func (l *Library) GraphLaunch(e GraphExec, st Stream) Status {
	return l.call(symGraphLaunch, uintptr(e), uintptr(st))
}

// GraphExecDestroy ends an instantiated graph.
func (l *Library) GraphExecDestroy(e GraphExec) Status {
	return l.call(symGraphExecDestroy, uintptr(e))
}

// GraphDestroy ends a graph.
func (l *Library) GraphDestroy(g Graph) Status { return l.call(symGraphDestroy, uintptr(g)) }
