package simd

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/likbench/likbench/backend"
)

// rateLoop is a loop of n passes on registers.
type rateLoop struct {
	run      func(n int)
	perPass  float64 // operations, multiply and add counted apart
	requires string  // feature beyond the level, "" for none
	note     string
}

// matrixLoops are loops on tile registers by ceiling, in place of those of a level where a
// device has what they require.
var matrixLoops map[string]rateLoop

// memoryLoop moves n bytes, a multiple of 512; nil functions are left out.
type memoryLoop struct {
	read   func(p *byte, n int)
	copyNT func(dst, src *byte, n int)
}

const (
	// rateSlice is one timed stretch: short, so that some fall between what else the machine
	// does, and long against the clock's 40 ns.
	rateSlice  = 100 * time.Microsecond
	rateSlices = 300
	// memoryBytes is what the workers walk through together, beyond any last-level cache, and
	// memorySlice one timed stretch of it: some 1 ms.
	memoryBytes = 512 << 20
	memorySlice = 8 << 20
	memoryTime  = 800 * time.Millisecond
	launchTries = 2000
)

// Ceilings implements backend.CeilingMeter. Each is the sum over the workers, all busy at
// once, of the best slice of each: machines are shared, and a median measures the others.
func (d *device) Ceilings(ctx context.Context) ([]backend.Ceiling, error) {
	if d.closed.Load() {
		return nil, closed("device")
	}
	m := ceilingMeter{ctx: ctx, d: d}
	loops := rateLoopsOf(d)
	for _, name := range []string{"fma_f32", "fma_f64", "max_f32", "dot_bf16", "dot_f8", "dot_i8"} {
		if l, ok := loops[name]; ok {
			m.rate(name, l)
		}
	}
	m.bandwidth()
	m.launch()
	return m.found, ctx.Err()
}

// widened ends the note of a rate that is that of a wider type's loop.
const widened = ", after widening"

// rateLoopsOf are the loops of a device: its level's or the nearest below, and for types
// that are widened the loop of the unit that then does the work.
func rateLoopsOf(d *device) map[string]rateLoop {
	loops := map[string]rateLoop{}
	for _, l := range Levels() {
		if l > d.backend.level {
			break
		}
		for name, r := range rateLoops[l] {
			if r.requires == "" || d.info.Has(r.requires) {
				loops[name] = r
			}
		}
	}
	for name, r := range matrixLoops {
		if d.info.Has(r.requires) {
			loops[name] = r
		}
	}
	for _, w := range [][2]string{{"dot_bf16", "fma_f32"}, {"dot_f8", "dot_bf16"}} {
		if _, ok := loops[w[0]]; !ok {
			r := loops[w[1]]
			r.note = strings.TrimSuffix(r.note, widened) + widened
			loops[w[0]] = r
		}
	}
	return loops
}

type ceilingMeter struct {
	ctx   context.Context
	d     *device
	found []backend.Ceiling
}

func (m *ceilingMeter) add(name, unit string, value float64, note string) {
	m.found = append(m.found, backend.Ceiling{Name: name, Unit: unit, Value: value,
		Note: fmt.Sprintf("%s, %d workers", note, m.d.workers)})
}

// each runs f on every worker at once.
func (m *ceilingMeter) each(f func(w int)) {
	var wg sync.WaitGroup
	for w := range m.d.workers {
		wg.Go(func() { f(w) })
	}
	wg.Wait()
}

func (m *ceilingMeter) rate(name string, l rateLoop) {
	best := make([]float64, m.d.workers)
	m.each(func(w int) {
		passes := passesFor(l.run, rateSlice)
		for range rateSlices {
			if m.ctx.Err() != nil {
				return
			}
			t := time.Now()
			l.run(passes)
			best[w] = max(best[w], float64(passes)*l.perPass/time.Since(t).Seconds())
		}
	})
	sum := 0.0
	for _, b := range best {
		sum += b
	}
	unit := "FLOP/s"
	if name == "dot_i8" || name == "max_f32" {
		unit = "op/s"
	}
	m.add(name, unit, sum, l.note)
}

// passesFor is the passes that take about as long as slice.
func passesFor(run func(int), slice time.Duration) int {
	for n := 64; ; n *= 2 {
		t := time.Now()
		run(n)
		if took := time.Since(t); took > slice/4 || n > 1<<30 {
			return max(1, int(float64(n)*float64(slice)/float64(max(took, 1))))
		}
	}
}

// bandwidth measures reading and copying, each worker in a part of its own.
func (m *ceilingMeter) bandwidth() {
	part := int(memoryBytes/m.d.workers) / memorySlice * memorySlice
	if m.ctx.Err() != nil || part == 0 {
		return
	}
	src, dst := make([][]byte, m.d.workers), make([][]byte, m.d.workers)
	m.each(func(w int) { // touched where they are used, for the pages to be near
		src[w], dst[w] = aligned(int64(part)), aligned(int64(part))
		for i := 0; i < part; i += 4096 {
			src[w][i], dst[w][i] = 1, 1
		}
	})
	l := memoryLoops[m.d.backend.level]
	if l.read != nil {
		m.move("read", "vector loads with prefetch", 1, src, dst, func(_, src []byte) { l.read(&src[0], len(src)) })
	} else {
		m.move("read", "scalar loads", 1, src, dst, func(_, src []byte) { readWords(Words[uint64](src)) })
	}
	m.move("copy", "copy, bytes read plus written", 2, src, dst, func(dst, src []byte) { copy(dst, src) })
	if l.copyNT != nil {
		m.move("copy_nt", "stores past the caches, bytes read plus written", 2, src, dst,
			func(dst, src []byte) { l.copyNT(&dst[0], &src[0], len(src)) })
	}
}

// move times f, which moves factor bytes for each byte of its source, over slices.
func (m *ceilingMeter) move(name, note string, factor float64, src, dst [][]byte, f func(dst, src []byte)) {
	best := make([]float64, m.d.workers)
	m.each(func(w int) {
		for start := time.Now(); time.Since(start) < memoryTime; {
			for at := 0; at < len(src[w]) && m.ctx.Err() == nil; at += memorySlice {
				t := time.Now()
				f(dst[w][at:at+memorySlice], src[w][at:at+memorySlice])
				best[w] = max(best[w], factor*memorySlice/time.Since(t).Seconds())
			}
			if m.ctx.Err() != nil {
				return
			}
		}
	})
	sum := 0.0
	for _, b := range best {
		sum += b
	}
	m.add(name, "B/s", sum, fmt.Sprintf("%s, %s", note, backend.FormatBytes(int64(len(src[0])*m.d.workers))))
}

// readSink keeps readWords from being optimised away.
//
//lint:ignore U1000 written only, on purpose
var readSink uint64

func readWords(x []uint64) {
	var a, b, c, d uint64
	for i := 0; i+8 <= len(x); i += 8 {
		a, b, c, d = a^x[i]^x[i+4], b^x[i+1]^x[i+5], c^x[i+2]^x[i+6], d^x[i+3]^x[i+7]
	}
	if a^b^c^d == 1 {
		readSink = 1
	}
}

// launch measures an empty launch of one tile, and one that every worker joins.
func (m *ceilingMeter) launch() {
	if m.ctx.Err() != nil {
		return
	}
	s := newStream(m.d)
	defer s.Close()
	empty := &variant{tiles: func(*backend.Call) int64 { return 1 }, run: func(*Task) {}}
	p, c := &program{m.d, empty}, &backend.Call{}
	best := time.Hour
	for range launchTries {
		t := time.Now()
		if s.Launch(p, c) != nil {
			return
		}
		best = min(best, time.Since(t))
	}
	m.found = append(m.found, backend.Ceiling{Name: "launch", Unit: "s", Value: best.Seconds(), Note: "empty launch of one tile, on the caller's goroutine"})
}
