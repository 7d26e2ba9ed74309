package cuda

import (
	"sync/atomic"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/cuda/driver"
	"github.com/likbench/likbench/internal/meter"
)

// buffer is a range of device memory, aligned to 256 bytes.
type buffer struct {
	device  *device
	address driver.Pointer
	bytes   int64
	ticket  meter.Ticket
	freed   atomic.Bool
}

// Len is the size in bytes.
func (b *buffer) Len() int64 { return b.bytes }

// Device is where the memory lies.
func (b *buffer) Device() backend.Device { return b.device }

// Free gives the memory back. Work in flight that may still use it is waited for.
func (b *buffer) Free() error { return b.device.free(b) }
