package cuda

import (
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
	joinThreads = 128

	// splitUnits and splitGroups bound the pieces of a launch that cuts documents between blocks.
	splitUnits, splitGroups = 160, 64

	// joinTokens is what the second stage of a split costs, in document tokens of a block's time: about 3 µs.
	joinTokens = 600
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
// each block and group. A group of ragged queries may fill half a tile only. Blocks of 64 rows are twice as many
// and need less.
func (l *wgmmaLimits) workspace(*backend.Call) int64 {
	return (splitUnits + 2*splitGroups + 1) * 2 * 256 * 4
}

// wgmmaPlan is the tile that a launch uses. It changes no bits.
type wgmmaPlan struct {
	rows   int64 // query rows of a block
	split  bool  // documents are cut between blocks and joined by a second stage
	blocks int64
	shared uint32
}

func (l *wgmmaLimits) plan(r *ragged, c *backend.Call, units int) wgmmaPlan {
	// Query rows stay in shared memory: 128 KiB hold 256 rows of 512 bytes, 64 of 2048.
	spans, rows, tile := CeilDiv(c.Axes[axisD]*l.bytes, wgmmaSpan), r.queryOff.Total, int64(256)
	switch {
	case rows <= 64 || spans > 8:
		tile = 64
	case rows <= 128 || spans > 4:
		tile = 128
	}
	p := planOf(tile, spans, units)
	nd, longest := c.Axes[axisND], r.docOff.Max
	if tile == 128 { // has no split form
		tile = 256
		if spans > 4 {
			tile = 64
		}
	}
	groups := CeilDiv(rows, tile)
	// The bound is on the axis: offsets of the device may fill it.
	if r.queryOff.Max > tile || CeilDiv(c.Axes[axisTQ], tile) > splitGroups || groups*nd == 0 || units == 0 {
		return p
	}
	// Whole documents take the longest share of a multiprocessor; cut ones share evenly.
	n := int64(min(units, splitUnits))
	if whole, even := CeilDiv(groups*nd, n)*longest, CeilDiv(groups*r.docOff.Total, n); whole-even > joinTokens {
		p = planOf(tile, spans, int(n))
		p.split = true
	}
	return p
}

// planOf fills the device with blocks: two of 64 short rows, or one, on a multiprocessor.
func planOf(rows, spans int64, units int) wgmmaPlan {
	p := wgmmaPlan{rows: rows, blocks: int64(units), shared: wgmmaShared}
	if rows == 64 && spans <= 2 {
		p.blocks, p.shared = 2*int64(units), smallShared
	}
	return p
}

// wgmmaStages are the forms of the kernel; one of them runs, and after a split one its join.
func wgmmaStages[A any](of func(*A) ragged, l *wgmmaLimits) []Stage[A] {
	maps := []func(*A, *backend.Call, *driver.TensorMap){
		func(a *A, c *backend.Call, m *driver.TensorMap) {
			r := of(a)
			l.rows(m, r.query, c.Axes[axisTQ], c.Axes[axisD])
		},
		func(a *A, c *backend.Call, m *driver.TensorMap) {
			r := of(a)
			l.rows(m, r.doc, c.Axes[axisTD], c.Axes[axisD])
		},
	}
	if l.scaled {
		maps = append(maps, func(a *A, c *backend.Call, m *driver.TensorMap) { r := of(a); scaleMap(m, r.scale, c.Axes[axisTD]) })
	}
	form := func(name string, rows int64, split bool) Stage[A] {
		threads := int(rows)*2 + 64
		if rows == 256 {
			threads += 64 // the last warpgroup is whole, so that it can give up registers
		}
		return Stage[A]{Name: name, Shared: wgmmaShared, Maps: maps, Geometry: func(a *A, c *backend.Call, g *Geometry) {
			r := of(a)
			p := l.plan(&r, c, g.Units)
			g.Line(p.blocks, threads)
			g.Shared = p.shared
			g.Skip = p.rows != rows || p.split != split || c.Axes[axisNQ] == 0 || c.Axes[axisND] == 0
		}}
	}
	join := func(name string, rows int64) Stage[A] {
		return Stage[A]{Name: name, Geometry: func(a *A, c *backend.Call, g *Geometry) {
			r := of(a)
			p := l.plan(&r, c, g.Units)
			g.Line(p.blocks, joinThreads)
			g.Skip = p.rows != rows || !p.split || c.Axes[axisNQ] == 0
		}}
	}
	return []Stage[A]{form("r64", 64, false), form("r128", 128, false), form("r256", 256, false),
		form("s64", 64, true), join("j64", 64), form("s256", 256, true), join("j256", 256)}
}

// rows describes tokens as boxes of 64 rows by 128 bytes. A tensor map has no empty axis: without tokens it is one
// row that is never read, at any aligned address.
func (l *wgmmaLimits) rows(m *driver.TensorMap, v *backend.View, n, d int64) {
	*m = driver.TensorMap{
		Type: l.element, Rank: 2, Address: Address(v), Dims: [5]uint64{uint64(d), uint64(max(n, 1))},
		Strides: [4]uint64{uint64(d * l.bytes)}, Box: [5]uint32{uint32(wgmmaSpan / l.bytes), 64},
		Swizzle: driver.Swizzle128B, Promotion: driver.Promote256B,
	}
}

func scaleMap(m *driver.TensorMap, v *backend.View, n int64) {
	*m = driver.TensorMap{Type: driver.TensorF32, Rank: 1, Address: Address(v), Dims: [5]uint64{uint64(max(n, 1))}, Box: [5]uint32{wgmmaTokens}}
}
