package backend

import "time"

// Stream runs operations in order. It is not safe for concurrent use. A stream may
// finish an operation before the call returns.
type Stream interface {
	Device() Device
	// Upload copies src to dst at byte off; src may be reused on return.
	Upload(dst Buffer, off int64, src []byte) error
	// Download fills dst from src at byte off; dst is valid on return.
	Download(dst []byte, src Buffer, off int64) error
	// Copy moves n bytes on the device. The ranges must not overlap.
	Copy(dst Buffer, dstOff int64, src Buffer, srcOff, n int64) error
	// Launch enqueues a program. It reads c before it returns and keeps nothing of it.
	Launch(p Program, c *Call) error
	Record() (Event, error)
	// Wait orders this stream after e.
	Wait(e Event) error
	// Sync waits for everything enqueued and returns the first failure since the last
	// Sync: a driver error naming the kernel, or the *ArgumentError of a data error.
	Sync() error
	Close() error
}

// Event is a point in a stream.
type Event interface {
	// Elapsed is the device time since an earlier event of the same device, where the
	// device has a clock; on Metal it is resolved to command buffer boundaries.
	Elapsed(since Event) (time.Duration, error)
	Close() error
}

// Limits of a call, so that it is a value of fixed size and a prepared launch allocates nothing.
const (
	MaxRank     = 5
	MaxOperands = 24
	MaxAxes     = 16
	MaxAttrs    = 12
	MaxTypes    = 4
)

// Word is one 8-byte slot of the argument block: an int64, a bool or the bits of a float64.
type Word uint64

// Call is one checked launch without types: what a driver needs to fill its argument block.
type Call struct {
	Args     any // *A, for bodies written in Go; valid during Stream.Launch only
	Kernel   any // the declaration (kernel.Info), for references and error texts
	Axes     [MaxAxes]int64
	Operands [MaxOperands]View
	Attrs    [MaxAttrs]Word
	NOperand uint8
	NAxis    uint8
	NAttr    uint8
	Types    [MaxTypes]DType
}
