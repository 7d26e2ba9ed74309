package kernel

import (
	"fmt"
	"unsafe"

	"github.com/likbench/likbench/backend"
)

// Offsets is a ragged axis: segment i is elements off[i] to off[i+1]. Only NewOffsets and
// DeviceOffsets make valid ones. Total and Max are what launch geometry needs without
// reading the device.
type Offsets struct {
	View    backend.View
	N       int64 // segments
	Total   int64 // last offset; elements beyond it are spare capacity
	Max     int64 // longest segment
	checked bool
}

// CheckOffsets reports segments, total and longest segment of prefix sums that start at 0
// and do not decrease. The error names the first wrong entry.
func CheckOffsets(off []int64) (n, total, longest int64, err error) {
	bad := func(i int, why string, want, got int64) error {
		return &backend.ArgumentError{Kernel: "offsets", Operand: fmt.Sprintf("entry %d", i), Why: why, Want: want, Got: got}
	}
	if len(off) == 0 {
		return 0, 0, 0, bad(0, "no entries: an empty axis has the single entry 0", 1, 0)
	}
	if off[0] != 0 {
		return 0, 0, 0, bad(0, "does not start at 0", 0, off[0])
	}
	for i := 1; i < len(off); i++ {
		d := off[i] - off[i-1]
		if off[i] < off[i-1] {
			return 0, 0, 0, bad(i, "is less than the entry before", off[i-1], off[i])
		}
		longest = max(longest, d)
	}
	return int64(len(off) - 1), off[len(off)-1], longest, nil
}

// NewOffsets checks off, uploads it to the start of dst and returns the operand.
func NewOffsets(s backend.Stream, dst backend.Buffer, off []int64) (Offsets, error) {
	return NewOffsetsAt(s, dst, 0, off)
}

// NewOffsetsAt is NewOffsets at a byte offset, a multiple of 8.
func NewOffsetsAt(s backend.Stream, dst backend.Buffer, at int64, off []int64) (Offsets, error) {
	n, total, longest, err := CheckOffsets(off)
	if err != nil {
		return Offsets{}, err
	}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(off))), len(off)*8)
	if at%8 != 0 || at < 0 {
		return Offsets{}, &backend.ArgumentError{Kernel: "offsets", Why: "byte offset is negative or no multiple of the element size", Want: 8, Got: at}
	}
	if have := max(dst.Len()-at, 0); int64(len(raw)) > have {
		return Offsets{}, &backend.ArgumentError{Kernel: "offsets", Why: "past the end of their buffer", Want: have, Got: int64(len(raw))}
	}
	if err := s.Upload(dst, at, raw); err != nil {
		return Offsets{}, err
	}
	return Offsets{View: backend.NewView(dst, at, backend.I64, n+1), N: n, Total: total, Max: longest, checked: true}, nil
}

// DeviceOffsets declares offsets that another kernel wrote: n+1 entries at v, of at most
// total elements and segments of at most longest. Bodies clamp every entry to the axis; a
// violation sets the stream's status word and surfaces as *ArgumentError at Sync.
func DeviceOffsets(v backend.View, total, longest int64) Offsets {
	return Offsets{View: v, N: v.Dims[0] - 1, Total: total, Max: longest, checked: true}
}
