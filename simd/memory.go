package simd

import (
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/internal/sysmem"
)

// lineSize is the alignment of buffers and scratch: a cache line and a 512-bit vector.
const lineSize = 64

// heap hands out Go memory. It implements meter.Source.
type heap struct{}

// askSystem is the size from which an allocation first asks the system what is free: a Go
// program cannot survive a failed allocation, so one that cannot succeed is not tried.
const askSystem = 64 << 20

func (heap) Allocate(n int64) ([]byte, error) {
	if n > 1<<46 {
		return nil, backend.ErrTooLarge // beyond any address space: make would panic
	}
	if n >= askSystem {
		if free := sysmem.Available(); free > 0 && n > free {
			return nil, backend.ErrOutOfMemory
		}
	}
	return aligned(n), nil
}

// Release leaves the memory to the garbage collector.
func (heap) Release([]byte, int64) error { return nil }

func (heap) Pooled() int64 { return 0 }

// aligned returns n bytes at a cache line. Capacity ends with them, so that an append
// cannot reach the slack.
func aligned(n int64) []byte {
	b := make([]byte, n+lineSize)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (lineSize - 1)
	return b[skip : int64(skip)+n : int64(skip)+n]
}

// buffer is a backend.Buffer in Go memory; it implements backend.HostMapped.
type buffer struct {
	d      *device
	size   int64
	data   []byte
	ticket ticket
	freed  bool
}

func (b *buffer) Len() int64             { return b.size }
func (b *buffer) Device() backend.Device { return b.d }

// Bytes is the buffer's memory, nil after Free.
func (b *buffer) Bytes() []byte { return b.data }

func (b *buffer) Free() error {
	if b.freed {
		return closed("buffer")
	}
	data := b.data
	b.freed, b.data = true, nil
	return b.d.memory.Release(data, b.ticket)
}
