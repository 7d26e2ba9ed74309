package plaid

import (
	"math/bits"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// shape is the size of a launch sequence: queries and their tokens, cells of a token,
// places for candidates, documents after each selection.
type shape struct {
	nq, tq, longest int64
	probe           int64
	cand            int64 // places of the first list
	first, keep     int64 // documents after the first and the second selection
	list, last      int64 // documents to rank, and those scored exactly
	settle          int64 // of a query, those scored together where the screen leaves something open
}

// covers reports whether buffers for s serve o.
func (s shape) covers(o shape) bool {
	return s.nq >= o.nq && s.tq >= o.tq && s.longest >= o.longest && s.probe >= o.probe && s.cand >= o.cand &&
		s.first >= o.first && s.keep >= o.keep && s.list >= o.list && s.last >= o.last && s.settle >= o.settle
}

// grown is a shape for both, with room to spare: sizes are rounded up so that a growing
// sequence of calls allocates few times.
func (s shape) grown(o shape, ix *Index) shape {
	up := func(a, b int64) int64 {
		if n := max(a, b); n > 0 {
			return 1 << bits.Len64(uint64(n-1))
		}
		return 0
	}
	s.nq, s.tq, s.longest = up(s.nq, o.nq), up(s.tq, o.tq), up(s.longest, o.longest)
	s.probe = min(up(s.probe, o.probe), int64(ix.k))
	n := int64(ix.Len())
	s.cand, s.first, s.keep = min(up(s.cand, o.cand), n), min(up(s.first, o.first), n), min(up(s.keep, o.keep), n)
	s.list, s.last, s.settle = min(up(s.list, o.list), n), min(up(s.last, o.last), n), min(up(s.settle, o.settle), n)
	s.tq = max(s.tq, s.longest)
	return s
}

// views are the operands of a launch sequence, all of them in one buffer: what goes up is a
// block at its start, what comes down a block at its end, so that each is one transfer.
type views struct {
	queryOff                 kernel.Offsets
	approxShift, shift       backend.View
	screenShift              backend.View
	query, half, small, unit backend.View
	forms, upload            int64 // bytes from 0 on: up to the screen's forms, and with them

	score, cellScore, live, allowed      backend.View
	candidate, approx                    backend.View
	firstVal, firstDoc, second           backend.View
	keepVal, keepDoc, screen, exactScore backend.View
	left, leftScore, leftFixed           backend.View // see settle

	download, size          int64 // bytes from download to size
	count                   backend.View
	fixed, lastDoc, lastVal backend.View
	cell                    backend.View
}

// layout places views in a buffer.
type layout struct {
	buf backend.Buffer
	at  int64
}

// place cuts the next view, on a boundary that vector loads like.
func (l *layout) place(t backend.DType, dims ...int64) backend.View {
	v := backend.NewView(l.buf, l.at, t, dims...)
	l.at = (l.at + v.Bytes() + 255) &^ 255
	return v
}

// views lays out a shape. Every offset follows from the shape, so a recorded graph stays
// good for as long as the buffer does.
func (s *Searcher) layout(sh shape) (v views) {
	ix, l := s.ix, layout{buf: s.work}
	d, k := int64(ix.dim), int64(ix.k)
	v.queryOff = kernel.DeviceOffsets(l.place(backend.I64, sh.nq+1), sh.tq, sh.longest)
	v.approxShift, v.shift, v.screenShift = l.place(backend.I32, sh.nq), l.place(backend.I32, sh.nq), l.place(backend.I32, sh.nq)
	v.query = l.place(backend.F32, sh.tq, d)
	v.forms = l.at
	switch s.form {
	case ScreenF16:
		v.half = l.place(backend.F16, sh.tq, d)
	case ScreenInt8:
		v.small, v.unit = l.place(backend.I8, sh.tq, d), l.place(backend.F32, sh.tq)
	}
	v.upload = l.at

	v.score = l.place(backend.F32, k, sh.tq)
	v.cellScore = l.place(backend.F32, sh.tq, sh.probe)
	v.live = l.place(backend.I32, sh.nq, (k+31)/32)
	v.allowed = l.place(backend.I32, int64(len(ix.words)))
	v.candidate, v.approx = l.place(backend.I32, sh.nq, sh.cand), l.place(backend.F32, sh.nq, sh.cand)
	v.firstVal, v.firstDoc = l.place(backend.F32, sh.nq, sh.first), l.place(backend.I32, sh.nq, sh.first)
	v.second = l.place(backend.F32, sh.nq, sh.first)
	v.keepVal = l.place(backend.F32, sh.nq, sh.keep)
	v.keepDoc = l.place(backend.I32, sh.nq, max(sh.keep, sh.list)) // room for the axes of the screen, see list
	v.keepDoc.Dims[1] = sh.keep
	v.screen = l.place(backend.F32, sh.nq, sh.list)
	v.exactScore = l.place(backend.F32, sh.nq, sh.last)
	v.left, v.leftScore, v.leftFixed = l.place(backend.I32, sh.nq, sh.settle), l.place(backend.F32, sh.nq, sh.settle), l.place(backend.I64, sh.nq, sh.settle)

	v.download = l.at
	v.count = l.place(backend.I64, sh.nq)
	v.fixed = l.place(backend.I64, sh.nq, sh.last)
	v.lastDoc, v.lastVal = l.place(backend.I32, sh.nq, sh.last), l.place(backend.F32, sh.nq, sh.last)
	v.cell = l.place(backend.I32, sh.tq, sh.probe)
	v.size = l.at
	return v
}
