package store

import (
	"errors"
	"io"
	"math"
	"runtime"
	"sync"

	"github.com/likbench/likbench/backend/num"
)

// Centroids that float16 holds are kept so, 2 bytes of theirs less, and made float32 when the index
// is opened. Where there are halfBelow a component or more they stay as they are, to be mapped: so
// many are of K²/256 tokens or more (package build), whose lists take 4 bytes of each pair of
// cell and document, of which there are some .9 a token, where other layouts take 8. It is below
// this number that centroids would make an index the larger one.
const halfBelow = 144

// narrow is values as float16, or nil where one of them is none, or there are none.
func narrow(v []float32) []uint16 {
	const dropped = 1<<13 - 1 // fraction bits that no float16 has: most float32 are told by them
	for _, x := range v {
		if math.Float32bits(x)&dropped != 0 {
			return nil
		}
	}
	if len(v) == 0 {
		return nil
	}
	out := make([]uint16, len(v))
	for i, x := range v {
		out[i] = num.F16FromFloat32(x)
		if math.Float32bits(num.F16ToFloat32(out[i])) != math.Float32bits(x) {
			return nil
		}
	}
	return out
}

// halvesPart is how many values are read at a time, and halvesShare how many are worth a goroutine.
const (
	halvesPart  = 1 << 14
	halvesShare = 1 << 16
)

// readHalves reads n values of float16. Opening an index waits for it.
func readHalves(f io.ReaderAt, n int) ([]float32, error) {
	out, workers := make([]float32, n), max(min(n/halvesShare, runtime.GOMAXPROCS(0)), 1)
	errs := make([]error, workers)
	read := func(w int) {
		buf := make([]uint16, min(halvesPart, n))
		for at, end := w*n/workers, (w+1)*n/workers; at < end && errs[w] == nil; at += len(buf) {
			buf = buf[:min(len(buf), end-at)]
			if _, errs[w] = f.ReadAt(asBytes(buf), 2*int64(at)); errs[w] == nil {
				widen(out[at:], buf)
			}
		}
	}
	var others sync.WaitGroup
	for w := 1; w < workers; w++ {
		others.Go(func() { read(w) })
	}
	read(0)
	others.Wait()
	return out, errors.Join(errs...)
}

// widen makes float32 of float16: exponent and fraction are moved to their places, and a product,
// which is exact, then moves the exponent's bias and makes subnormals normal.
func widen(dst []float32, h []uint16) {
	const bias = 0x1p112 // 2^(127−15)
	dst = dst[:len(h)]
	for i, x := range h {
		v := math.Float32frombits(uint32(x&0x7fff)<<13) * bias
		if x&0x7c00 == 0x7c00 { // infinite, or NaN
			v = math.Float32frombits(0x7f800000 | uint32(x&0x3ff)<<13)
		}
		dst[i] = math.Float32frombits(math.Float32bits(v) | uint32(x&0x8000)<<16)
	}
}
