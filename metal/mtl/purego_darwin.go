package mtl

import (
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/ebitengine/purego/objc"

	"github.com/likbench/likbench/backend"
)

const (
	frameworkPath = "/System/Library/Frameworks/Metal.framework/Metal"
	objcPath      = "/usr/lib/libobjc.A.dylib"
	utf8          = 4 // NSUTF8StringEncoding
)

// Open loads Metal at run time and returns the driver that needs no cgo.
func Open() (Driver, error) {
	rt, err := newPurego()
	if err != nil {
		return nil, err
	}
	return New(rt), nil
}

// pureRuntime is the Objective-C run time through purego.
type pureRuntime struct {
	msgSend       uintptr
	float64Send   func(object, selector uintptr) float64
	sizesSend     func(object, selector uintptr, a, b Size)
	pushPool      func() uintptr
	popPool       func(uintptr)
	defaultDevice func() uintptr
	allDevices    func() uintptr
	nsString      uintptr
	selAlloc      uintptr
	selInit       uintptr
	selUTF8       uintptr
}

func newPurego() (*pureRuntime, error) {
	metal, err := purego.Dlopen(frameworkPath, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, &backend.UnavailableError{Backend: "metal", Reason: "the Metal framework does not load", Err: err}
	}
	lib, err := purego.Dlopen(objcPath, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, &backend.UnavailableError{Backend: "metal", Reason: "the Objective-C run time does not load", Err: err}
	}
	r := &pureRuntime{}
	if r.msgSend, err = purego.Dlsym(lib, "objc_msgSend"); err != nil {
		return nil, &backend.UnavailableError{Backend: "metal", Reason: "no objc_msgSend", Err: err}
	}
	for _, f := range []struct {
		fn   any
		lib  uintptr
		name string
	}{
		{&r.float64Send, lib, "objc_msgSend"}, {&r.sizesSend, lib, "objc_msgSend"},
		{&r.pushPool, lib, "objc_autoreleasePoolPush"}, {&r.popPool, lib, "objc_autoreleasePoolPop"},
		{&r.defaultDevice, metal, "MTLCreateSystemDefaultDevice"}, {&r.allDevices, metal, "MTLCopyAllDevices"},
	} {
		sym, err := purego.Dlsym(f.lib, f.name)
		if err != nil {
			return nil, &backend.UnavailableError{Backend: "metal", Reason: "no " + f.name, Err: err}
		}
		purego.RegisterFunc(f.fn, sym)
	}
	r.nsString = r.Class("NSString")
	r.selAlloc, r.selInit, r.selUTF8 = r.Selector("alloc"), r.Selector("initWithBytes:length:encoding:"), r.Selector("UTF8String")
	return r, nil
}

func (r *pureRuntime) Name() string                  { return "purego" }
func (r *pureRuntime) Class(name string) uintptr     { return uintptr(objc.GetClass(name)) }
func (r *pureRuntime) Selector(name string) uintptr  { return uintptr(objc.RegisterName(name)) }
func (r *pureRuntime) Float64(o, s uintptr) float64  { return r.float64Send(o, s) }
func (r *pureRuntime) Sizes(o, s uintptr, a, b Size) { r.sizesSend(o, s, a, b) }
func (r *pureRuntime) PushPool() uintptr             { return r.pushPool() }
func (r *pureRuntime) PopPool(pool uintptr)          { r.popPool(pool) }
func (r *pureRuntime) DefaultDevice() uintptr        { return r.defaultDevice() }
func (r *pureRuntime) AllDevices() uintptr           { return r.allDevices() }

func (r *pureRuntime) Send(object, selector, a, b, c, d, e uintptr) uintptr {
	v, _, _ := purego.SyscallN(r.msgSend, object, selector, a, b, c, d, e)
	return v
}

func (r *pureRuntime) NewText(s string) uintptr {
	o := r.Send(r.nsString, r.selAlloc, 0, 0, 0, 0, 0)
	p := unsafe.Pointer(unsafe.StringData(s))
	o = r.Send(o, r.selInit, uintptr(p), uintptr(len(s)), utf8, 0, 0)
	runtime.KeepAlive(s)
	return o
}

func (r *pureRuntime) Text(object uintptr) string {
	if object == 0 {
		return ""
	}
	at := r.Send(object, r.selUTF8, 0, 0, 0, 0, 0)
	if at == 0 {
		return ""
	}
	p := pointer(at)
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

func (r *pureRuntime) Bytes(address uintptr, n int64) []byte {
	return unsafe.Slice((*byte)(pointer(address)), n)
}

func (r *pureRuntime) Words(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

func (r *pureRuntime) ErrorSlot(f func(slot uintptr)) uintptr {
	slot := new(uintptr)
	var pin runtime.Pinner
	pin.Pin(slot) // on the heap, and not moved with a growing stack while the callee writes it
	defer pin.Unpin()
	f(uintptr(unsafe.Pointer(slot)))
	return *slot
}

// pointer turns an address of memory that Go does not manage into a pointer, without the conversion that vet takes
// for arithmetic on Go memory.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }
