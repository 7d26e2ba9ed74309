package simd

import (
	"math"

	"github.com/likbench/likbench/backend/canon"
)

// What the kernels that score the candidates of an index share: offsets, the tiles of a
// launch, entries and their tokens, and sums in fixed point.

// ascends reports whether offsets start at 0 or above, do not decrease and end within axis.
func ascends(off []int64, axis int64) bool {
	var low, wrong int64
	for _, x := range off {
		wrong |= x | (x - low) // two numbers of 0 or above do not overflow
		low = x
	}
	return wrong >= 0 && low <= axis
}

// takeOffsets makes offsets that the device may have written safe to use: as they are if
// they are right, which flag number i in flags remembers, else clamped copies in room.
func takeOffsets(t *Task, operand int, off []int64, flags []byte, i int, room []byte, axis int64) {
	if ascends(off, axis) {
		flags[i] = 0
		return
	}
	flags[i] = 1
	clampOffsets(t, operand, off, Words[int64](room)[:len(off)], axis)
}

// offsetsTaken is what takeOffsets left.
func offsetsTaken(off []int64, flags []byte, i int, room []byte) []int64 {
	if flags[i] == 0 {
		return off
	}
	return Words[int64](room)[:len(off)]
}

// listing is the documents that a launch scores, per query.
type listing struct {
	nq, c, nd, k     int64
	tq, td           int64
	queryOff, docOff []int64
	code             []int32
	candidate        []int32
	count            []int64 // nil: all c
	operands         listingOperands
	block            int64                            // entries of a tile
	largest          func(codes *int32, n int) uint32 // of codes as unsigned numbers; nil: portable
}

// listingOperands are positions in declaration order, for the status word.
type listingOperands struct{ query, code, doc, candidate, shift int }

// listingWork is the multiply-adds, or what costs as much, that a tile aims at.
const listingWork = 1 << 20

// listingBlock is the entries of a tile, where a query token and a document token cost work.
func listingBlock(tq, nq, td, nd, c int64, work float64) int64 {
	entry := (float64(tq)/float64(max(1, nq)) + 1) * (float64(td)/float64(max(1, nd)) + 1) * work
	return max(1, min(int64(min(listingWork/entry, 1<<40)), c))
}

// tiles: tile i is query i/blocks and block i%blocks of its entries.
func (l *listing) tiles() int64 { return l.nq * ceilDiv(l.c, l.block) }

// tile is the query and the entries of tile i.
func (l *listing) tile(i int64) (q, lo, hi int64) {
	blocks := ceilDiv(l.c, l.block)
	lo = i % blocks * l.block
	return i / blocks, lo, min(lo+l.block, l.c)
}

// listingHead is the bytes of scratch that start takes.
func listingHead(nq, nd int64) int64 { return 64 + align64(8*(nq+1)) + align64(8*(nd+1)) }

// start checks the offsets.
func (l *listing) start(t *Task) {
	takeOffsets(t, l.operands.query, l.queryOff, t.Scratch, 0, t.Scratch[64:], l.tq)
	takeOffsets(t, l.operands.doc, l.docOff, t.Scratch, 1, t.Scratch[64+align64(8*(l.nq+1)):], l.td)
}

// attach points at what start left.
func (l *listing) attach(t *Task) {
	l.queryOff = offsetsTaken(l.queryOff, t.Scratch, 0, t.Scratch[64:])
	l.docOff = offsetsTaken(l.docOff, t.Scratch, 1, t.Scratch[64+align64(8*(l.nq+1)):])
}

// tokens is the range of document tokens of entry e of query q; an empty one scores −∞.
func (l *listing) tokens(t *Task, q, e int64) (lo, hi int64) {
	if l.count != nil && e >= l.count[q] {
		return 0, 0
	}
	at := q*l.c + e
	j := int64(l.candidate[at])
	if uint64(j) >= uint64(l.nd) {
		if j != -1 {
			t.Fail(1, l.operands.candidate, at)
		}
		return 0, 0
	}
	return l.docOff[j], l.docOff[j+1]
}

// next is the first tokens of [u, hi), at most most of them, whose codes name centroids;
// one that does not is passed over and reported. An empty range ends the document.
func (l *listing) next(t *Task, u, hi, most int64) (from, to int64) {
	for ; u < hi; u++ {
		codes := l.code[u:min(u+most, hi)]
		if int64(l.largestOf(codes)) < l.k {
			return u, u + int64(len(codes))
		}
		for i, c := range codes {
			if int64(uint32(c)) < l.k {
				continue
			}
			if i > 0 {
				return u, u + int64(i)
			}
			break
		}
		t.Fail(2, l.operands.code, u)
	}
	return hi, hi
}

// largestOf is the largest code as an unsigned number: negative ones are large.
func (l *listing) largestOf(codes []int32) (largest uint32) {
	if l.largest != nil {
		return l.largest(&codes[0], len(codes))
	}
	for _, c := range codes {
		largest = max(largest, uint32(c))
	}
	return largest
}

// stepScale is 2^shift where that and its inverse are normal float64, else 0.
func stepScale(shift int32) float64 {
	if shift < -1000 || shift > 1000 {
		return 0
	}
	return math.Float64frombits(uint64(1023+int64(shift)) << 52)
}

// beyondSteps is how many steps a maximum must stay below.
const beyondSteps = 0x1p62

// steps is the sum of maxima in counts of 2^-shift, each rounded half to even. A maximum
// that is finite and beyond is a data error of query q.
func (l *listing) steps(t *Task, best []float32, shift int32, q int64) canon.Fixed {
	scale := stepScale(shift)
	var total int64
	if l.largest != nil && sumSteps != nil && len(best) > 0 && scale != 0 {
		total, seen := sumSteps(&best[0], len(best), scale)
		if seen>>62 != 0 {
			return l.specialSteps(t, 0, best, shift, q)
		}
		return canon.Fixed(total)
	}
	for i, x := range best {
		r := float64(x) * scale // exact
		if !(math.Abs(r) < beyondSteps) || scale == 0 {
			return l.specialSteps(t, total, best[i:], shift, q)
		}
		total += int64(math.RoundToEven(r))
	}
	return canon.Fixed(total)
}

// specialSteps is steps from a maximum on that is not finite or beyond, or for any shift.
func (l *listing) specialSteps(t *Task, total int64, best []float32, shift int32, q int64) canon.Fixed {
	var nan, plus, minus bool
	for _, x := range best {
		r := math.Ldexp(float64(x), int(shift))
		switch v := float64(x); {
		case v != v:
			nan = true
		case math.IsInf(v, 1):
			plus = true
		case math.IsInf(v, -1):
			minus = true
		case math.Abs(r) >= beyondSteps:
			nan = true
			t.Fail(3, l.operands.shift, q)
		default:
			total += int64(math.RoundToEven(r))
		}
	}
	switch {
	case nan || plus && minus:
		return canon.NaN
	case plus:
		return canon.PosInf
	case minus:
		return canon.NegInf
	}
	return canon.Fixed(total)
}

// fixedScore is a sum of steps as float32: the count rounded once, then scaled.
func fixedScore(f canon.Fixed, shift int32) float32 {
	switch f {
	case canon.NaN:
		return canonicalNaN
	case canon.PosInf:
		return -negInf
	case canon.NegInf:
		return negInf
	}
	if scale := stepScale(-shift); scale != 0 {
		return float32(float64(float32(f)) * scale)
	}
	return float32(math.Ldexp(float64(float32(f)), -int(shift)))
}

// listingVariant is a level that the kernels of candidates are bound at: what it requires,
// and in f16.
type listingVariant struct {
	name           string
	requires, half []string
}

var listingVariants = []listingVariant{
	{"generic", nil, nil},
	{"avx2", []string{"avx2"}, []string{"avx2", "f16c"}},
	{"avx512", []string{"avx512"}, []string{"avx512"}},
	{"neon", []string{"neon"}, []string{"neon"}},
}
