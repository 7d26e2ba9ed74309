package simd

import (
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/num"
)

// residualInt8Unit is the arithmetic of one level. A panel holds query tokens step by step,
// a lane each, so that a product never crosses lanes; decoded rows hold components in the
// order in which tables of nibbles give them, see component, and panels follow it.
type residualInt8Unit struct {
	width   int64             // lanes of a vector
	vectors int64             // vectors of a full panel
	group   int64             // components of a step: 2 as int16, or 4 bytes
	offset  bool              // bytes of rows are above the least value of the table, unsigned
	narrow  *residualInt8Unit // for fewer query tokens than lanes
	small   *residualInt8Unit // for tables whose values are at most 127 apart
	// decode, by the binary logarithm of the bits, writes n rows of whole groups of 8 bytes,
	// row bytes each, to rows pitch bytes apart. table has 16 entries for each component of a
	// nibble.
	decode [3]func(rows *byte, pitch int, packed *uint8, row, n int, table *int8)
	// dots sets out[i*lanes+j] to the product of row i and panel lane j, plus bias[j] with
	// offset. By vectors of the panel, from 1, as the next two.
	dots [5]func(panel *uint32, rows *byte, pitch, steps, n int, bias, out *int32)
	// finish raises best[j] to the largest (dots[i*lanes+j]·unit[j] + scores[codes[i]][j])·inv[i],
	// the sum with one rounding; NaN stays. Rows of scores are stride bytes apart, the columns
	// of the last vector last bytes from the first.
	finish    [5]func(dots *int32, n int, codes *int32, scores *float32, stride, last int, unit, inv, best *float32)
	finishF16 [5]func(dots *int32, n int, codes *int32, scores *uint16, stride, last int, unit, inv, best *float32)
}

const (
	// int8Narrow is the lanes of the widest vector for which scores of fewer query tokens are
	// spread.
	int8Narrow = 16
	// int8Chunk is the tokens decoded before they are multiplied, and int8Lanes the lanes of the
	// widest panel: their products fill 6 KiB.
	int8Chunk = 48
	int8Lanes = 32
	// int8Padding is how many components a row may be padded with: 8 bytes of 1 bit.
	int8Padding = 64
	// int8Nibbles is the values that the components of a nibble may have.
	int8Nibbles = 64
)

// fit is the unit for a launch of tq query tokens and a table of that range.
func (u *residualInt8Unit) fit(tq int64, apart int) *residualInt8Unit {
	if tq < u.width && u.narrow != nil {
		u = u.narrow
	}
	if apart <= math.MaxInt8 && u.small != nil {
		u = u.small
	}
	return u
}

// int8Shared is the byte offsets of the launch's scratch: offsets, per lane the unit and the
// bias, scores spread to vectors where there are few query tokens, panels.
type int8Shared struct{ unit, bias, scores, panel, bytes int64 }

func int8SharedOf(c *backend.Call) int8Shared {
	k, tq, d, nq := c.Axes[0], c.Axes[1], c.Axes[2], c.Axes[3]
	lanes := tq + residualWidest*(nq+1)
	l := int8Shared{unit: listingHead(nq, c.Axes[6])}
	l.bias = l.unit + align64(lanes*4)
	l.scores = l.bias + align64(lanes*4)
	l.panel = l.scores + k*int8Narrow*4
	l.bytes = align64(l.panel) + align64(lanes*(d+int8Padding)*2)
	l.panel = align64(l.panel)
	return l
}

// int8Local is the byte offsets of a worker's scratch: decoded rows, packed rows padded,
// products, a factor for each token, tables of nibbles, maxima.
type int8Local struct{ packed, dots, inv, nibbles, best, bytes int64 }

func int8LocalOf(c *backend.Call) int8Local {
	l := int8Local{packed: int8Chunk * align64((c.Axes[2]+int8Padding)*2)}
	l.dots = l.packed + int8Chunk*align64(c.Axes[5]+8)
	l.inv = l.dots + int8Chunk*int8Lanes*4
	l.nibbles = l.inv + align64(int8Chunk*4)
	l.best = l.nibbles + int8Nibbles
	l.bytes = l.best + align64((c.Axes[1]+residualLanes)*4)
	return l
}

// int8Panel is a launch of residual_maxsim_int8 by panels. It holds no memory of its own that
// routines point at, and the launch by value: either would be allocated for each range of tiles.
type int8Panel struct {
	residualInt8
	unit           *residualInt8Unit
	low            int8  // of the table
	rowBytes       int64 // packed bytes of a row, padded
	places         int64 // components of a row, padded
	laneUnit       []float32
	bias           []int32
	panel          []uint32
	rows, padded   []byte
	dots           []int32
	ones, best     []float32
	nibbles        []int8 // tables of the components of a nibble
	spread         []float32
	scores         unsafe.Pointer
	pitch, columns int64
	half           bool
}

func openPanel(u *residualInt8Unit, m *residualInt8, t *Task) int8Panel {
	s, l := int8SharedOf(t.Call), int8LocalOf(t.Call)
	low, high := slices.Min(m.weight), slices.Max(m.weight)
	m.largest = largestCode
	p := int8Panel{
		residualInt8: *m, unit: u.fit(m.tq, int(high)-int(low)), low: low, rowBytes: roundUp(m.rb, 8),
		laneUnit: Words[float32](t.Scratch[s.unit:s.bias]), bias: Words[int32](t.Scratch[s.bias:s.scores]),
		spread: Words[float32](t.Scratch[s.scores:s.panel]), panel: Words[uint32](t.Scratch[s.panel:s.bytes]),
		rows: t.Local[:l.packed], padded: t.Local[l.packed:l.dots], dots: Words[int32](t.Local[l.dots:l.inv]),
		ones: Words[float32](t.Local[l.inv:l.nibbles]), nibbles: Words[int8](t.Local[l.nibbles:l.best]), best: Words[float32](t.Local[l.best:l.bytes]),
		scores: m.scores, pitch: m.pitch, columns: m.tq, half: m.half,
	}
	p.places = roundUp(p.rowBytes*8/m.bits, 16)
	if w := p.unit.width; m.tq < w {
		p.scores, p.pitch, p.columns, p.half = unsafe.Pointer(unsafe.SliceData(p.spread)), w, w, false
	}
	for i := range p.ones {
		p.ones[i] = 1
	}
	if m.bits < 8 {
		p.tables()
	}
	return p
}

// tables orders the values by the nibbles that hold their buckets.
func (p *int8Panel) tables() {
	clear(p.nibbles)
	per, mask := 4/p.bits, int64(1<<p.bits-1)
	for c := range per {
		for nibble := range int64(16) {
			p.nibbles[16*c+nibble] = p.table[nibble>>(4-p.bits*(c+1))&mask]
			if p.unit.offset {
				p.nibbles[16*c+nibble] -= p.low // as bytes
			}
		}
	}
}

// component is which one stands at a place of a decoded row, -1 for padding: in each block
// of 16 packed bytes, and a last one of 8, the first component of each byte, then the second
// ones, and so on.
func (p *int8Panel) component(place int64) int64 {
	if p.bits == 8 && place < p.rb {
		return place
	}
	per, size := 8/p.bits, int64(16)
	blocks := p.rowBytes / 16 * 16
	first := place / (16 * per) * 16
	if first >= blocks {
		first, size = blocks, 8
	}
	place -= first * per
	at := first + place%size
	if at >= p.rb || p.bits == 8 {
		return -1
	}
	return at*per + place/size
}

// lanes is query q's tokens in whole vectors.
func (p *int8Panel) lanes(q int64) int64 {
	return roundUp(p.queryOff[q+1]-p.queryOff[q], p.unit.width)
}

// at is the panel of query q that starts at one of its lanes: its first lane of all, its
// number of lanes, and where the columns of its last vector start, seen from its first.
func (p *int8Panel) at(q, lane int64) (first, lanes, last int64) {
	w := p.unit.width
	lanes = min(p.lanes(q)-lane, w*p.unit.vectors)
	column := p.queryOff[q] + lane
	return roundUp(p.queryOff[q], w) + q*w + lane, lanes, min(column+lanes, p.columns) - w - column
}

// start packs the query's panels, and spreads scores where a row is less than a vector.
func (p *int8Panel) start() {
	order := Words[int32](p.rows)[:p.places] // decoded rows come later
	for place := range order {
		order[place] = int32(p.component(int64(place)))
	}
	for q := range p.nq {
		for lane := int64(0); lane < p.lanes(q); {
			first, lanes, last := p.at(q, lane)
			for j := range lanes {
				token := p.queryOff[q] + lane + j
				if before := lanes - p.unit.width; j >= before {
					token += last - before
				}
				p.pack(order, token, first, lanes, j)
			}
			lane += lanes
		}
	}
	w := p.unit.width
	if p.tq >= w {
		return
	}
	for c := range p.k {
		row := p.spread[c*w:][:w]
		for t := range p.tq {
			row[t] = p.residualInt8.score32(c, t)
		}
		clear(row[p.tq:])
	}
}

// pack makes a token lane j of a panel, its components in order; one outside the axis is
// zeros.
func (p *int8Panel) pack(order []int32, token, first, lanes, j int64) {
	group := int(p.unit.group)
	panel := p.panel[first*p.places/p.unit.group+j:]
	p.laneUnit[first+j], p.bias[first+j] = 0, 0
	if token < 0 || token >= p.tq {
		for step := range len(order) / group {
			panel[int64(step)*lanes] = 0
		}
		return
	}
	p.laneUnit[first+j] = p.residualInt8.unit[token]
	query := p.query[token*p.d:][:p.d]
	var sum int32
	width := 32 / group
	mask := uint32(1)<<width - 1
	for step := range len(order) / group {
		var word uint32
		for i, c := range order[step*group:][:group] {
			if uint(c) < uint(len(query)) {
				word |= uint32(query[c]) & mask << (i * width)
				sum += int32(query[c])
			}
		}
		panel[int64(step)*lanes] = word
	}
	p.bias[first+j] = int32(p.low) * sum
}

// document is the score of document tokens [u, hi) for query q.
func (p *int8Panel) document(t *Task, q, u, hi int64) float32 {
	all := p.lanes(q)
	for i := range p.best[:all] {
		p.best[i] = negInf
	}
	for u < hi {
		var from int64
		if from, u = p.next(t, u, hi, int8Chunk); from == u || all == 0 {
			continue
		}
		n, pitch := u-from, p.decode(from, u)
		inv := &p.ones[0]
		if p.inv != nil {
			inv = &p.inv[from]
		}
		for lane := int64(0); lane < all; {
			first, lanes, last := p.at(q, lane)
			v := lanes / p.unit.width
			panel := &p.panel[first*p.places/p.unit.group]
			p.unit.dots[v](panel, &p.rows[0], int(pitch), int(p.places/p.unit.group), int(n), &p.bias[first], &p.dots[0])
			column := p.queryOff[q] + lane
			if p.half {
				p.unit.finishF16[v](&p.dots[0], int(n), &p.code[from], (*uint16)(unsafe.Add(p.scores, column*2)), int(p.pitch*2), int(last*2), &p.laneUnit[first], inv, &p.best[lane])
			} else {
				p.unit.finish[v](&p.dots[0], int(n), &p.code[from], (*float32)(unsafe.Add(p.scores, column*4)), int(p.pitch*4), int(last*4), &p.laneUnit[first], inv, &p.best[lane])
			}
			lane += lanes
		}
	}
	return sumMaxima(p.inOrder(q))
}

// inOrder is the maxima of query q token by token: its last vector may start before the
// lanes that it stands for.
func (p *int8Panel) inOrder(q int64) []float32 {
	n, w := p.queryOff[q+1]-p.queryOff[q], p.unit.width
	for lane := int64(0); lane < n; {
		_, lanes, last := p.at(q, lane)
		if skip := lanes - w - last; skip > 0 {
			copy(p.best[lane+lanes-w:], p.best[lane+lanes-w+skip:lane+lanes])
		}
		lane += lanes
	}
	return p.best[:n]
}

// decode makes rows of tokens [from, to) and returns the bytes between them.
func (p *int8Panel) decode(from, to int64) (pitch int64) {
	pitch = p.places * 4 / p.unit.group
	if p.bits == 8 {
		p.decodeBytes(from, to, pitch)
		return pitch
	}
	packed, row := &p.packed[from*p.rb], p.rb
	if p.rb != p.rowBytes {
		for u := from; u < to; u++ {
			copy(p.padded[(u-from)*p.rowBytes:], p.packed[u*p.rb:(u+1)*p.rb])
		}
		packed, row = &p.padded[0], p.rowBytes
	}
	p.unit.decode[bits.TrailingZeros64(uint64(p.bits))](&p.rows[0], int(pitch), packed, int(row), int(to-from), &p.nibbles[0])
	return pitch
}

// decodeBytes is decode for 8 bits, whose 256 values no register holds.
func (p *int8Panel) decodeBytes(from, to, pitch int64) {
	for u := from; u < to; u++ {
		row := p.rows[(u-from)*pitch:][:pitch]
		clear(row)
		for i, b := range p.packed[u*p.rb : (u+1)*p.rb] {
			x := p.table[b]
			switch {
			case p.unit.offset:
				row[i] = byte(x - p.low)
			case p.unit.group == 4:
				row[i] = byte(x)
			default:
				row[2*i], row[2*i+1] = byte(x), byte(x>>7)
			}
		}
	}
}

// score32 is the score of a centroid for a query token.
func (m *residualInt8) score32(code, t int64) float32 {
	at := code*m.pitch + t
	if m.half {
		return num.F16ToFloat32(*(*uint16)(unsafe.Add(m.scores, at*2)))
	}
	return *(*float32)(unsafe.Add(m.scores, at*4))
}
