package simd

import (
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/kernels"
)

var _ = bindApprox()

func bindApprox() bool {
	for _, v := range listingVariants {
		u := approxUnits[v.name]
		note := "portable loops"
		if v.name != "generic" {
			note = "rows of scores in vectors, maxima in registers"
		}
		Bind(kernels.PlaidApprox,
			backend.Binding{Kernel: "plaid_approx", Variant: v.name, Requires: v.requires, Class: "exact", Note: note, Tile: map[string]int64{"tq": 32}},
			Body[kernels.PlaidApproxArgs]{
				Tiles: func(a *kernels.PlaidApproxArgs, c *backend.Call) int64 {
					m := openApprox(u, a, c)
					return m.tiles()
				},
				Start: func(t *Task, a *kernels.PlaidApproxArgs) {
					m := openApprox(u, a, t.Call)
					m.start(t)
				},
				Run: func(t *Task, a *kernels.PlaidApproxArgs) {
					m := openApprox(u, a, t.Call)
					m.run(t)
				},
				Workspace: func(c *backend.Call) int64 { return listingHead(c.Axes[2], c.Axes[4]) },
				Local:     func(c *backend.Call) int64 { return 4*approxList + align64(4*(c.Axes[1]+approxBefore+approxSpare)) },
			})
	}
	return true
}

const (
	// approxList is the document tokens that are looked at before their rows are read.
	approxList = 512
	// approxBefore and approxSpare are lanes before and beyond a query's tokens: a vector may
	// stand out on either side.
	approxBefore = 16
	approxSpare  = 64
)

// approxUnit is the arithmetic of one level.
type approxUnit struct {
	width   int64       // lanes of a vector
	vectors int64       // vectors whose maxima stay in registers, at most 4
	narrow  *approxUnit // for rows of fewer columns than a vector; nil: portable
	// max raises best[j] to the largest of column j over rows codes[:n] of scores, which are
	// stride bytes apart; NaN if one of them or best[j] is. By vectors of columns, from 1: they
	// follow one another but for the last, which is last bytes from the first, in best too.
	// n is at least 1.
	max [5]func(scores *float32, stride, last int, codes *int32, n int, best *float32)
	// live copies those of n codes whose bit in live is set to list, which has room for n, and
	// returns their number; n ≥ 1. nil: portable.
	live func(codes *int32, n int, live, list *int32) int
}

// holds reports whether the maxima of a query of n tokens stay in registers. Then narrow vectors
// are the better ones: rows of scores lie anywhere, and a load of 64 bytes nearly always
// crosses a line (with 21 tokens 10 to 15 % slower on a Xeon, with 32 up to 10).
func (u *approxUnit) holds(n int64) bool { return u != nil && n <= u.width*u.vectors }

// approx is a launch.
type approx struct {
	unit *approxUnit // nil: portable
	listing
	scores   []float32 // k,tq
	pitch    int64
	live     []int32 // nil: all
	kw       int64
	floor    []float32 // nil: none; the last of p to a query token counts
	p        int64
	shift    []int32
	score    []float32
	list     []int32
	best     []float32
	from, to int64 // query tokens
}

func openApprox(u *approxUnit, a *kernels.PlaidApproxArgs, c *backend.Call) approx {
	m := approx{
		unit: u, scores: Slice[float32](&a.CentroidScore), pitch: a.CentroidScore.RowStride(),
		live: Slice[int32](&a.Live), floor: Slice[float32](&a.Floor), p: a.Floor.Dims[1], shift: Slice[int32](&a.Shift), score: Slice[float32](&a.Score),
		listing: listing{
			k: c.Axes[0], tq: c.Axes[1], nq: c.Axes[2], td: c.Axes[3], nd: c.Axes[4], c: c.Axes[5],
			queryOff: Slice[int64](&a.QueryOff.View), docOff: Slice[int64](&a.DocOff.View), code: Slice[int32](&a.Code),
			candidate: Slice[int32](&a.Candidate), count: Slice[int64](&a.Count),
			operands: listingOperands{query: 1, code: 2, doc: 3, candidate: 4, shift: 8},
		},
	}
	for m.unit != nil && (m.tq < m.unit.width || m.unit.narrow.holds(ceilDiv(m.tq, max(m.nq, 1)))) {
		m.unit = m.unit.narrow
	}
	if u != nil {
		m.largest = largestCode
	}
	m.kw = ceilDiv(m.k, 32)
	m.block = listingBlock(m.tq, m.nq, m.td, m.nd, m.c, 8)
	return m
}

func (m *approx) run(t *Task) {
	m.attach(t)
	m.list = Words[int32](t.Local[:4*approxList])
	m.best = Words[float32](t.Local[4*(approxList+approxBefore):])
	raceRead(unsafe.Pointer(unsafe.SliceData(m.scores)), int64(len(m.scores))*4)
	raceRead(unsafe.Pointer(unsafe.SliceData(m.code)), int64(len(m.code))*4)
	for i := t.Lo; i < t.Hi; i++ {
		q, lo, hi := m.tile(i)
		m.from, m.to = m.queryOff[q], m.queryOff[q+1]
		for e := lo; e < hi; e++ {
			u, end := m.tokens(t, q, e)
			result := canon.NegInf
			if u < end {
				result = m.document(t, q, u, end)
			}
			m.score[q*m.c+e] = fixedScore(result, m.shift[q])
		}
	}
}

// document is the score of document tokens [u, hi) for query q.
func (m *approx) document(t *Task, q, u, hi int64) canon.Fixed {
	n := m.to - m.from
	lanes := n
	if m.unit != nil {
		lanes = roundUp(n, m.unit.width)
	}
	best := m.best[:lanes]
	for i := range best {
		best[i] = negInf
	}
	for u < hi {
		var codes []int32
		if codes, u = m.rows(t, q, u, hi); len(codes) > 0 && n > 0 {
			m.max(codes, best)
		}
	}
	best = best[:n]
	if m.floor != nil {
		for i := range best {
			if f := m.floor[(m.from+int64(i)+1)*m.p-1]; f > best[i] || f != f {
				best[i] = f
			}
		}
	}
	return m.steps(t, best, m.shift[q], q)
}

// rows is the codes of the first tokens of [u, hi) that count, and the token after them.
func (m *approx) rows(t *Task, q, u, hi int64) ([]int32, int64) {
	from, to := m.next(t, u, hi, approxList)
	codes := m.code[from:to]
	if m.live == nil {
		return codes, to
	}
	live := m.live[q*m.kw:][:m.kw]
	list, n := m.list[:approxList], 0
	if m.unit != nil && m.unit.live != nil && len(codes) > 0 {
		return list[:m.unit.live(&codes[0], len(codes), &live[0], &list[0])], to
	}
	for _, c := range codes {
		list[n&(approxList-1)] = c
		n += int(uint32(live[uint32(c)/32]) >> (uint32(c) % 32) & 1)
	}
	return list[:n], to
}

// max raises best by rows of scores.
func (m *approx) max(codes []int32, best []float32) {
	n := m.to - m.from
	if m.unit == nil {
		for _, c := range codes {
			for j, x := range m.scores[int64(c)*m.pitch+m.from:][:n] {
				if x > best[j] || x != x {
					best[j] = x
				}
			}
		}
		return
	}
	w := m.unit.width
	for at := int64(0); at < n; at += m.unit.vectors * w {
		lanes := min(roundUp(n-at, w), m.unit.vectors*w)
		// The last vector ends with the axis at the latest; columns that it shares with the one
		// before, or with another query, are raised twice, or for nothing.
		last := min(m.from+at+lanes, m.tq) - w - m.from - at
		m.unit.max[lanes/w](&m.scores[m.from+at], int(m.pitch*4), int(last*4), &codes[0], len(codes), &best[at])
	}
}
