package kernels

import (
	"cmp"
	"math"
	"slices"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/kernel"
)

// Reference parts that the kernels of late-interaction indexes share. Whatever selects in
// an index is defined by package canon, so these references run its arithmetic: outputs
// are compared bit for bit, on every backend.

// floats32 narrows values that were float32 in memory.
func floats32(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

// fixedSum adds float32 values as counts of steps 2^-shift, each rounded half to even.
type fixedSum struct {
	shift            int
	total            int64
	nan, plus, minus bool
	beyond           bool // an addend of 2^62 steps or more
}

func (s *fixedSum) add(x float64) {
	steps := math.Ldexp(x, s.shift)
	switch {
	case x != x:
		s.nan = true
	case math.IsInf(x, 1):
		s.plus = true
	case math.IsInf(x, -1):
		s.minus = true
	case math.Abs(steps) >= 0x1p62:
		s.beyond = true
	default:
		s.total += int64(math.RoundToEven(steps))
	}
}

// fixed is the sum as canon.Fixed; one beyond the shift is NaN.
func (s *fixedSum) fixed() canon.Fixed {
	switch {
	case s.nan || s.beyond || s.plus && s.minus:
		return canon.NaN
	case s.plus:
		return canon.PosInf
	case s.minus:
		return canon.NegInf
	}
	return canon.Fixed(s.total)
}

// fixedScore is a fixed sum as float32: the count rounded once, then scaled.
func fixedScore(f canon.Fixed, shift int) float64 {
	switch f {
	case canon.NaN:
		return math.NaN()
	case canon.PosInf:
		return math.Inf(1)
	case canon.NegInf:
		return negInf
	}
	return math.Ldexp(float64(float32(int64(f))), -shift)
}

// listing is the documents that a launch scores, per query: what the candidate operands of
// the index kernels say.
type listing struct {
	query, doc []int64 // offsets
	id         []int64 // nq,c
	count      []int64 // nq, nil = c
	code       []int64 // td
	c, nd, k   int64
}

func readListing(r *kernel.Ref, queryOff, docOff *kernel.Offsets, candidate, count, code *backend.View, tq, td, k int64) *listing {
	return &listing{
		query: refOffsets(r, "QueryOff", queryOff, tq), doc: refOffsets(r, "DocOff", docOff, td),
		id: r.Ints(candidate), count: r.Ints(count), code: r.Ints(code),
		c: candidate.Dims[1], nd: docOff.View.Dims[0] - 1, k: k,
	}
}

// tokens is the range of document tokens of entry e of query i; an empty one scores −∞.
func (l *listing) tokens(r *kernel.Ref, i, e int64) (lo, hi int64) {
	if l.count != nil && e >= l.count[i] {
		return 0, 0
	}
	j := l.id[i*l.c+e]
	if j < -1 || j >= l.nd {
		r.Fault(1, "Candidate", i*l.c+e)
	}
	if j < 0 || j >= l.nd {
		return 0, 0
	}
	return l.doc[j], l.doc[j+1]
}

// cell is the code of a document token, false where it is none.
func (l *listing) cell(r *kernel.Ref, u int64) (int64, bool) {
	if c := l.code[u]; c >= 0 && c < l.k {
		return c, true
	}
	r.Fault(2, "Code", u)
	return 0, false
}

// each calls score for every query and entry; lo == hi marks an entry without tokens.
func (l *listing) each(r *kernel.Ref, score func(i, e, lo, hi int64)) {
	for i := range int64(len(l.query) - 1) {
		for e := range l.c {
			lo, hi := l.tokens(r, i, e)
			score(i, e, lo, hi)
		}
	}
}

// maximum keeps the larger value; NaN stays.
func maximum(best, x float64) float64 {
	if x > best || x != x && best == best {
		return x
	}
	return best
}

// topCells are the first p of scores in order.
func topCells(scores []float32, p int) []int {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case canon.Less(scores[a], a, scores[b], b):
			return -1
		case canon.Less(scores[b], b, scores[a], a):
			return 1
		}
		return cmp.Compare(a, b)
	})
	return order[:p]
}

// bucketOf reads bucket number i of a packed row: bits enter bytes from the high end and
// leave buckets from the low one.
func bucketOf(row []int64, i, bits int64) int64 {
	var u int64
	for b := range bits {
		at := i*bits + b
		u |= row[at/8] >> (7 - at%8) & 1 << b
	}
	return u
}

// packBucket is the inverse of bucketOf on a cleared row.
func packBucket(row []int64, i, bits, bucket int64) {
	for b := range bits {
		at := i*bits + b
		row[at/8] |= bucket >> b & 1 << (7 - at%8)
	}
}

// invNorm is 1/max(‖v‖, 1e-12) in float32: squares and sums rounded one by one, ascending.
func invNorm(v []float32) float32 {
	var sum float32
	for _, x := range v {
		sum += float32(x * x) // the conversion keeps the compiler from fusing
	}
	return 1 / max(float32(math.Sqrt(float64(sum))), 1e-12)
}

// decoder rebuilds tokens in float32: centroid + weight, times the inverse norm.
type decoder struct {
	centroid, weight []float32
	packed           []int64 // td,rb
	inv              []float32
	normalize        bool
	d, bits          int64
}

func (x *decoder) token(dst []float32, u, cell int64) {
	rb := x.d * x.bits / 8
	row := x.packed[u*rb : (u+1)*rb]
	for i := range x.d {
		dst[i] = x.centroid[cell*x.d+i] + x.weight[bucketOf(row, i, x.bits)]
	}
	scale := float32(1)
	switch {
	case x.inv != nil:
		scale = x.inv[u]
	case x.normalize:
		scale = invNorm(dst)
	default:
		return
	}
	for i := range dst {
		dst[i] *= scale
	}
}

// checkBits refuses widths, row sizes and the operand table that do not fit each other.
func checkBits(name string, bits, d int64, packed *backend.View, table string, weight *backend.View) error {
	switch {
	case bits != 1 && bits != 2 && bits != 4 && bits != 8:
		return argument(name, "", "Bits", "want 1, 2, 4 or 8 bits a component", 8, bits)
	case d < 1:
		return argument(name, "Packed", "d", "tokens need at least one component", 1, d)
	case d > math.MaxInt64/8 || packed.Dims[1]*8 != d*bits:
		return argument(name, "Packed", "rb", "bytes of a row are not components × bits / 8", d*bits/8, packed.Dims[1])
	case weight.Dims[0] != 1<<bits:
		return argument(name, table, "w", "want a value for each bucket", 1<<bits, weight.Dims[0])
	}
	return nil
}

// checkCentroids refuses numbers of centroids that no code can name.
func checkCentroids(name string, k int64) error {
	if k < 1 || k > math.MaxInt32 {
		return argument(name, "", "k", "centroids, at least one and as many as a code can name", math.MaxInt32, k)
	}
	return nil
}
