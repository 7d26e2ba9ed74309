package simd

import (
	"math/bits"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/kernels"
)

var _ = bindResidualInt8()

func bindResidualInt8() bool {
	for _, v := range append(listingVariants[:len(listingVariants):len(listingVariants)], int8Extensions...) {
		u := residualInt8Units[v.name]
		for _, i := range kernels.ResidualMaxSimInt8.Instances() {
			b := backend.Binding{Kernel: i.Name, Variant: v.name, Requires: v.requires, Class: "exact", Note: int8Notes[v.name],
				Tile: map[string]int64{"tq": 32, "td": int8Chunk, "d": 16}}
			if i.Types[0] == backend.F16 {
				b.Requires = v.half
			}
			Bind(kernels.ResidualMaxSimInt8, b, int8Body(u))
		}
	}
	return true
}

// int8Extensions are variants that need more than a level.
var int8Extensions = []listingVariant{
	{"avx512vnni", []string{"avx512", "avx512_vnni"}, []string{"avx512", "avx512_vnni"}},
	{"amx", []string{"avx512", "amx_int8"}, []string{"avx512", "amx_int8"}},
	{"neondot", []string{"neon", "dotprod"}, []string{"neon", "dotprod"}},
}

var int8Notes = map[string]string{
	"generic": "portable loops", "avx2": "VPMADDWD on pairs of int16", "avx512": "VPMADDWD on pairs of int16",
	"avx512vnni": "VPDPBUSD on groups of four bytes", "amx": "TDPBUSD on tiles of 16 by 16", "neon": "portable loops", "neondot": "SDOT on groups of four bytes",
}

func int8Body(u *residualInt8Unit) Body[kernels.ResidualMaxSimInt8Args] {
	return Body[kernels.ResidualMaxSimInt8Args]{
		Tiles: func(a *kernels.ResidualMaxSimInt8Args, c *backend.Call) int64 {
			m := openInt8(a, c)
			return m.tiles()
		},
		Start: func(t *Task, a *kernels.ResidualMaxSimInt8Args) {
			m := openInt8(a, t.Call)
			m.start(t)
			if u != nil {
				m.attach(t)
				p := openPanel(u, &m, t)
				p.start()
			}
		},
		Run: func(t *Task, a *kernels.ResidualMaxSimInt8Args) {
			m := openInt8(a, t.Call)
			m.run(t, u)
		},
		Workspace: func(c *backend.Call) int64 { return int8SharedOf(c).bytes },
		Local:     func(c *backend.Call) int64 { return int8LocalOf(c).bytes },
	}
}

// residualInt8 is a launch of residual_maxsim_int8.
type residualInt8 struct {
	listing
	half        bool
	d, rb, bits int64
	query       []int8
	unit, inv   []float32
	scores      unsafe.Pointer // k,tq
	pitch       int64
	packed      []uint8
	weight      []int8
	score       []float32
	table       [256]int8 // 2^bits values, by the bits of a bucket as they lie in a byte
	row         []int8    // this worker's
	best        []float32
}

func openInt8(a *kernels.ResidualMaxSimInt8Args, c *backend.Call) residualInt8 {
	m := residualInt8{
		half: a.CentroidScore.DType == backend.F16, d: c.Axes[2], rb: c.Axes[5], bits: a.Bits,
		query: Slice[int8](&a.Query), unit: Slice[float32](&a.Unit), inv: Slice[float32](&a.InvNorm),
		scores: Pointer(&a.CentroidScore), pitch: a.CentroidScore.RowStride(), packed: Slice[uint8](&a.Packed),
		weight: Slice[int8](&a.Table), score: Slice[float32](&a.Score),
		listing: listing{
			k: c.Axes[0], tq: c.Axes[1], nq: c.Axes[3], td: c.Axes[4], nd: c.Axes[6], c: c.Axes[8],
			queryOff: Slice[int64](&a.QueryOff.View), docOff: Slice[int64](&a.DocOff.View), code: Slice[int32](&a.Code),
			candidate: Slice[int32](&a.Candidate), count: Slice[int64](&a.Count),
			operands: listingOperands{query: 3, code: 4, doc: 6, candidate: 9},
		},
	}
	m.block = listingBlock(m.tq, m.nq, m.td, m.nd, m.c, float64(m.d)/4)
	for i := range 1 << m.bits {
		m.table[i] = m.weight[bits.Reverse8(uint8(i<<(8-m.bits)))]
	}
	return m
}

func (m *residualInt8) run(t *Task, unit *residualInt8Unit) {
	m.attach(t)
	l := int8LocalOf(t.Call)
	m.row, m.best = Words[int8](t.Local)[:m.d], Words[float32](t.Local[l.best:])
	var p int8Panel
	if unit != nil {
		p = openPanel(unit, m, t)
		raceRead(unsafe.Pointer(unsafe.SliceData(m.code)), m.td*4)
		raceRead(unsafe.Pointer(unsafe.SliceData(m.packed)), m.td*m.rb)
		if m.tq > 0 {
			raceRead(m.scores, ((m.k-1)*m.pitch+m.tq)*4>>half(m.half))
		}
	}
	for i := t.Lo; i < t.Hi; i++ {
		q, lo, hi := m.tile(i)
		for e := lo; e < hi; e++ {
			m.score[q*m.c+e] = negInf
			switch u, end := m.tokens(t, q, e); {
			case u == end:
			case unit == nil:
				m.score[q*m.c+e] = m.document(t, q, u, end)
			default:
				m.score[q*m.c+e] = p.document(t, q, u, end)
			}
		}
	}
}

// document is the score of document tokens [u, hi) for query q.
func (m *residualInt8) document(t *Task, q, u, hi int64) float32 {
	from, to := m.queryOff[q], m.queryOff[q+1]
	best := m.best[:to-from]
	for i := range best {
		best[i] = negInf
	}
	for u < hi {
		var first int64
		for first, u = m.next(t, u, hi, 64); first < u; first++ {
			m.decode(first)
			for j := range best {
				x := m.value(from+int64(j), first)
				if x > best[j] || x != x {
					best[j] = x
				}
			}
		}
	}
	return sumMaxima(best)
}

// sumMaxima adds in ascending order.
func sumMaxima(best []float32) float32 {
	var sum float32
	for _, x := range best {
		sum += x
	}
	if sum != sum {
		return canonicalNaN
	}
	return sum
}

// decode makes the row of document token u.
func (m *residualInt8) decode(u int64) {
	packed, mask := m.packed[u*m.rb:(u+1)*m.rb], uint8(1<<m.bits-1)
	for i := range m.row {
		bit := int64(i) * m.bits
		m.row[i] = m.table[packed[bit/8]>>(8-m.bits-bit%8)&mask]
	}
}

// value is that of query token t and the decoded document token u.
func (m *residualInt8) value(t, u int64) float32 {
	var dot int32
	query := m.query[t*m.d:][:len(m.row)]
	for i, x := range m.row {
		dot += int32(x) * int32(query[i])
	}
	x := canon.FMA(float32(dot), m.unit[t], m.score32(int64(m.code[u]), t))
	if m.inv != nil {
		x *= m.inv[u]
	}
	return x
}
