package simd

import (
	"math/bits"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// plaid_candidates marks documents in a bitmap and reads it in ascending order: one body
// for every level, since scattered bits leave vectors nothing to do.
var _ = Bind(kernels.PlaidCandidates,
	backend.Binding{Kernel: "plaid_candidates", Variant: "generic", Class: "exact", Note: "bitmap, 64 documents a word"},
	Body[kernels.PlaidCandidatesArgs]{
		Tiles: func(a *kernels.PlaidCandidatesArgs, c *backend.Call) int64 {
			return c.Axes[candidatesNQ] * candidatesParts(c)
		},
		Start: func(t *Task, a *kernels.PlaidCandidatesArgs) {
			m := openCandidates(t, a)
			m.start(t)
		},
		Run: func(t *Task, a *kernels.PlaidCandidatesArgs) {
			m := openCandidates(t, a)
			m.run(t)
		},
		Finish: func(t *Task, a *kernels.PlaidCandidatesArgs) {
			m := openCandidates(t, a)
			m.finish()
		},
		Workspace: func(c *backend.Call) int64 { return candidatesLayoutOf(c).bytes },
		Local:     func(c *backend.Call) int64 { return candidatesWords(c) * 8 },
	})

// Axes of plaid_candidates, and operands that report data errors.
const (
	candidatesTQ, candidatesP, candidatesNQ, candidatesK, candidatesL, candidatesC = 0, 1, 2, 3, 4, 7

	candidatesCell, candidatesQueryOff, candidatesListOff, candidatesListDoc = 0, 1, 2, 3
)

const (
	// candidatesEntries of lists are worth a worker of their own, and candidatesMost is how
	// many bitmaps the parts of few queries may fill.
	candidatesEntries = 1 << 14
	candidatesMost    = 8
	// candidatesFill is how many -1 are copied at once.
	candidatesFill = 1 << 10
)

// candidatesWords is 64-bit words of a bitmap of documents: no call has more than places.
func candidatesWords(c *backend.Call) int64 { return ceilDiv(c.Axes[candidatesC], 64) }

// candidatesParts is how many parts each query's cells are split into, where there are few
// queries: by the mean length of lists.
func candidatesParts(c *backend.Call) int64 {
	nq := c.Axes[candidatesNQ]
	if nq == 0 || nq > candidatesMost/2 || c.Axes[candidatesL] < candidatesEntries {
		return 1
	}
	cells := float64(c.Axes[candidatesTQ]) * float64(c.Axes[candidatesP]) / float64(nq)
	entries := cells * float64(c.Axes[candidatesL]) / float64(max(1, c.Axes[candidatesK]))
	return min(max(1, int64(min(entries, 1e9))/candidatesEntries), candidatesMost/nq)
}

// candidatesLayout is the byte offsets of the launch's scratch.
type candidatesLayout struct{ queryOff, listOff, bitmap, bytes int64 }

func candidatesLayoutOf(c *backend.Call) candidatesLayout {
	l := candidatesLayout{queryOff: 64}
	l.listOff = l.queryOff + align64(8*(c.Axes[candidatesNQ]+1))
	l.bitmap = l.listOff + align64(8*(c.Axes[candidatesK]+1))
	l.bytes = l.bitmap
	if c.Axes[candidatesL] >= candidatesEntries {
		l.bytes += candidatesMost * candidatesWords(c) * 8
	}
	return l
}

// candidates is a launch.
type candidates struct {
	p, k, kw, c, documents int64
	queryOff, listOff      []int64
	cell, listDoc          []int32
	allowed, live          []int32 // nil: all, not wanted
	candidate              []int32
	count                  []int64
	parts, words           int64
	bitmap                 []uint64 // of the parts, where there are several
	local                  []uint64
	call                   *backend.Call
	scratch                []byte
}

func openCandidates(t *Task, a *kernels.PlaidCandidatesArgs) candidates {
	l := candidatesLayoutOf(t.Call)
	m := candidates{
		p: a.Cell.Dims[1], k: a.ListOff.View.Dims[0] - 1, c: a.Candidate.Dims[1], documents: a.Documents,
		queryOff: Slice[int64](&a.QueryOff.View), listOff: Slice[int64](&a.ListOff.View),
		cell: Slice[int32](&a.Cell), listDoc: Slice[int32](&a.ListDoc), allowed: Slice[int32](&a.Allowed),
		live: Slice[int32](&a.Live), candidate: Slice[int32](&a.Candidate), count: Slice[int64](&a.Count),
		parts: candidatesParts(t.Call), words: ceilDiv(a.Documents, 64),
		bitmap: Words[uint64](t.Scratch[l.bitmap:l.bytes]), local: Words[uint64](t.Local), call: t.Call, scratch: t.Scratch,
	}
	m.kw = ceilDiv(m.k, 32)
	return m
}

// start takes the offsets over and clears what parts add to.
func (m *candidates) start(t *Task) {
	l := candidatesLayoutOf(m.call)
	takeOffsets(t, candidatesQueryOff, m.queryOff, t.Scratch, 0, t.Scratch[l.queryOff:], m.call.Axes[candidatesTQ])
	takeOffsets(t, candidatesListOff, m.listOff, t.Scratch, 1, t.Scratch[l.listOff:], int64(len(m.listDoc)))
	if m.parts > 1 {
		clear(m.live)
	}
}

func (m *candidates) run(t *Task) {
	l := candidatesLayoutOf(m.call)
	m.queryOff = offsetsTaken(m.queryOff, m.scratch, 0, m.scratch[l.queryOff:])
	m.listOff = offsetsTaken(m.listOff, m.scratch, 1, m.scratch[l.listOff:])
	for i := t.Lo; i < t.Hi; i++ {
		q, part := i/m.parts, i%m.parts
		from, to := m.queryOff[q]*m.p, m.queryOff[q+1]*m.p
		if m.parts > 1 {
			n := to - from
			to, from = from+(part+1)*n/m.parts, from+part*n/m.parts
			seen := m.bitmap[i*m.words:][:m.words]
			clear(seen)
			m.mark(t, seen, from, to)
			continue
		}
		seen := m.local[:m.words]
		clear(seen)
		m.mark(t, seen, from, to)
		m.bits(q, from, to)
		m.write(q, seen)
	}
}

// mark sets the bits of the documents in the lists of cells [from, to).
func (m *candidates) mark(t *Task, seen []uint64, from, to int64) {
	for at := from; at < to; at++ {
		x := int64(m.cell[at])
		if uint64(x) >= uint64(m.k) {
			if x != -1 {
				t.Fail(1, candidatesCell, at)
			}
			continue
		}
		lo, hi := m.listOff[x], m.listOff[x+1]
		if lo == hi {
			continue
		}
		raceRead(unsafe.Pointer(&m.listDoc[lo]), 4*(hi-lo))
		for e, j := range m.listDoc[lo:hi] {
			if uint64(j) >= uint64(m.documents) {
				t.Fail(2, candidatesListDoc, lo+int64(e))
				continue
			}
			seen[uint32(j)/64] |= 1 << (uint32(j) % 64)
		}
	}
}

// bits sets query q's bitmap of cells.
func (m *candidates) bits(q, from, to int64) {
	if m.live == nil {
		return
	}
	live := m.live[q*m.kw:][:m.kw]
	clear(live)
	for _, x := range m.cell[from:to] {
		if uint64(x) < uint64(m.k) {
			live[x/32] |= 1 << (x % 32)
		}
	}
}

// write lists the documents of a bitmap that are allowed, then -1.
func (m *candidates) write(q int64, seen []uint64) {
	out := m.candidate[q*m.c:][:m.c]
	n := 0
	for w, s := range seen {
		if s == 0 {
			continue
		}
		if m.allowed != nil {
			mask := uint64(uint32(m.allowed[2*w]))
			if 2*w+1 < len(m.allowed) {
				mask |= uint64(uint32(m.allowed[2*w+1])) << 32
			}
			s &= mask
		}
		for ; s != 0; s &= s - 1 {
			out[n] = int32(64*w + bits.TrailingZeros64(s))
			n++
		}
	}
	m.count[q] = int64(n)
	rest := out[n:]
	for i := range rest[:min(len(rest), candidatesFill)] {
		rest[i] = -1
	}
	for done := candidatesFill; done < len(rest); done += candidatesFill {
		copy(rest[done:], rest[:candidatesFill]) // wider stores than a loop's
	}
}

// finish joins the parts of queries that were split.
func (m *candidates) finish() {
	if m.parts == 1 {
		return
	}
	l := candidatesLayoutOf(m.call)
	m.queryOff = offsetsTaken(m.queryOff, m.scratch, 0, m.scratch[l.queryOff:])
	for q := range m.call.Axes[candidatesNQ] {
		all := m.bitmap[q*m.parts*m.words:][:m.parts*m.words]
		seen := all[:m.words]
		for part := int64(1); part < m.parts; part++ {
			for i, s := range all[part*m.words:][:m.words] {
				seen[i] |= s
			}
		}
		m.bits(q, m.queryOff[q]*m.p, m.queryOff[q+1]*m.p)
		m.write(q, seen)
	}
}
