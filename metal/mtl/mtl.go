// Package mtl is a thin binding of the part of Metal that a compute backend calls. It has no policy: choosing a
// device, pooling, batching and error classes belong to its caller.
//
// The interfaces are the same on every system. On macOS [Open] returns a driver that sends Objective-C messages
// without cgo; with the build tag macdriver a second one shares objects with an application that holds darwinkit
// objects. Elsewhere Open says why there is none. Tests bring drivers of their own.
//
// Ownership: whatever a method here returns is retained for the caller, who calls Release once. A command buffer keeps
// the pipelines and buffers that it uses until it has completed. Every entry runs inside an autorelease pool that is
// pushed and popped on one locked thread, so nothing autoreleased outlives the call.
package mtl

import "fmt"

// Driver is one way of reaching Metal.
type Driver interface {
	// Name says which: "purego", "macdriver", or the name of a test driver.
	Name() string
	// Default returns the system's default device, or nil where the system names none, as it does for processes
	// without a window server.
	Default() (Device, error)
	// Devices lists every device, in the system's order; it may be empty.
	Devices() ([]Device, error)
}

// Info describes a device.
type Info struct {
	Name              string
	Registry          uint64 // stable while the machine runs
	LowPower          bool   // an integrated GPU beside a discrete one
	Unified           bool   // memory is the system's
	Removable         bool
	MaxBuffer         int64 // bytes of the largest buffer
	WorkingSet        int64 // bytes that the system recommends not to exceed
	ThreadgroupMemory int64 // bytes a threadgroup may have
	SIMDReduce        bool  // simd_sum and its kind: family Apple7 or Mac2
	SIMDMatrix        bool  // 8×8 simdgroup_matrix: family Apple7
}

// Size is a number of threads or threadgroups along x, y and z.
type Size struct{ X, Y, Z uint64 }

// Device makes the other objects.
type Device interface {
	Info() Info
	NewQueue() (Queue, error)
	// NewBuffer makes memory that CPU and GPU share; it is not cleared. It fails with *Error when the system refuses.
	NewBuffer(bytes int64) (Buffer, error)
	// NewLibrary compiles MSL with fast arithmetic off.
	NewLibrary(source string) (Library, error)
	NewEvent() (Event, error)
	Release()
}

// Buffer is shared memory.
type Buffer interface {
	// Bytes is the memory itself; reading it while a command buffer writes it is a race.
	Bytes() []byte
	Release()
}

// Library is compiled MSL.
type Library interface {
	// Pipeline makes an entry point executable with the values of function constants 0, 1, …
	Pipeline(entry string, constants []uint32) (Pipeline, error)
	Release()
}

// Pipeline is an executable entry point.
type Pipeline interface {
	Width() int          // threads of a simdgroup
	MaxThreads() int     // threads a threadgroup may have with this pipeline
	StaticMemory() int64 // bytes of kernel-local threadgroup memory
	Release()
}

// Event orders command buffers of different queues.
type Event interface{ Release() }

// Queue runs command buffers in the order in which they were committed.
type Queue interface {
	CommandBuffer() (CommandBuffer, error)
	Release()
}

// CommandBuffer records work. Record, then Commit, then Wait. It belongs to one goroutine.
type CommandBuffer interface {
	// Dispatch records a launch. Launches of one command buffer run in order, each seeing the writes of those before.
	Dispatch(d *Dispatch) error
	// Copy records a copy between buffers.
	Copy(dst Buffer, dstOff int64, src Buffer, srcOff, n int64) error
	// Signal sets e to value once everything recorded before has completed.
	Signal(e Event, value uint64) error
	// WaitFor holds what is recorded after it until e has reached value.
	WaitFor(e Event, value uint64) error
	Commit() error
	// Wait blocks until the work has completed and returns its failure, if any.
	Wait() error
	// Times are the device's start and end of the work, in seconds on the host's clock; valid after Wait.
	Times() (start, end float64)
	Release()
}

// Bound is a buffer and a byte offset at one buffer index.
type Bound struct {
	Buffer Buffer
	Offset int64
}

// Dispatch is one launch. Buffers[i] is bound at index i; Bytes are copied and bound at the index after the last.
type Dispatch struct {
	Pipeline     Pipeline
	Buffers      []Bound
	Bytes        []byte // at most 4096, as setBytes takes
	Dynamic      int64  // bytes of threadgroup(0), a multiple of 16; 0 = none
	Groups       Size   // threadgroups
	ThreadsGroup Size   // threads of each
}

// Error is a failure that Metal reported.
type Error struct {
	Call   string // what was asked: "newLibraryWithSource"
	Domain string
	Code   int64
	Text   string
}

func (e *Error) Error() string {
	s := "mtl: " + e.Call + ": " + e.Text
	if e.Domain != "" {
		s += fmt.Sprintf(" (%s %d)", e.Domain, e.Code)
	}
	return s
}

// Command buffer errors, MTLCommandBufferError.
// https://developer.apple.com/documentation/metal/mtlcommandbuffererror-swift.struct/code
const (
	CommandDomain        = "MTLCommandBufferErrorDomain"
	CommandTimeout       = 2
	CommandPageFault     = 3
	CommandAccessRevoked = 4
	CommandOutOfMemory   = 8
	CommandDeviceRemoved = 11
)
