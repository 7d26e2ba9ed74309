package plaid

import (
	"errors"
	"runtime"
	"sync"
	"unsafe"

	"github.com/likbench/likbench/backend"
)

const (
	// shareFrom is the components of queries that are worth a goroutine more: about ten
	// microseconds of work. More than shareMost are not awake in time.
	shareFrom = 1 << 14
	shareMost = 8
	// pinFrom is the bytes from which a transfer from page-locked memory, which waits, takes
	// less than a copy into the stream's own.
	pinFrom = 128 << 10
	// pinMost is the bytes of a block that are page-locked: larger transfers take so long
	// that a copy beside them costs nothing.
	pinMost = 64 << 20
)

// eachQuery calls do for i from 0 to n−1, queries of so many components in all, on several
// goroutines where that pays; w is the number of the goroutine, below shareMost.
func eachQuery(n, components int, do func(w, i int)) {
	workers := min(runtime.GOMAXPROCS(0), components/shareFrom, n, shareMost)
	if workers < 2 {
		for i := range n {
			do(0, i)
		}
		return
	}
	var wg sync.WaitGroup
	for w := 1; w < workers; w++ {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				do(w, i)
			}
		})
	}
	for i := 0; i < n; i += workers {
		do(0, i)
	}
	wg.Wait()
}

// hostBlock is host memory for transfers, page-locked where the device has such.
type hostBlock struct {
	words  []int64
	pinned backend.HostBuffer
}

// renew makes it another one, of so many bytes, from a device that pins memory or nil.
func (h *hostBlock) renew(from backend.PinnedAllocator, bytes int64) error {
	if err := h.free(); err != nil {
		return err
	}
	if from == nil || bytes > pinMost {
		h.words = make([]int64, bytes/8)
		return nil
	}
	b, err := from.AllocPinned(bytes)
	if errors.Is(err, backend.ErrOutOfMemory) { // it only saves time
		return h.renew(nil, bytes)
	}
	if err != nil {
		return err
	}
	h.pinned = b
	h.words = unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(b.Bytes()))), bytes/8)
	return nil
}

func (h *hostBlock) free() error {
	b := h.pinned
	h.words, h.pinned = nil, nil
	if b == nil {
		return nil
	}
	return b.Free()
}
