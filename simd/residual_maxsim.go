package simd

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/backend/num"
)

var _ = bindResidual()

func bindResidual() bool {
	for _, v := range listingVariants {
		u := residualUnits[v.name]
		note := "decoded by table, products of package canon"
		if v.name != "generic" {
			note = "decoded in registers, then panels as maxsim's"
		}
		for _, i := range kernels.ResidualMaxSim.Instances() {
			b := backend.Binding{Kernel: i.Name, Variant: v.name, Requires: v.requires, Class: "fma_chain", Note: note,
				Tile: map[string]int64{"tq": 32, "td": residualChunk, "d": 16}}
			if i.Types[0] == backend.F16 {
				b.Requires = v.half
			}
			Bind(kernels.ResidualMaxSim, b, residualBody(u))
		}
	}
	return true
}

func residualBody(u *residualUnit) Body[kernels.ResidualMaxSimArgs] {
	return Body[kernels.ResidualMaxSimArgs]{
		Tiles: func(a *kernels.ResidualMaxSimArgs, c *backend.Call) int64 {
			m := openResidual(u, a, c)
			return m.tiles()
		},
		Start: func(t *Task, a *kernels.ResidualMaxSimArgs) {
			m := openResidual(u, a, t.Call)
			m.start(t)
		},
		Run: func(t *Task, a *kernels.ResidualMaxSimArgs) {
			m := openResidual(u, a, t.Call)
			m.run(t)
		},
		Workspace: func(c *backend.Call) int64 { return residualSharedOf(c).bytes },
		Local:     func(c *backend.Call) int64 { return residualLocalOf(c).bytes },
	}
}

const (
	// residualChunk is the tokens decoded before they are multiplied: the maxsim kernels' chunk.
	residualChunk = maxsimChunk
	// residualLanes is query tokens multiplied at once, at most: those of the widest panel.
	residualLanes = 64
	// residualWidest is the lanes of the widest vector.
	residualWidest = 16
	residualTable  = 256
)

// residualUnit is the arithmetic of one level beside that of maxsim.
type residualUnit struct {
	*maxsimUnit
	// decode, by the binary logarithm of the bits, writes d components, a multiple of 8, of n
	// tokens to rows pitch bytes apart: (centroid[code] + table[bits])·inv, each operation
	// rounded. Bytes of tokens are row apart, centroids stride floats. The table is in the
	// order of bits as they lie in a byte; for 1 bit it is written twice. n is at least 1. nil:
	// portable.
	decode [4]func(rows *float32, pitch int, packed *uint8, row int, codes *int32, n, d int, centroid *float32, stride int, table, inv *float32)
	// decodeF16 does so from f16 centroids, and rounds the result to f16.
	decodeF16 [4]func(rows *float32, pitch int, packed *uint8, row int, codes *int32, n, d int, centroid *uint16, stride int, table, inv *float32)
	// score raises best[j] to the largest product of panel lane j with one of n tokens, decoded
	// as decode does, but that stride is in bytes; rows has room for 12 of them. For 2
	// and 4 bits and by vectors of the panel, from 1.
	score    [2][5]func(panel, rows *float32, pitch int, packed *uint8, row int, codes *int32, n, d int, centroid *float32, stride int, table, inv, best *float32)
	scoreF16 [2][5]func(panel, rows *float32, pitch int, packed *uint8, row int, codes *int32, n, d int, centroid *uint16, stride int, table, inv, best *float32)
	// norms sets inv[i] to 1/max(‖row i‖, 1e-12) as package plaid/codec computes it. scratch has
	// room for the rows, transposed. nil: portable.
	norms func(rows *float32, pitch, n, d int, scratch, inv *float32)
	// scale multiplies each row by its inv, for d a multiple of 8; nil: portable.
	scale func(rows *float32, pitch, n, d int, inv *float32)
}

// residual is a launch of residual_maxsim.
type residual struct {
	unit *residualUnit // nil: portable
	listing
	half, normalize bool
	d, rb, bits     int64
	query           unsafe.Pointer
	packed          []uint8
	centroid        unsafe.Pointer
	weight, inv     []float32
	shift           []int32
	score           []float32
	fixed           []int64
	table, panel    []float32 // scratch
	rows, turned    []float32 // this worker's
	dots            []float32
	best, scale     []float32
	pitch           int64 // floats between rows
}

func openResidual(u *residualUnit, a *kernels.ResidualMaxSimArgs, c *backend.Call) residual {
	m := residual{
		unit: u, half: a.Query.DType == backend.F16, normalize: a.Normalize, d: c.Axes[1], rb: c.Axes[4], bits: a.Bits,
		query: Pointer(&a.Query), packed: Slice[uint8](&a.Packed), centroid: Pointer(&a.Centroid),
		weight: Slice[float32](&a.Weight), inv: Slice[float32](&a.InvNorm), shift: Slice[int32](&a.Shift),
		score: Slice[float32](&a.Score), fixed: Slice[int64](&a.Fixed),
		listing: listing{
			tq: c.Axes[0], nq: c.Axes[2], td: c.Axes[3], nd: c.Axes[5], k: c.Axes[6], c: c.Axes[8],
			queryOff: Slice[int64](&a.QueryOff.View), docOff: Slice[int64](&a.DocOff.View), code: Slice[int32](&a.Code),
			candidate: Slice[int32](&a.Candidate), count: Slice[int64](&a.Count),
			operands: listingOperands{query: 1, code: 2, doc: 4, candidate: 8, shift: 10},
		},
	}
	m.block = listingBlock(m.tq, m.nq, m.td, m.nd, m.c, float64(m.d))
	m.pitch = rowPitch(m.d) / 4
	if u != nil {
		m.largest = largestCode
	}
	return m
}

// residualShared is the byte offsets of the launch's scratch: offsets, the table of weights
// by bits, and the query: panels of whole vectors, or rows in f32.
type residualShared struct{ table, panel, bytes int64 }

func residualSharedOf(c *backend.Call) residualShared {
	tq, d, nq, nd := c.Axes[0], c.Axes[1], c.Axes[2], c.Axes[5]
	l := residualShared{table: listingHead(nq, nd)}
	l.panel = l.table + residualTable*4
	l.bytes = l.panel + align64((tq+residualWidest*(nq+1))*d*4)
	return l
}

// residualLocal is the byte offsets of a worker's scratch: decoded tokens, room for them
// transposed, products, a factor for each token, maxima.
type residualLocal struct{ turned, dots, scale, best, bytes int64 }

func residualLocalOf(c *backend.Call) residualLocal {
	rows := residualChunk * rowPitch(c.Axes[1])
	l := residualLocal{turned: rows}
	l.dots = 2 * rows
	l.scale = l.dots + residualChunk*residualLanes*4
	l.best = l.scale + align64(residualChunk*4)
	l.bytes = l.best + align64((c.Axes[0]+residualLanes)*4)
	return l
}

func (m *residual) attach(t *Task) {
	m.listing.attach(t)
	s, l := residualSharedOf(t.Call), residualLocalOf(t.Call)
	m.table = Words[float32](t.Scratch[s.table:s.panel])
	m.panel = Words[float32](t.Scratch[s.panel:s.bytes])
	m.rows = Words[float32](t.Local[:l.turned])
	m.turned = Words[float32](t.Local[l.turned:l.dots])
	m.dots = Words[float32](t.Local[l.dots:l.scale])
	m.scale = Words[float32](t.Local[l.scale:l.best])
	m.best = Words[float32](t.Local[l.best:l.bytes])
}

// start checks offsets, orders the weights by the bits that stand for them and packs the
// query.
func (m *residual) start(t *Task) {
	m.listing.start(t)
	m.attach(t)
	for i := range m.table {
		m.table[i] = m.weight[bits.Reverse8(uint8(i<<(8-m.bits)))]
	}
	raceRead(m.query, m.tq*m.d*4>>half(m.half))
	if m.unit == nil {
		if m.half {
			num.DecodeF16(m.panel, unsafe.Slice((*uint16)(m.query), m.tq*m.d))
		}
		return
	}
	for q := range m.nq {
		lanes := m.lanes(q)
		for at := int64(0); at < lanes; {
			panel, n := m.panelAt(q, at)
			for j := int64(0); j < n; j += packRows {
				m.pack(min(m.queryOff[q]+at+j, m.queryOff[q+1]-1), m.queryOff[q+1], add(panel, int(j)), int(n))
			}
			at += n
		}
	}
}

// half is the shift from bytes of f32 to bytes of f16.
func half(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// pack makes lanes of up to 8 tokens from token on, before to; the last repeats.
func (m *residual) pack(token, to int64, panel *float32, lanes int) {
	n := min(packRows, to-token)
	src, stride := unsafe.Pointer(&m.rows[0]), m.pitch*4
	if !m.half {
		src, stride = unsafe.Add(m.query, token*m.d*4), m.d*4
	} else {
		for i := range n {
			num.DecodeF16(m.rows[i*m.pitch:][:m.d], unsafe.Slice((*uint16)(unsafe.Add(m.query, (token+i)*m.d*2)), m.d))
		}
	}
	m.unit.pack((*float32)(src), int(stride), int(n), int(m.d), panel, lanes)
}

// lanes is query q's tokens in whole vectors.
func (m *residual) lanes(q int64) int64 {
	return roundUp(m.queryOff[q+1]-m.queryOff[q], int64(m.unit.width))
}

// panelAt is the panel of query q that starts at one of its lanes, and how many it has.
func (m *residual) panelAt(q, at int64) (*float32, int64) {
	w := int64(m.unit.width)
	n := min(m.lanes(q)-at, w*int64(m.unit.vectors))
	return &m.panel[(roundUp(m.queryOff[q], w)+q*w+at)*m.d], n
}

func (m *residual) run(t *Task) {
	m.attach(t)
	raceRead(unsafe.Pointer(unsafe.SliceData(m.code)), m.td*4)
	raceRead(unsafe.Pointer(unsafe.SliceData(m.packed)), m.td*m.rb)
	raceRead(m.centroid, m.k*m.d*4>>half(m.half))
	for i := t.Lo; i < t.Hi; i++ {
		q, lo, hi := m.tile(i)
		for e := lo; e < hi; e++ {
			result := canon.NegInf
			if u, end := m.tokens(t, q, e); u < end {
				result = m.document(t, q, u, end)
			}
			m.score[q*m.c+e] = fixedScore(result, m.shift[q])
			if m.fixed != nil {
				m.fixed[q*m.c+e] = int64(result)
			}
		}
	}
}

// document is the score of document tokens [u, hi) for query q.
func (m *residual) document(t *Task, q, u, hi int64) canon.Fixed {
	n := m.queryOff[q+1] - m.queryOff[q]
	for i := range m.best[:n+residualWidest] {
		m.best[i] = negInf
	}
	whole := m.whole()
	most := int64(residualChunk)
	if whole && m.inv != nil {
		most = hi - u
	}
	for u < hi {
		from, to := m.next(t, u, hi, most)
		u = to
		switch {
		case from == to || n == 0:
		case whole:
			m.scoreRows(q, from, to-from)
		default:
			m.decode(from, to)
			if m.unit == nil {
				m.multiplyGeneric(q, to-from)
			} else {
				m.multiply(q, to-from)
			}
		}
	}
	return m.steps(t, m.best[:n], m.shift[q], q)
}

// whole reports whether the level has a routine that decodes and multiplies.
func (m *residual) whole() bool {
	return m.unit != nil && m.unit.score[0][1] != nil && (m.bits == 2 || m.bits == 4) && m.d%8 == 0 && !m.normalize
}

// scoreRows raises the maxima of query q by n tokens from from on.
func (m *residual) scoreRows(q, from, n int64) {
	inv, w, b := m.factors(from, n), int64(m.unit.width), int(m.bits/4)
	pitch, packed, code := int(m.pitch*4), &m.packed[from*m.rb], &m.code[from]
	for at := int64(0); at < m.lanes(q); {
		panel, lanes := m.panelAt(q, at)
		if m.half {
			m.unit.scoreF16[b][lanes/w](panel, &m.rows[0], pitch, packed, int(m.rb), code, int(n), int(m.d), (*uint16)(m.centroid), int(m.d*2), &m.table[0], inv, &m.best[at])
		} else {
			m.unit.score[b][lanes/w](panel, &m.rows[0], pitch, packed, int(m.rb), code, int(n), int(m.d), (*float32)(m.centroid), int(m.d*4), &m.table[0], inv, &m.best[at])
		}
		at += lanes
	}
}

// factors is the inverse norms of n tokens from from on, or ones.
func (m *residual) factors(from, n int64) *float32 {
	if m.inv != nil {
		return &m.inv[from]
	}
	for i := range m.scale[:n] {
		m.scale[i] = 1
	}
	return &m.scale[0]
}

// multiply raises the maxima of query q by the products with n decoded tokens.
func (m *residual) multiply(q, n int64) {
	w := int64(m.unit.width)
	for at := int64(0); at < m.lanes(q); {
		panel, lanes := m.panelAt(q, at)
		m.unit.f32[lanes/w](panel, &m.rows[0], int(m.pitch*4), int(m.d), int(n), &m.dots[0])
		m.unit.max(&m.dots[0], int(n), int(lanes), &m.best[at])
		at += lanes
	}
}

func (m *residual) multiplyGeneric(q, n int64) {
	query := m.panel
	if !m.half {
		query = unsafe.Slice((*float32)(m.query), m.tq*m.d)
	}
	from, to := m.queryOff[q], m.queryOff[q+1]
	rows := m.rows
	if m.pitch != m.d {
		for i := int64(1); i < n; i++ {
			copy(rows[i*m.d:(i+1)*m.d], rows[i*m.pitch:])
		}
	}
	for at := from; at < to; at += residualLanes {
		lanes := min(residualLanes, to-at)
		dots := m.dots[:n*lanes]
		canon.Matrix(dots, rows, int(n), query[at*m.d:], int(lanes), int(m.d))
		maxsimMaxGeneric(&dots[0], int(n), int(lanes), &m.best[at-from])
	}
}

// decode makes rows of tokens [from, to).
func (m *residual) decode(from, to int64) {
	n, full := to-from, int64(0)
	switch {
	case m.unit == nil || m.unit.decode[bits.TrailingZeros64(uint64(m.bits))] == nil || m.half && m.normalize:
	case m.d >= 8:
		full = m.d &^ 7
		m.decodeRows(from, n, full)
	}
	if full < m.d {
		for i := range n {
			m.decodeGeneric(m.rows[i*m.pitch:], from+i, full)
		}
	}
	if m.inv == nil && m.normalize {
		m.normalizeRows(n)
	}
	if m.half && full < m.d {
		for i := range n {
			for j, x := range m.rows[i*m.pitch+full : i*m.pitch+m.d] {
				m.rows[i*m.pitch+full+int64(j)] = num.F16ToFloat32(num.F16FromFloat32(x))
			}
		}
	}
}

// decodeRows decodes the first full components of n tokens in registers.
func (m *residual) decodeRows(from, n, full int64) {
	inv := m.factors(from, n)
	packed, code := &m.packed[from*m.rb], &m.code[from]
	b := bits.TrailingZeros64(uint64(m.bits))
	if m.half {
		m.unit.decodeF16[b](&m.rows[0], int(m.pitch*4), packed, int(m.rb), code, int(n), int(full), (*uint16)(m.centroid), int(m.d), &m.table[0], inv)
		return
	}
	m.unit.decode[b](&m.rows[0], int(m.pitch*4), packed, int(m.rb), code, int(n), int(full), (*float32)(m.centroid), int(m.d), &m.table[0], inv)
}

// decodeGeneric writes the components from first on of token u: times its inverse norm, if
// that is given.
func (m *residual) decodeGeneric(row []float32, u, first int64) {
	inv := float32(1)
	if m.inv != nil {
		inv = m.inv[u]
	}
	packed, at := m.packed[u*m.rb:(u+1)*m.rb], int64(m.code[u])*m.d
	mask := uint8(1<<m.bits - 1)
	for i := first; i < m.d; i++ {
		bit := i * m.bits
		x := m.table[packed[bit/8]>>(8-m.bits-bit%8)&mask]
		if m.half {
			x = num.F16ToFloat32(*(*uint16)(unsafe.Add(m.centroid, (at+i)*2))) + x
		} else {
			x = *(*float32)(unsafe.Add(m.centroid, (at+i)*4)) + x
		}
		row[i] = x * inv
	}
}

// normalizeRows multiplies rows by their inverse norms.
func (m *residual) normalizeRows(n int64) {
	if m.unit != nil && m.unit.norms != nil {
		pitch, d := int(m.pitch*4), int(m.d)
		m.unit.norms(&m.rows[0], pitch, int(n), d, &m.turned[0], &m.scale[0])
		m.unit.scale(&m.rows[0], pitch, int(n), int(m.pitch), &m.scale[0])
		return
	}
	for i := range n {
		row := m.rows[i*m.pitch:][:m.d]
		var sum float32
		for _, x := range row {
			sum += float32(x * x) // the conversion keeps the compiler from fusing
		}
		inv := 1 / max(float32(math.Sqrt(float64(sum))), 1e-12)
		for j := range row {
			row[j] *= inv
		}
	}
}
