// Package driver is the part of NVIDIA's driver library that the cuda backend calls, as an interface with one
// method per driver function, and its implementation over the library opened at run time. It has no policy:
// no caching, no goroutines, no retries. Calls that need a context work in the one current on the calling
// thread.
//
// The functions, constants and layouts are those of cuda.h of CUDA 12; every driver since then has them.
package driver

import "unsafe"

// Handles of the driver; the zero handle is none.
type (
	Device    int32
	Context   uintptr
	Stream    uintptr
	Event     uintptr
	Module    uintptr
	Function  uintptr
	Graph     uintptr
	GraphExec uintptr
	Pointer   uint64 // address on the device
)

// Feature is a part of the driver that an older one may lack.
type Feature uint8

// Features.
const (
	LaunchEx   Feature = iota // launches with clusters
	TensorMaps                // descriptors for the bulk tensor copy engine
	Graphs                    // capture and replay
	SharedOpt                 // more than 48 KiB of dynamic shared memory
	EagerLoad                 // functions are on the device before their first launch
	EarlyStart                // launches that start before the one in front has ended, in graphs too
	features
)

var featureNames = [features]string{"cuLaunchKernelEx", "cuTensorMapEncodeTiled", "cuStreamBeginCapture", "cuFuncSetAttribute",
	"cuFuncLoad", "cuGraphAddDependencies_v2"}

// String names the driver function that a feature rests on.
func (f Feature) String() string { return featureNames[f] }

// Attribute is a property of a device.
type Attribute int32

// Attributes.
const (
	MultiprocessorCount Attribute = 16
	ComputeMode         Attribute = 20
	ComputeMajor        Attribute = 75
	ComputeMinor        Attribute = 76
	L2CacheBytes        Attribute = 38
	SharedPerBlockOptin Attribute = 97
	Integrated          Attribute = 18
)

// Values of ComputeMode.
const (
	ModeDefault    = 0
	ModeProhibited = 2
	ModeExclusive  = 3
)

// API is what the backend calls. Every method returns the driver's status, Success where there is nothing to
// report. Implementations allocate no Go memory in the calls of a launch.
type API interface {
	// Path says which library answers: its path, or what stands for one.
	Path() string
	Has(Feature) bool

	Version() (int, Status) // 12080 is 12.8
	DeviceCount() (int, Status)
	DeviceGet(ordinal int) (Device, Status)
	DeviceName(Device) (string, Status)
	DeviceUUID(Device) ([16]byte, Status)
	DeviceAttribute(Device, Attribute) (int, Status)
	DeviceTotalMem(Device) (int64, Status)

	PrimaryRetain(Device) (Context, Status)
	PrimaryRelease(Device) Status
	Push(Context) Status
	Pop() Status
	Current() (Context, Status)

	MemInfo() (free, total int64, s Status)
	MemAlloc(bytes int64) (Pointer, Status)
	MemFree(Pointer) Status
	HostAlloc(bytes int64) (unsafe.Pointer, Status) // page-locked, addressable by the device
	HostFree(unsafe.Pointer) Status
	HostPointer(unsafe.Pointer) (Pointer, Status) // the device's address of such memory

	// Copies and fills are asynchronous. Host memory must come from HostAlloc.
	CopyIn(dst Pointer, src unsafe.Pointer, bytes int64, s Stream) Status
	CopyOut(dst unsafe.Pointer, src Pointer, bytes int64, s Stream) Status
	Copy(dst, src Pointer, bytes int64, s Stream) Status
	Fill(dst Pointer, value uint8, bytes int64, s Stream) Status

	StreamCreate() (Stream, Status) // does not wait for the legacy default stream
	StreamDestroy(Stream) Status
	StreamSync(Stream) Status
	StreamWait(Stream, Event) Status
	EventCreate(timing bool) (Event, Status)
	EventDestroy(Event) Status
	EventRecord(Event, Stream) Status
	EventSync(Event) Status
	EventElapsed(from, to Event) (milliseconds float32, s Status)

	ModuleLoad(image []byte) (Module, Status) // a cubin, or PTX that ends in a zero byte
	ModuleUnload(Module) Status
	ModuleFunction(m Module, name string) (Function, Status) // loaded, with feature EagerLoad
	SetDynamicShared(f Function, bytes int) Status           // feature SharedOpt
	Launch(*Launch) Status
	EncodeTensorMap(out *[128]byte, t *TensorMap) Status // feature TensorMaps; out is 64-byte aligned

	CaptureBegin(Stream) Status // feature Graphs
	CaptureEnd(Stream) (Graph, Status)
	GraphInstantiate(Graph) (GraphExec, Status)
	GraphLaunch(GraphExec, Stream) Status
	GraphExecDestroy(GraphExec) Status
	GraphDestroy(Graph) Status
}

// MaxParams is the most parameters a kernel takes: the argument block and its tensor maps.
const MaxParams = 9

// Launch is one kernel launch. It lives in memory that its user keeps, since the library reads it through
// addresses: a Launch is reused, never copied, and never on a stack.
type Launch struct {
	Function Function
	Stream   Stream
	Grid     [3]uint32
	Block    [3]uint32
	Cluster  [3]uint32 // zero: none; else feature LaunchEx
	Shared   uint32    // dynamic shared memory, bytes
	Words    int       // 8-byte words of the first parameter
	Params   [MaxParams]unsafe.Pointer
	NParams  int
	Early    bool // may start while the kernel in front ends: the kernel itself waits for it; feature EarlyStart

	config launchConfig
	attrs  [2]launchAttr
}

// launchConfig is CUlaunchConfig.
type launchConfig struct {
	grid, block [3]uint32
	shared      uint32
	_           uint32
	stream      uintptr
	attrs       unsafe.Pointer
	nattrs      uint32
	_           uint32
}

// launchAttr is CUlaunchAttribute: an identifier, padding to 8 bytes, a value of 64 bytes.
type launchAttr struct {
	id    uint32
	_     uint32
	value [16]uint32
}

// Identifiers of attributes.
const (
	attrCluster = 4 // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
	attrEarly   = 6 // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
)

// attributes fills attrs and says how many there are.
func (k *Launch) attributes() int {
	n := 0
	if k.Cluster[0] != 0 {
		k.attrs[n] = launchAttr{id: attrCluster, value: [16]uint32{k.Cluster[0], k.Cluster[1], k.Cluster[2]}}
		n++
	}
	if k.Early {
		k.attrs[n] = launchAttr{id: attrEarly, value: [16]uint32{1}}
		n++
	}
	return n
}

// TensorType is the element type of a tensor map.
type TensorType uint32

// Tensor types.
const (
	TensorU8   TensorType = 0
	TensorI32  TensorType = 3
	TensorF16  TensorType = 6
	TensorF32  TensorType = 7
	TensorBF16 TensorType = 9
)

// Swizzle is how the rows of a box are permuted in shared memory.
type Swizzle uint32

// Swizzles.
const (
	SwizzleNone Swizzle = iota
	Swizzle32B
	Swizzle64B
	Swizzle128B
)

// Promotion is the granularity at which a box is fetched into the level-2 cache.
type Promotion uint32

// Promotions.
const (
	PromoteNone Promotion = iota
	Promote64B
	Promote128B
	Promote256B
)

// TensorMap describes a tensor to the bulk copy engine, innermost dimension first. Address must be a multiple
// of 16, as must Strides; a box row is at most the swizzle's span. Elements outside are read as zeros.
type TensorMap struct {
	Type      TensorType
	Rank      uint32
	Address   Pointer
	Dims      [5]uint64 // elements
	Strides   [4]uint64 // bytes between elements of dimension 1, 2, …
	Box       [5]uint32 // elements
	Swizzle   Swizzle
	Promotion Promotion
}
