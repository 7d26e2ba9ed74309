package mtl

import "runtime"

// Runtime is the part of the Objective-C run time that the message driver needs. Objects, classes and selectors are
// addresses. The driver over it is the same on every system, so its use of pools and its ownership are tested with a
// run time in memory.
type Runtime interface {
	Name() string
	Class(name string) uintptr
	Selector(name string) uintptr
	// Send sends a message whose arguments are words; a method that takes fewer ignores the rest.
	Send(object, selector, a, b, c, d, e uintptr) uintptr
	// Float64 sends a message without arguments that returns a double.
	Float64(object, selector uintptr) float64
	// Sizes sends a message that takes two MTLSize by value.
	Sizes(object, selector uintptr, a, b Size)
	// PushPool and PopPool bracket an autorelease pool of the calling thread.
	PushPool() uintptr
	PopPool(pool uintptr)
	// DefaultDevice is MTLCreateSystemDefaultDevice: retained for the caller, or 0.
	DefaultDevice() uintptr
	// AllDevices is MTLCopyAllDevices: an NSArray retained for the caller, or 0.
	AllDevices() uintptr
	// NewText makes an NSString, retained for the caller.
	NewText(s string) uintptr
	// Text reads an NSString; it borrows.
	Text(object uintptr) string
	// Bytes is memory of a buffer: n bytes at address.
	Bytes(address uintptr, n int64) []byte
	// Words makes the address of memory readable by a callee for the length of one call.
	Words(b []byte) uintptr
	// ErrorSlot calls f with the address of a zero word that f's message may set to an NSError, and returns that word.
	ErrorSlot(f func(slot uintptr)) uintptr
}

// pooled runs f inside an autorelease pool of one locked thread: a goroutine may not change threads between push and
// pop, and what f autoreleases must not wait for a pool that a Go program does not have.
func (m *messenger) pooled(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pool := m.rt.PushPool()
	defer m.rt.PopPool(pool)
	f()
}

// messenger sends messages with selectors looked up once.
type messenger struct {
	rt  Runtime
	sel map[string]uintptr
}

// selectors are every message that the driver sends.
var selectors = []string{
	"retain", "release", "count", "objectAtIndex:", "name", "new",
	"registryID", "isLowPower", "hasUnifiedMemory", "isRemovable", "maxBufferLength", "recommendedMaxWorkingSetSize",
	"maxThreadgroupMemoryLength", "supportsFamily:",
	"newCommandQueue", "newBufferWithLength:options:", "contents", "newLibraryWithSource:options:error:", "newSharedEvent",
	"setFastMathEnabled:", "setLanguageVersion:",
	"setConstantValue:type:atIndex:", "newFunctionWithName:constantValues:error:", "newComputePipelineStateWithFunction:error:",
	"threadExecutionWidth", "maxTotalThreadsPerThreadgroup", "staticThreadgroupMemoryLength",
	"commandBuffer", "computeCommandEncoder", "blitCommandEncoder", "endEncoding", "setComputePipelineState:",
	"setBuffer:offset:atIndex:", "setBytes:length:atIndex:", "setThreadgroupMemoryLength:atIndex:",
	"dispatchThreadgroups:threadsPerThreadgroup:", "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:",
	"encodeSignalEvent:value:", "encodeWaitForEvent:value:", "commit", "waitUntilCompleted", "status", "error",
	"GPUStartTime", "GPUEndTime", "code", "domain", "localizedDescription",
}

func newMessenger(rt Runtime) *messenger {
	m := &messenger{rt: rt, sel: make(map[string]uintptr, len(selectors))}
	for _, s := range selectors {
		m.sel[s] = rt.Selector(s)
	}
	return m
}

func (m *messenger) send(object uintptr, selector string, a ...uintptr) uintptr {
	var w [5]uintptr
	copy(w[:], a)
	return m.rt.Send(object, m.sel[selector], w[0], w[1], w[2], w[3], w[4])
}

// retain keeps an autoreleased or borrowed object beyond the pool.
func (m *messenger) retain(object uintptr) uintptr {
	if object != 0 {
		m.send(object, "retain")
	}
	return object
}

func (m *messenger) release(object uintptr) {
	if object != 0 {
		m.send(object, "release")
	}
}

// failure reads an NSError, which is borrowed.
func (m *messenger) failure(call string, object uintptr) *Error {
	if object == 0 {
		return &Error{Call: call, Text: "no object and no reason"}
	}
	return &Error{Call: call, Code: int64(m.send(object, "code")),
		Domain: m.rt.Text(m.send(object, "domain")), Text: m.rt.Text(m.send(object, "localizedDescription"))}
}
