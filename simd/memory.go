package simd

import (
	"bytes"
	"os"
	"strconv"
	"unsafe"

	"github.com/likbench/likbench/backend"
)

// lineSize is the alignment of buffers and scratch: a cache line and a 512-bit vector.
const lineSize = 64

// heap hands out Go memory. It implements meter.Source.
type heap struct{}

// askSystem is the size from which an allocation first asks the system what is free: a Go
// program cannot survive a failed allocation, so one that cannot succeed is not tried.
const askSystem = 64 << 20

func (heap) Allocate(n int64) ([]byte, error) {
	if n >= askSystem {
		if free := memoryInfo("MemAvailable:"); free > 0 && n > free {
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

// totalMemory is the bytes of main memory, 0 where the system does not say.
func totalMemory() int64 { return memoryInfo("MemTotal:") }

// memoryInfo reads a line of Linux's /proc/meminfo in bytes; 0 elsewhere.
func memoryInfo(field string) int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) >= 2 && string(f[0]) == field {
			kib, err := strconv.ParseInt(string(f[1]), 10, 64)
			if err == nil {
				return kib << 10
			}
		}
	}
	return 0
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
