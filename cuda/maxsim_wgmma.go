package cuda

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/cuda/driver"
)

// Sizes that src/lateinteraction shares.
const (
	wgmmaTokens = 128
	wgmmaShared = 13*16<<10 + 1024 // slots and their alignment
	wgmmaSpan   = 128              // bytes of K in a slot
	joinThreads = 128

	// splitBlocks and splitGroups bound the pieces of a launch that cuts documents between blocks.
	splitBlocks, splitGroups = 160, 64

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

// workspace is for the partial maxima of a split launch: two tiles of rows a piece, whatever the sizes.
func (l *wgmmaLimits) workspace(*backend.Call) int64 {
	return (splitBlocks + splitGroups) * 2 * 256 * 4
}

// wgmmaPlan is the tile that a launch uses. It changes no bits.
type wgmmaPlan struct {
	rows   int64 // query rows of a block
	split  bool  // documents are cut between blocks and joined by a second stage
	blocks int64
}

func (l *wgmmaLimits) plan(r *ragged, c *backend.Call, units int) wgmmaPlan {
	p := wgmmaPlan{rows: 256, blocks: int64(units)}
	// Query rows stay in shared memory: 128 KiB hold 256 rows of 512 bytes, 64 of 2048.
	spans := CeilDiv(c.Axes[axisD]*l.bytes, wgmmaSpan)
	switch rows := r.queryOff.Total; {
	case rows <= 64 || spans > 8:
		p.rows = 64
	case rows <= 128 || spans > 4:
		p.rows = 128
	}
	nd, most := c.Axes[axisND], r.docOff.Max
	if nd == 0 || units == 0 {
		return p
	}
	tile := p.rows
	if tile == 128 { // has no split form
		tile = 256
		if spans > 4 {
			tile = 64
		}
	}
	groups := CeilDiv(r.queryOff.Total, tile)
	if r.queryOff.Max > tile || groups > splitGroups {
		return p
	}
	// Whole documents take the longest share of a block; cut ones share evenly.
	pairs, n := groups*nd, min(int64(units), splitBlocks)
	if whole, even := CeilDiv(pairs, n)*most, CeilDiv(groups*r.docOff.Total, n); whole-even > joinTokens {
		p.rows, p.split, p.blocks = tile, true, n
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
			g.Shared = wgmmaShared
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
