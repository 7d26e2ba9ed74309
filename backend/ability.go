package backend

import "context"

// Optional abilities, found by type assertion; they do not count as core. Two backends
// must want one before it may move there.

// GraphCapturer is a Stream that can record its launches. Default: launch one by one.
// During capture Upload, Download, Sync, Alloc and growth of scratch fail with ErrCapturing.
type GraphCapturer interface {
	Capture(record func() error) (Graph, error)
}

// Graph holds copies of the argument words, and the scratch and programs, it was recorded
// with until Close; operands must stay allocated.
type Graph interface {
	Replay(s Stream) error
	Close() error
}

// HostMapped is a Buffer whose bytes Go can address.
type HostMapped interface{ Bytes() []byte }

// MemoryWrapper is a Device that works on memory of the process: Wrap makes a buffer of p
// without a copy. Nobody may write p while the buffer is live, and only inputs may lie in it.
// Default: Alloc and Upload.
type MemoryWrapper interface {
	Wrap(p []byte) (Buffer, error)
}

// PinnedAllocator is a Device with host memory that transfers read without a copy.
// Default: transfers go through the stream's staging.
type PinnedAllocator interface {
	AllocPinned(bytes int64) (HostBuffer, error)
}

// HostBuffer is page-locked host memory.
type HostBuffer interface {
	Bytes() []byte
	Free() error
}

// PeerCopier is a Device that copies from another of its kind without the host.
// Default: Download and Upload.
type PeerCopier interface {
	CopyPeer(dst Buffer, dstOff int64, src Buffer, srcOff, n int64) error
}

// Profiler is a Stream with a finer clock than events. Default: events.
type Profiler interface {
	Profile(name string, run func() error) error
}

// ScratchReserver is a Stream that keeps scratch of a size in place until released, so
// that a prepared launch never grows it. Default: scratch grows at the first launch.
type ScratchReserver interface {
	ReserveScratch(bytes int64) (release func(), err error)
}

// PeakScoper is a Device that reports the peak of a stretch of work: the function
// returned ends the scope and gives the largest Live inside it, less Live at its start.
type PeakScoper interface {
	PeakScope() (end func() int64)
}

// CeilingMeter is a Device that measures its own limits, for shares of the bound in reports.
type CeilingMeter interface {
	Ceilings(ctx context.Context) ([]Ceiling, error)
}

// Ceiling is one measured limit. Names: fma_f32, fma_f64, dot_bf16, dot_f8, dot_i8
// (FLOP/s or op/s), max_f32 (max/s), read, copy, copy_nt (byte/s), launch (s).
type Ceiling struct {
	Name  string
	Unit  string // "FLOP/s", "op/s", "B/s", "s"
	Value float64
	Note  string // how it was measured: unit, cores, bytes
}

// CacheFlusher is a Device that can evict its caches between timed repeats.
// Default: operands rotate through more memory than the last-level cache.
type CacheFlusher interface {
	FlushCaches(s Stream) error
}

// TrafficMeter is a Device that moves bytes and computes nothing: the plain bound of a
// memory-bound kernel, taken with its byte counts, rotation and clock. Default: the read
// and copy ceilings.
type TrafficMeter interface {
	// NewTraffic prepares passes over sets pairs of buffers; each launch reads and writes
	// these bytes of the next pair.
	NewTraffic(s Stream, read, write int64, sets int) (Traffic, error)
}

// Traffic is a prepared pass of a TrafficMeter.
type Traffic interface {
	Launch() error
	Close() error
}
