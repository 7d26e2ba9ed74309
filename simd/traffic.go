package simd

import (
	"fmt"
	"sync"

	"github.com/likbench/likbench/backend"
)

// traffic reads and writes bytes of pairs of buffers, each worker in a part of its own.
type traffic struct {
	d       *device
	in, out [][]byte
	next    int
}

// NewTraffic implements backend.TrafficMeter. What is written is copied past the caches
// where the level can; what is read beyond that is read with prefetch.
func (d *device) NewTraffic(st backend.Stream, read, write int64, sets int) (backend.Traffic, error) {
	if s, ok := st.(*stream); !ok || s.d != d {
		return nil, &backend.ArgumentError{Kernel: "traffic", Operand: "stream", Why: "belongs to another device"}
	}
	if read < 0 || write < 0 || sets < 1 {
		return nil, &backend.ArgumentError{Kernel: "traffic", Operand: "bytes", Why: fmt.Sprintf("%d read, %d written, %d sets", read, write, sets)}
	}
	t := &traffic{d: d}
	for range sets {
		in, out := aligned(max(read, write)), aligned(write)
		for i := range in { // touched, for the pages to be there
			in[i] = byte(i)
		}
		clear(out)
		t.in, t.out = append(t.in, in), append(t.out, out)
	}
	return t, nil
}

// Launch implements backend.Traffic; it returns when the bytes have moved.
func (t *traffic) Launch() error {
	t.next = (t.next + 1) % len(t.in)
	in, out := t.in[t.next], t.out[t.next]
	l := memoryLoops[t.d.backend.level]
	var wg sync.WaitGroup
	for w := range t.d.workers {
		wg.Go(func() {
			from, to := t.part(len(out), w)
			switch {
			case to == from:
			case l.copyNT != nil:
				l.copyNT(&out[from], &in[from], to-from)
			default:
				copy(out[from:to], in[from:to])
			}
			rest := in[len(out):]
			from, to = t.part(len(rest), w)
			switch {
			case to == from:
			case l.read != nil:
				l.read(&rest[from], to-from)
			default:
				readWords(Words[uint64](rest[from:to]))
			}
		})
	}
	wg.Wait()
	return nil
}

// loopBytes is what one round of the read and copy loops moves.
const loopBytes = 512

// part is worker w's share of n bytes, in whole rounds of the loops; a rest of less than
// one is left out.
func (t *traffic) part(n, w int) (from, to int) {
	lines := n / loopBytes
	return lines * w / t.d.workers * loopBytes, lines * (w + 1) / t.d.workers * loopBytes
}

// Close implements backend.Traffic.
func (t *traffic) Close() error {
	t.in, t.out = nil, nil
	return nil
}
