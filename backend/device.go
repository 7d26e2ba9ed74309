package backend

// Device owns memory and programs. It is safe for concurrent use.
type Device interface {
	Backend() Backend
	Info() Info
	// Alloc returns uninitialised memory; 0 bytes is legal. It fails with *AllocError.
	Alloc(bytes int64) (Buffer, error)
	NewStream() (Stream, error)
	// Load returns the program of an instance in an explicit variant; results are cached.
	// *UnsupportedError names the missing feature.
	Load(instance, variant string) (Program, error)
	Memory() MemoryStats
	// Close releases the device. Buffers still live are listed in the error and released too.
	Close() error
}

// Buffer is a range of device memory, in bytes.
type Buffer interface {
	Len() int64
	Device() Device
	// Free gives the memory back. A second call returns ErrClosed.
	Free() error
}

// Program is one variant of one kernel instance loaded on one device.
type Program interface {
	Kernel() string
	Variant() string
	// Workspace is the scratch bytes a launch with these axes takes; monotone in every axis.
	Workspace(c *Call) int64
}

// MemoryStats counts bytes of a device. Live + Pooled is what is held; Scratch is the
// part of Live that belongs to streams.
type MemoryStats struct {
	Live    int64 // allocated and not freed
	Peak    int64 // largest Live so far
	Pooled  int64 // freed and kept for reuse
	Scratch int64 // of Live: arenas of streams
	Budget  int64 // ceiling, 0 = none
	Total   int64 // of the device
	Buffers int   // live buffers, without scratch
}
