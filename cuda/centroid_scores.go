package cuda

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
)

// Sizes that plaid/centroid_scores.cuh shares.
const (
	cellsNarrowTokens = 64 // up to here tiles are narrow

	cellsWideShared    = 73728
	cellsNarrowShared  = 55296
	cellsSelectThreads = 256
	cellsSelectBlocks  = 1 << 16 // they stride over the tokens
)

// cellsGroups is the most groups of centroids, of which each token keeps the largest score: four to the smaller tile.
func cellsGroups(k int64) int64 { return 4 * CeilDiv(k, 64) }

// cellsOperands are the places of the operands that both forms have, which lie apart.
type cellsOperands struct{ score, half, cell, cellScore int }

func (o *cellsOperands) selects(c *backend.Call) bool {
	return c.Axes[3] > 0 && !(c.Operands[o.cell].Absent() && c.Operands[o.cellScore].Absent())
}

// workspace is a key for each token and group, and the scores where the caller has no place for them.
func (o *cellsOperands) workspace(c *backend.Call) int64 {
	tq, k := c.Axes[0], c.Axes[2]
	if !o.selects(c) {
		return 0
	}
	bytes := 4 * tq * cellsGroups(k)
	if c.Operands[o.score].Absent() {
		bytes += 4 * tq * k
	}
	return bytes
}

// tiles is the geometry of a scoring stage: a block for each tile of centroids and tokens.
func (o *cellsOperands) tiles(c *backend.Call, g *Geometry, narrow bool) {
	tq, k := c.Axes[0], c.Axes[2]
	if narrow {
		g.Plane(CeilDiv(k, 64), CeilDiv(tq, 32), 128)
		g.Shared = cellsNarrowShared
	} else {
		g.Plane(CeilDiv(k, 128), CeilDiv(tq, 128), 256)
		g.Shared = cellsWideShared
	}
	idle := c.Operands[o.score].Absent() && c.Operands[o.half].Absent() && !o.selects(c)
	g.Skip = g.Skip || idle || narrow != (tq <= cellsNarrowTokens)
}

// cellsTiled binds the tiled variant of one form.
func cellsTiled[A any](k *kernel.Kernel[A], o cellsOperands, class, note string) bool {
	return Bind(k, backend.Binding{
		Kernel: k.Name(), Variant: "tiled", Requires: []string{"sm_80"}, Class: class,
		Tile: map[string]int64{"tq": 128, "k": 128, "d": 32}, Note: note,
	}, Launcher[A]{
		Source: k.Name(), Workspace: o.workspace,
		Stages: []Stage[A]{
			{Name: "wide", Shared: cellsWideShared, Geometry: func(_ *A, c *backend.Call, g *Geometry) { o.tiles(c, g, false) }},
			{Name: "narrow", Shared: cellsNarrowShared, Geometry: func(_ *A, c *backend.Call, g *Geometry) { o.tiles(c, g, true) }},
			{Name: "select", Geometry: func(_ *A, c *backend.Call, g *Geometry) {
				g.Line(min(c.Axes[0], cellsSelectBlocks), cellsSelectThreads)
				g.Skip = g.Skip || !o.selects(c)
			}},
		},
	})
}

var _ = cellsTiled(kernels.CentroidScores, cellsOperands{score: 2, half: 3, cell: 4, cellScore: 5}, canonicalClass,
	"tiles in registers; cells from the groups whose largest score is among the first")
