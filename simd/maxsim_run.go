package simd

import (
	"math"
	"unsafe"

	"github.com/likbench/likbench/backend/kernel"
)

// rowKind is the element type of token rows.
type rowKind uint8

const (
	rowF32 rowKind = iota
	rowBF16
	rowE4M3
)

var rowSizes = [...]int64{4, 2, 1}

// normFloor is the smallest squared norm that Normalize divides by the root of.
const normFloor = 1e-12

// maxsim is a launch of maxsim or maxsim_scaled without its types. Masks, scales and
// winner are nil where absent.
type maxsim struct {
	unit *maxsimUnit
	kind rowKind
	maxsimShape
	query, doc             unsafe.Pointer
	queryScale, docScale   []float32
	queryOff, docOff       []int64
	offOperands            [2]int // of queryOff and docOff, for the status word
	queryMask, docMask     []uint8
	score                  []float32
	winner                 []int32
	normalize, emptyZero   bool
	laneScale, panel       []float32 // scratch
	best, dots, chunkScale []float32 // this worker's
	bestAt, index          []int32
	rows                   []byte
	pitch                  int64
}

// attach points at scratch; the offsets become the clamped copies there.
func (m *maxsim) attach(t *Task) {
	s, l := maxsimShared(m.unit, &m.maxsimShape), maxsimLocal(&m.maxsimShape)
	m.queryOff = Words[int64](t.Scratch[s.queryOff:])[:m.nq+1]
	m.docOff = Words[int64](t.Scratch[s.docOff:])[:m.nd+1]
	m.laneScale = Words[float32](t.Scratch[s.scale:s.panel])
	m.panel = Words[float32](t.Scratch[s.panel:s.bytes])
	m.best, m.bestAt = Words[float32](t.Local[:l.winner]), Words[int32](t.Local[l.winner:l.dots])
	m.dots = Words[float32](t.Local[l.dots:l.scale])
	m.chunkScale = Words[float32](t.Local[l.scale:l.index])
	m.index = Words[int32](t.Local[l.index:l.rows])
	m.rows, m.pitch = t.Local[l.rows:l.bytes], rowPitch(m.d)
}

// start clamps the offsets, marks query tokens that no query owns and packs the panels; an
// only tile it does at once, while all is at hand.
func (m *maxsim) start(t *Task) {
	m.prepare(t)
	if t.Hi == 1 {
		m.tile(0)
		t.Lo = 1
	}
}

func (m *maxsim) prepare(t *Task) {
	queryOff, docOff := m.queryOff, m.docOff
	m.ask(m.query, min(m.tq, packRows)*m.rowBytes()) // on its way while offsets are looked at
	m.attach(t)
	clampOffsets(t, m.offOperands[0], queryOff, m.queryOff, m.tq)
	clampOffsets(t, m.offOperands[1], docOff, m.docOff, m.td)
	if m.winner != nil {
		for _, spare := range [][]int32{m.winner[:m.queryOff[0]*m.nd], m.winner[m.queryOff[m.nq]*m.nd:]} {
			for i := range spare {
				spare[i] = -1
			}
		}
	}
	if m.nd == 0 || m.nq == 0 || m.tq == 0 {
		return
	}
	raceRead(m.query, m.tq*m.d*rowSizes[m.kind])
	for g := range m.groups() {
		m.pack(m.group(g))
	}
}

const (
	// askMost bounds what is asked for at once to half of a first-level cache.
	askMost = 16 << 10
	// askDocs is the bytes of documents asked for before the first product: a tile, and as far
	// beyond as products ask.
	askDocs = 8 << 10
)

func (m *maxsim) rowBytes() int64 { return m.d * rowSizes[m.kind] }

// ask has n bytes from p on fetched, some of them if they are many.
func (m *maxsim) ask(p unsafe.Pointer, n int64) {
	if n = min(n, askMost); m.unit.prefetch != nil && n > 0 {
		m.unit.prefetch((*byte)(p), int(n))
	}
}

// clampOffsets copies offsets that the device may have written, made to stay within the
// axis and not to decrease; a violation is a data error.
func clampOffsets(t *Task, operand int, from, to []int64, axis int64) {
	low := int64(0)
	for i, x := range from {
		if x < low || x > axis {
			t.Fail(kernel.FaultOffsets, operand, int64(i))
		}
		low = min(max(x, low), axis)
		to[i] = low
	}
}

// queryGroup is whole queries whose tokens are neighbouring lanes of panels.
type queryGroup struct {
	lo, hi   int64 // queries
	from, to int64 // tokens
	lane     int64 // of the first token, in scratch
	lanes    int64 // whole vectors
}

func (m *maxsim) group(g int64) queryGroup {
	n, w := m.groups(), int64(m.unit.width)
	if n == 0 {
		return queryGroup{hi: m.nq}
	}
	q := queryGroup{hi: m.nq}
	if n > 1 {
		q.lo, q.hi = g*m.nq/n, (g+1)*m.nq/n
	}
	q.from, q.to = m.queryOff[q.lo], m.queryOff[q.hi]
	q.lane = roundUp(q.from, w) + g*w
	q.lanes = roundUp(q.to-q.from, w)
	return q
}

// panels calls f for each panel of the group: its first lane within the group, its lanes,
// and its memory.
func (m *maxsim) panelAt(g *queryGroup, at int64) (panel *float32, lanes int64) {
	lanes = min(g.lanes-at, int64(m.unit.width*m.unit.vectors))
	return &m.panel[(g.lane+at)*m.unit.panelRows(m.d)], lanes
}

// pack transposes a group's tokens into its panels, converted first where rows are.
func (m *maxsim) pack(g queryGroup) {
	for at := int64(0); at < g.lanes; {
		panel, lanes := m.panelAt(&g, at)
		for j := int64(0); j < lanes; {
			token := min(g.from+at+j, g.to-1) // lanes beyond the tokens repeat the last
			rows := m.packStep(g.to - token)
			n := min(rows, g.to-token)
			if ahead := token + n; ahead < m.tq {
				m.ask(unsafe.Add(m.query, ahead*m.rowBytes()), min(rows, m.tq-ahead)*m.rowBytes())
			} else {
				m.ask(m.doc, min(askDocs, m.td*m.rowBytes())) // later ones are asked for by the products
			}
			m.packTokens(token, n, add(panel, int(j)), int(lanes))
			if m.queryScale != nil {
				for i := range rows {
					m.laneScale[g.lane+at+j+i] = m.queryScale[min(token+i, g.to-1)]
				}
			}
			j += rows
		}
		at += lanes
	}
}

// packStep is the rows to pack at once where n are left: whole vectors of 16 lanes are never
// in two panels.
func (m *maxsim) packStep(n int64) int64 {
	if m.unit.pack16 != nil && n >= 16 && (m.unit.pairs || m.kind == rowF32 || m.converts()) {
		return 16
	}
	return packRows
}

// packTokens packs n query tokens, 1 to 8 or 16, as lanes of a panel.
func (m *maxsim) packTokens(token, n int64, panel *float32, lanes int) {
	src, stride, kind := unsafe.Add(m.query, token*m.d*rowSizes[m.kind]), m.d*rowSizes[m.kind], m.kind
	if m.converts() {
		for i := range n {
			m.convert(unsafe.Add(src, i*stride), i)
		}
		src, stride = unsafe.Pointer(unsafe.SliceData(m.rows)), m.pitch
		kind = m.convertedKind()
	}
	u, d := m.unit, int(m.d)
	if kind != rowF32 && !u.pairs {
		u.packBF16((*uint16)(src), int(stride), int(n), d, panel, lanes)
		return
	}
	words := d
	if u.pairs {
		words = d / 2
	}
	if n == 16 {
		u.pack16((*float32)(src), int(stride), words, panel, lanes)
	} else {
		u.pack((*float32)(src), int(stride), int(n), words, panel, lanes)
	}
	if u.pairs && d%2 == 1 { // the last component is paired with zero
		for i := range max(packRows, int(n)) {
			row := unsafe.Add(src, min(int64(i), n-1)*stride)
			last := uint32(*(*uint16)(unsafe.Add(row, (d-1)*2)))
			*add((*uint32)(unsafe.Pointer(panel)), d/2*lanes+i) = last
		}
	}
}

// converts reports whether rows are converted before they are multiplied.
func (m *maxsim) converts() bool {
	return m.normalize || m.kind == rowE4M3 || m.kind == rowBF16 && m.unit.bf16[1] == nil
}

// convertedKind is what converted rows hold.
func (m *maxsim) convertedKind() rowKind {
	if m.unit.pairs {
		return rowBF16
	}
	return rowF32
}

// convert makes converted row i from a token's components.
func (m *maxsim) convert(src unsafe.Pointer, i int64) {
	row := m.rows[i*m.pitch : (i+1)*m.pitch]
	d := int(m.d)
	if m.unit.pairs { // Accept leaves only e4m3
		m.unit.decodeBF16((*uint16)(unsafe.Pointer(&row[0])), (*uint8)(src), d)
		return
	}
	x := Words[float32](row)
	clear(x[d:]) // whole vectors for normalize
	switch m.kind {
	case rowF32:
		copy(x, unsafe.Slice((*float32)(src), d))
	case rowBF16:
		m.unit.widen(&x[0], (*uint16)(src), d)
	case rowE4M3:
		m.unit.decode(&x[0], (*uint8)(src), d)
	}
	if m.normalize {
		m.unit.normalize(&x[0], len(x), normFloor)
	}
}

// run does tiles [t.Lo, t.Hi).
func (m *maxsim) run(t *Task) {
	m.attach(t)
	for i := t.Lo; i < t.Hi; i++ {
		m.tile(i)
	}
}

// tile does tile i.
func (m *maxsim) tile(i int64) {
	block, groups := m.block(), max(1, m.groups())
	g := m.group(i % groups)
	lo := i / groups * block
	for j := lo; j < min(lo+block, m.nd); j++ {
		m.document(&g, j)
	}
}

// document scores document j for the queries of a group.
func (m *maxsim) document(g *queryGroup, j int64) {
	best, bestAt := m.best[:g.lanes], m.bestAt[:g.lanes]
	for i := range best {
		best[i] = negInf
	}
	lo, hi := m.docOff[j], m.docOff[j+1]
	seen := false
	for token := lo; token < hi && g.lanes > 0; {
		c := m.next(lo, hi, token)
		token = c.end
		if c.n == 0 {
			continue
		}
		if !seen && m.winner != nil {
			for i := range bestAt {
				bestAt[i] = m.index[0] // stays where every product is -Inf
			}
		}
		seen = true
		m.multiply(g, &c)
	}
	m.finish(g, j, seen)
}

var negInf = float32(math.Inf(-1))

// chunk is up to maxsimChunk valid tokens of a document. Their numbers within it are in
// maxsim.index where a mask leaves gaps, and count from index[0] where not.
type chunk struct {
	n     int64
	first int64 // token of the first
	end   int64 // where the next chunk starts
	gaps  bool
}

// next collects the valid tokens from token on.
func (m *maxsim) next(lo, hi, token int64) (c chunk) {
	if m.docMask == nil {
		c = chunk{n: min(maxsimChunk, hi-token), first: token}
		c.end = token + c.n
		m.index[0] = int32(token - lo)
		return c
	}
	for ; token < hi && c.n < maxsimChunk; token++ {
		if m.docMask[token] != 0 {
			m.index[c.n] = int32(token - lo)
			c.n++
		}
	}
	c.end = token
	if c.n > 0 {
		c.first = lo + int64(m.index[0])
		c.gaps = int64(m.index[c.n-1]-m.index[0]) != c.n-1
	}
	return c
}

// ordinal marks a winner that counts valid tokens of a chunk with gaps until it is
// replaced by the token: more negative than -1, whatever the count.
const ordinal = -1 << 30

// multiply takes the products of a chunk with every panel of the group, and their maxima.
func (m *maxsim) multiply(g *queryGroup, c *chunk) {
	rows, stride, kind := m.chunkRows(c)
	scale := m.scales(c)
	first := int(m.index[0])
	if c.gaps {
		first = ordinal
	}
	u, n, w := m.unit, int(c.n), int64(m.unit.width)
	out := &m.dots[0]
	for at := int64(0); at < g.lanes; {
		panel, lanes := m.panelAt(g, at)
		if kind == rowF32 {
			u.f32[lanes/w](panel, (*float32)(rows), int(stride), int(m.d), n, out)
		} else {
			u.bf16[lanes/w](panel, (*uint16)(rows), int(stride), int(m.d), n, out)
		}
		if scale != nil {
			u.scale(out, n, int(lanes), &m.laneScale[g.lane+at], scale)
		}
		if m.winner == nil {
			u.max(out, n, int(lanes), &m.best[at])
		} else {
			u.winner(out, n, int(lanes), &m.best[at], &m.bestAt[at], first)
		}
		at += lanes
	}
	if c.gaps && m.winner != nil {
		for i, w := range m.bestAt[:g.lanes] {
			if w < -1 {
				m.bestAt[i] = m.index[w-ordinal]
			}
		}
	}
}

// chunkRows returns a chunk's rows as they are, or gathered and converted.
func (m *maxsim) chunkRows(c *chunk) (rows unsafe.Pointer, stride int64, kind rowKind) {
	size := m.d * rowSizes[m.kind]
	at := func(i int64) unsafe.Pointer {
		token := c.first + i
		if c.gaps {
			token += int64(m.index[i]-m.index[0]) - i
		}
		return unsafe.Add(m.doc, token*size)
	}
	raceRead(at(0), int64(uintptr(at(c.n-1))-uintptr(at(0)))+size)
	converts := m.converts()
	if !converts && !c.gaps {
		return at(0), size, m.kind
	}
	for i := range c.n {
		if converts {
			m.convert(at(i), i)
		} else {
			copy(m.rows[i*m.pitch:], unsafe.Slice((*byte)(at(i)), size))
		}
	}
	kind = m.kind
	if converts {
		kind = m.convertedKind()
	}
	return unsafe.Pointer(unsafe.SliceData(m.rows)), m.pitch, kind
}

// scales returns the scale of each token of a chunk, nil for none.
func (m *maxsim) scales(c *chunk) *float32 {
	if m.docScale == nil {
		return nil
	}
	if !c.gaps {
		raceRead(unsafe.Pointer(&m.docScale[c.first]), c.n*4)
		return &m.docScale[c.first]
	}
	for i := range c.n {
		m.chunkScale[i] = m.docScale[c.first+int64(m.index[i]-m.index[0])]
	}
	return &m.chunkScale[0]
}

// finish adds the maxima of each query's active tokens in ascending order. seen says that
// the document has a valid token.
func (m *maxsim) finish(g *queryGroup, j int64, seen bool) {
	for q := g.lo; q < g.hi; q++ {
		var sum float32
		for token := m.queryOff[q]; token < m.queryOff[q+1]; token++ {
			active := m.queryMask == nil || m.queryMask[token] != 0
			if m.winner != nil {
				at := int32(-1)
				if active && seen {
					at = m.bestAt[token-g.from]
				}
				m.winner[token*m.nd+j] = at
			}
			if active && (seen || !m.emptyZero) {
				sum += m.best[token-g.from]
			}
		}
		if sum != sum {
			sum = canonicalNaN // whichever NaN came first
		}
		m.score[q*m.nd+j] = sum
	}
}

var canonicalNaN = float32(math.NaN())

// add is pointer arithmetic in elements.
func add[T any](p *T, n int) *T { return (*T)(unsafe.Add(unsafe.Pointer(p), n*int(unsafe.Sizeof(*p)))) }
