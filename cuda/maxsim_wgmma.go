package cuda

import (
	"fmt"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/cuda/driver"
)

// Sizes that src/lateinteraction shares.
const (
	wgmmaTokens = 128
	wgmmaSpan   = 128 // bytes of K in a slot
	wgmmaSlot   = wgmmaTokens * wgmmaSpan
	wgmmaShared = 13*wgmmaSlot + 1024 // slots and their alignment
	smallShared = 6*wgmmaSlot + 1024  // two blocks fit a multiprocessor
	thirdShared = 3*wgmmaSlot + 32*wgmmaSpan + 1024

	// manyBytes is the document bytes of a multiprocessor from which several blocks, or a queue of parts of the work,
	// read them faster than one block does, which starts and ends sooner.
	manyBytes   = 3 << 18
	joinThreads = 128

	// splitUnits and splitGroups bound the pieces of a launch that cuts documents between blocks.
	splitUnits, splitGroups = 160, 64

	// joinTokens is what the second stage of a split costs, in document tokens of the time of a block of 256 query
	// rows: about 3 µs. joinBytes is the same for fewer rows, whose time is that of reading documents; a block that has
	// more than others to do reads faster once they are done.
	joinTokens, joinBytes = 600, 320 << 10
)

// wgmmaLimits describes an instance to the warpgroup variant.
type wgmmaLimits struct {
	tileLimits
	element   driver.TensorType
	normalize int // attribute, -1 for none
}

// accept holds what the copy engine and the tiles ask for.
func (l *wgmmaLimits) accept(c *backend.Call) error {
	switch {
	case c.Axes[axisD] > 16*wgmmaSpan/l.bytes:
		return l.refuse("d %d is more than %d", c.Axes[axisD], 16*wgmmaSpan/l.bytes)
	case !c.Operands[l.winner].Absent():
		return l.refuse("winners")
	case l.normalize >= 0 && c.Attrs[l.normalize] != 0:
		return l.refuse("normalisation")
	}
	return l.tileLimits.accept(c)
}

// workspace is for the partial maxima of a split launch, whatever the sizes: two tiles of rows a piece, a piece for
// each block and group. A group of ragged queries may fill half a tile only.
func (l *wgmmaLimits) workspace(*backend.Call) int64 {
	return (splitUnits + 2*splitGroups + 1) * 2 * 256 * 4
}

// wgmmaPlan is the tile that a launch uses. It changes no bits.
type wgmmaPlan struct {
	rows    int64 // query rows of a block
	split   bool  // documents are cut between blocks and joined by a second stage
	taken   bool  // blocks take parts of the work from a queue, which a stage in front empties
	blocks  int64
	threads int
	shared  uint32
}

func (l *wgmmaLimits) plan(r *ragged, c *backend.Call, units int) wgmmaPlan {
	// Query rows stay in shared memory: 128 KiB hold 256 rows of 512 bytes, 64 of 2048.
	spans, rows := CeilDiv(c.Axes[axisD]*l.bytes, wgmmaSpan), r.queryOff.Total
	p := wgmmaPlan{rows: 256, blocks: int64(units), threads: 640, shared: wgmmaShared}
	switch {
	case rows <= 32:
		p.rows = 32
	case rows <= 64 || spans > 8:
		p.rows = 64
	case rows <= 128 || spans > 4:
		p.rows = 128
	}
	if p.rows < 256 {
		p.threads = 320
	}
	l.share(&p, r, c, spans)
	nd, longest, groups := c.Axes[axisND], r.docOff.Max, CeilDiv(rows, p.rows)
	// The bound is on the axis: offsets of the device may fill it.
	if p.taken || r.queryOff.Max > p.rows || CeilDiv(c.Axes[axisTQ], p.rows) > splitGroups || groups*nd == 0 || units == 0 {
		return p
	}
	// Whole documents take the longest share of a multiprocessor; cut ones share evenly.
	n, cost := int64(min(units, splitUnits)), int64(joinTokens)
	if p.rows < 256 {
		cost = joinBytes / max(c.Axes[axisD]*l.bytes, 1)
	}
	if whole, even := CeilDiv(groups*nd, n)*longest, CeilDiv(groups*r.docOff.Total, n); whole-even > cost {
		p.blocks, p.split, p.shared = n, true, wgmmaShared
	}
	return p
}

// share decides how much documents are read. Some multiprocessors read a quarter faster than most, so that blocks with
// even parts end far from each other: a queue gives the fast ones more. Registers of the smallest form only are few enough
// for several blocks of a multiprocessor.
func (l *wgmmaLimits) share(p *wgmmaPlan, r *ragged, c *backend.Call, spans int64) {
	if p.rows == 64 || p.rows == 256 || spans > 2 || r.docOff.Total*c.Axes[axisD]*l.bytes < manyBytes*p.blocks {
		return
	}
	blocks, threads, shared := p.blocks, p.threads, p.shared
	switch {
	case p.rows == 32 && l.scaled && spans == 1:
		blocks, threads, shared = 3*blocks, 192, thirdShared
	case p.rows == 32 && !l.scaled:
		blocks, shared = 2*blocks, smallShared
	case p.rows == 32:
		return
	}
	if c.Axes[axisND] >= 2*blocks {
		p.taken, p.blocks, p.threads, p.shared = true, blocks, threads, shared
	}
}

// wgmmaStages are the forms of the kernel; one of them runs, and after a split one its join.
func wgmmaStages[A any](of func(*A) ragged, l *wgmmaLimits) []Stage[A] {
	out := []Stage[A]{{Name: "clear", Early: true, Geometry: func(a *A, c *backend.Call, g *Geometry) {
		r := of(a)
		g.Line(1, 1)
		g.Skip = !l.plan(&r, c, g.Units).taken
	}}}
	for _, f := range []struct {
		form string // t: tokens are the rows of a product, r: query rows are
		rows int64
	}{{"t", 32}, {"t", 64}, {"t", 128}, {"r", 256}} {
		if l.scaled && f.rows == 128 {
			f.form = "r"
		}
		out = append(out, wgmmaStage(of, l, f.form, f.rows, false, false), wgmmaStage(of, l, "s", f.rows, true, false), wgmmaJoin(of, l, f.rows))
		if f.rows == 32 || f.rows == 128 {
			out = append(out, wgmmaStage(of, l, "q", f.rows, false, true))
		}
	}
	return out
}

func wgmmaStage[A any](of func(*A) ragged, l *wgmmaLimits, form string, rows int64, split, taken bool) Stage[A] {
	maps := []func(*A, *backend.Call, *driver.TensorMap){
		func(a *A, c *backend.Call, m *driver.TensorMap) {
			r := of(a)
			l.rows(m, r.query, c.Axes[axisTQ], c.Axes[axisD], min(rows, 64))
		},
		func(a *A, c *backend.Call, m *driver.TensorMap) {
			r := of(a)
			l.rows(m, r.doc, c.Axes[axisTD], c.Axes[axisD], 64)
		},
	}
	if l.scaled {
		maps = append(maps, func(a *A, c *backend.Call, m *driver.TensorMap) { r := of(a); scaleMap(m, r.scale, c.Axes[axisTD]) })
	}
	return Stage[A]{Name: fmt.Sprint(form, rows), Shared: wgmmaShared, Maps: maps, Early: true, Geometry: func(a *A, c *backend.Call, g *Geometry) {
		r := of(a)
		p := l.plan(&r, c, g.Units)
		g.Line(p.blocks, p.threads)
		g.Shared = p.shared
		g.Skip = p.rows != rows || p.split != split || p.taken != taken || c.Axes[axisNQ] == 0 || c.Axes[axisND] == 0
	}}
}

func wgmmaJoin[A any](of func(*A) ragged, l *wgmmaLimits, rows int64) Stage[A] {
	return Stage[A]{Name: fmt.Sprint("j", rows), Early: true, Geometry: func(a *A, c *backend.Call, g *Geometry) {
		r := of(a)
		p := l.plan(&r, c, g.Units)
		g.Line(p.blocks, joinThreads)
		g.Skip = p.rows != rows || !p.split || c.Axes[axisNQ] == 0
	}}
}

// rows describes tokens as boxes of rows by 128 bytes. A tensor map has no empty axis: without tokens it is one
// row that is never read, at any aligned address.
func (l *wgmmaLimits) rows(m *driver.TensorMap, v *backend.View, n, d, box int64) {
	*m = driver.TensorMap{
		Type: l.element, Rank: 2, Address: Address(v), Dims: [5]uint64{uint64(d), uint64(max(n, 1))},
		Strides: [4]uint64{uint64(d * l.bytes)}, Box: [5]uint32{uint32(wgmmaSpan / l.bytes), uint32(box)},
		Swizzle: driver.Swizzle128B, Promotion: driver.Promote256B,
	}
}

func scaleMap(m *driver.TensorMap, v *backend.View, n int64) {
	*m = driver.TensorMap{Type: driver.TensorF32, Rank: 1, Address: Address(v), Dims: [5]uint64{uint64(max(n, 1))}, Box: [5]uint32{wgmmaTokens}}
}
