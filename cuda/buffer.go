package cuda

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/cuda/driver"
	"github.com/likbench/likbench/internal/meter"
)

// buffer is a range of device memory. What Alloc returns is aligned to 256 bytes; borrowed memory may not be.
type buffer struct {
	device   *device
	address  driver.Pointer
	bytes    int64
	ticket   meter.Ticket
	freed    atomic.Bool
	borrowed bool
}

// Len is the size in bytes.
func (b *buffer) Len() int64 { return b.bytes }

// Device is where the memory lies.
func (b *buffer) Device() backend.Device { return b.device }

// Free gives the memory back. Work in flight that may still use it is waited for.
func (b *buffer) Free() error { return b.device.free(b) }

// part is the address of n bytes at off of a buffer of this device.
func (d *device) part(call, operand string, m backend.Buffer, off, n int64) (driver.Pointer, error) {
	b, ok := m.(*buffer)
	if !ok || b.device != d {
		return 0, foreign(call, operand)
	}
	if b.freed.Load() {
		return 0, closed(call + ": buffer " + operand)
	}
	if off < 0 || n < 0 || off > b.bytes || n > b.bytes-off {
		return 0, &backend.ArgumentError{Kernel: "cuda " + call, Operand: operand,
			Why: fmt.Sprintf("%d bytes at %d do not fit", n, off), Want: b.bytes, Got: off + n}
	}
	return b.address + driver.Pointer(off), nil
}

// Borrow makes a buffer of memory that belongs to the caller, in the context that d works in. Free forgets it and
// leaves the memory alone. It is not counted and not limited by the budget.
func Borrow(d backend.Device, address driver.Pointer, bytes int64) (backend.Buffer, error) {
	dev, ok := d.(*device)
	if !ok {
		return nil, foreign("borrow", "device")
	}
	if address == 0 || bytes < 0 {
		return nil, &backend.ArgumentError{Kernel: "cuda borrow", Operand: "memory", Why: "no address, or a negative size", Got: bytes}
	}
	if err := dev.enter(); err != nil {
		return nil, err
	}
	defer dev.leave()
	b := &buffer{device: dev, address: address, bytes: bytes, borrowed: true}
	dev.tables.Lock()
	dev.buffers[b] = struct{}{}
	dev.tables.Unlock()
	return b, nil
}

// AddressOf is the device address of a buffer, for callers who use the driver themselves; 0 for another
// backend's.
func AddressOf(m backend.Buffer) driver.Pointer {
	b, ok := m.(*buffer)
	if !ok || b.freed.Load() {
		return 0
	}
	return b.address
}

// hostBuffer is page-locked memory.
type hostBuffer struct {
	device *device
	data   []byte
}

// AllocPinned implements backend.PinnedAllocator.
func (d *device) AllocPinned(bytes int64) (backend.HostBuffer, error) {
	if bytes < 0 {
		return nil, &backend.ArgumentError{Kernel: "cuda alloc pinned", Operand: "bytes", Why: "negative", Got: bytes}
	}
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	p, s := d.api.HostAlloc(max(bytes, 1))
	if s == driver.OutOfMemory {
		return nil, &backend.AllocError{Backend: name, Requested: bytes, Err: backend.ErrOutOfMemory}
	}
	if err := d.check("cuMemHostAlloc", s); err != nil {
		return nil, err
	}
	h := &hostBuffer{device: d, data: unsafe.Slice((*byte)(p), bytes)}
	d.tables.Lock()
	d.pinned = append(d.pinned, h)
	d.tables.Unlock()
	return h, nil
}

// Bytes is the memory; nil once it is freed or the device closed.
func (h *hostBuffer) Bytes() []byte { return h.data }

// Free gives it back.
func (h *hostBuffer) Free() error {
	d := h.device
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	d.tables.Lock()
	defer d.tables.Unlock()
	for i, o := range d.pinned {
		if o == h {
			d.pinned = append(d.pinned[:i], d.pinned[i+1:]...)
			s := d.api.HostFree(unsafe.Pointer(unsafe.SliceData(h.data)))
			h.data = nil
			return d.check("cuMemFreeHost", s)
		}
	}
	return closed("pinned buffer")
}

// isPinned reports whether b lies in page-locked memory of the device.
func (d *device) isPinned(b []byte) bool {
	d.tables.Lock()
	defer d.tables.Unlock()
	p := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	for _, h := range d.pinned {
		start := uintptr(unsafe.Pointer(unsafe.SliceData(h.data)))
		if p >= start && p+uintptr(len(b)) <= start+uintptr(len(h.data)) {
			return true
		}
	}
	return false
}
