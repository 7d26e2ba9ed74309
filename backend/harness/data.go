package harness

import (
	"hash/fnv"
	"math/rand/v2"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// Seed derives a seed from a name, so that a case has the same data on every machine.
func Seed(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

func random(seed uint64, stream string) *rand.Rand {
	return rand.New(rand.NewPCG(seed, Seed(stream)))
}

// block is the length of the pattern that large operands repeat, rotated, so that a
// gigabyte of benchmark data takes seconds and not minutes to draw.
const block = 1 << 18

// draw fills the raw image of an input operand, dense.
func draw(k kernel.Info, o *kernel.Operand, t backend.DType, c *kernel.Case, count int64, seed uint64, raw []byte) {
	r := random(seed, k.Name()+"."+o.Name)
	n := int64(len(raw)) / t.Size()
	if fill := c.Fill[o.Name]; fill != nil {
		x := make([]float64, n)
		fill(r, x)
		kernel.Encode(t, raw, x)
		return
	}
	x := make([]float64, min(n, block))
	for i := range x {
		switch {
		case t.Float():
			x[i] = 2*r.Float64() - 1
		case o.CountOf >= 0:
			x[i] = float64(r.Int64N(count + 1))
		case t == backend.U8:
			x[i] = float64(r.Int64N(2)) // a mask
		default:
			x[i] = float64(r.Int64N(100))
		}
	}
	kernel.Encode(t, raw[:int64(len(x))*t.Size()], x)
	repeat(raw, int64(len(x))*t.Size(), t.Size(), r)
}

// repeat copies the first size bytes of raw over the rest, each time rotated by a drawn
// number of elements.
func repeat(raw []byte, size, elem int64, r *rand.Rand) {
	for at := size; at < int64(len(raw)); at += size {
		rot := r.Int64N(size/elem) * elem
		n := copy(raw[at:min(at+size, int64(len(raw)))], raw[rot:size])
		copy(raw[min(at+int64(n), int64(len(raw))):min(at+size, int64(len(raw)))], raw[:rot])
	}
}

// lengths draws segment lengths for a ragged axis: short ones, some empty.
func lengths(segments int64, seed uint64, axis string) []int64 {
	r := random(seed, "lengths."+axis)
	out := make([]int64, segments)
	for i := range out {
		out[i] = r.Int64N(40)
	}
	return out
}
