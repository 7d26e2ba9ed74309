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
	wgmmaShared = 13*wgmmaSlot + 1024               // slots and their alignment
	smallShared = 6*wgmmaSlot + 1024                // two blocks fit a multiprocessor
	oneShared   = 3*wgmmaSlot + 32*wgmmaSpan + 1024 // three blocks of one warpgroup of consumers do, with a span of query rows

	// pairBytes is the document bytes of a multiprocessor from which two blocks read them faster than one does, which
	// starts and ends sooner. Three with factors do from the same on.
	pairBytes   = 1 << 20
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
	normalize int   // attribute, -1 for none
	pair      int64 // pairBytes, less in tests
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
	rows   int64 // query rows of a block
	split  bool  // documents are cut between blocks and joined by a second stage
	one    bool  // one warpgroup of consumers: stage o32
	blocks int64
	shared uint32
}

func (l *wgmmaLimits) plan(r *ragged, c *backend.Call, units int) wgmmaPlan {
	// Query rows stay in shared memory: 128 KiB hold 256 rows of 512 bytes, 64 of 2048.
	spans, rows := CeilDiv(c.Axes[axisD]*l.bytes, wgmmaSpan), r.queryOff.Total
	p := wgmmaPlan{rows: 256, blocks: int64(units), shared: wgmmaShared}
	switch {
	case rows <= 32:
		p.rows = 32
	case rows <= 64 || spans > 8:
		p.rows = 64
	case rows <= 128 || spans > 4:
		p.rows = 128
	}
	// Only the registers of the smallest form are few enough for more blocks.
	if much := r.docOff.Total*c.Axes[axisD]*l.bytes >= l.pair*int64(units); p.rows == 32 && much {
		switch {
		case l.scaled && spans == 1 && c.Axes[axisD] >= wgmmaSpan/2: // shorter rows keep the copy engine busy as it is
			p.one, p.blocks, p.shared = true, 3*p.blocks, oneShared
		case !l.scaled && spans <= 2:
			p.blocks, p.shared = 2*p.blocks, smallShared
		}
	}
	nd, longest, groups := c.Axes[axisND], r.docOff.Max, CeilDiv(rows, p.rows)
	// The bound is on the axis: offsets of the device may fill it.
	if r.queryOff.Max > p.rows || CeilDiv(c.Axes[axisTQ], p.rows) > splitGroups || groups*nd == 0 || units == 0 {
		return p
	}
	// Whole documents take the longest share of a multiprocessor; cut ones share evenly.
	n, cost := int64(min(units, splitUnits)), int64(joinTokens)
	if p.rows < 256 {
		cost = joinBytes / max(c.Axes[axisD]*l.bytes, 1)
	}
	if whole, even := CeilDiv(groups*nd, n)*longest, CeilDiv(groups*r.docOff.Total, n); whole-even > cost {
		p.blocks, p.split, p.one, p.shared = n, true, false, wgmmaShared
	}
	return p
}

// wgmmaStages are the forms of the kernel; one of them runs, and after a split one its join.
func wgmmaStages[A any](of func(*A) ragged, l *wgmmaLimits) []Stage[A] {
	var out []Stage[A]
	if l.scaled {
		out = append(out, wgmmaStage(of, l, "o", 32, 192, false))
	}
	for _, f := range []struct {
		form    string // t: tokens are the rows of a product, r: query rows are
		rows    int64
		threads int
	}{{"t", 32, 320}, {"t", 64, 320}, {"t", 128, 320}, {"r", 256, 640}} {
		if l.scaled && f.rows == 128 {
			f.form = "r"
		}
		out = append(out, wgmmaStage(of, l, f.form, f.rows, f.threads, false), wgmmaStage(of, l, "s", f.rows, f.threads, true), wgmmaJoin(of, l, f.rows))
	}
	return out
}

func wgmmaStage[A any](of func(*A) ragged, l *wgmmaLimits, form string, rows int64, threads int, split bool) Stage[A] {
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
	one, shared := form == "o", wgmmaShared
	if one {
		shared = oneShared
	}
	return Stage[A]{Name: fmt.Sprint(form, rows), Shared: shared, Maps: maps, Early: true, Geometry: func(a *A, c *backend.Call, g *Geometry) {
		r := of(a)
		p := l.plan(&r, c, g.Units)
		g.Line(p.blocks, threads)
		g.Shared = p.shared
		g.Skip = p.rows != rows || p.split != split || p.one != one || c.Axes[axisNQ] == 0 || c.Axes[axisND] == 0
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
