package cuda

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
)

// Sizes that plaid/centroid_scores.cuh shares.
const (
	cellsFewTokens     = 64    // up to here tiles are narrow,
	cellsManyCentroids = 24576 // or tall from here on

	cellsWideShared    = 73728
	cellsTallShared    = 46080
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

// cellsShape is a scoring stage: tiles of centroids by tokens, and which launches take it.
type cellsShape struct {
	name              string
	centroids, tokens int64
	threads, shared   int
	mine              func(tq, k int64) bool
}

var cellsShapes = [...]cellsShape{
	{"wide", 128, 128, 256, cellsWideShared, func(tq, _ int64) bool { return tq > cellsFewTokens }},
	{"tall", 128, 32, 128, cellsTallShared, func(tq, k int64) bool { return tq <= cellsFewTokens && k >= cellsManyCentroids }},
	{"narrow", 64, 32, 128, cellsNarrowShared, func(tq, k int64) bool { return tq <= cellsFewTokens && k < cellsManyCentroids }},
}

// geometry is a block for each tile of a shape.
func (s *cellsShape) geometry(o *cellsOperands, c *backend.Call, g *Geometry) {
	tq, k := c.Axes[0], c.Axes[2]
	g.Plane(CeilDiv(k, s.centroids), CeilDiv(tq, s.tokens), s.threads)
	g.Shared = uint32(s.shared)
	idle := c.Operands[o.score].Absent() && c.Operands[o.half].Absent() && !o.selects(c)
	g.Skip = g.Skip || idle || !s.mine(tq, k)
}

// cellsTiled binds the tiled variant of one form.
func cellsTiled[A any](k *kernel.Kernel[A], o cellsOperands, class, note string) bool {
	var stages []Stage[A]
	for i := range cellsShapes {
		s := &cellsShapes[i]
		stages = append(stages, Stage[A]{Name: s.name, Shared: s.shared, Early: true, Geometry: func(_ *A, c *backend.Call, g *Geometry) { s.geometry(&o, c, g) }})
	}
	stages = append(stages, Stage[A]{Name: "select", Early: true, Geometry: func(_ *A, c *backend.Call, g *Geometry) {
		g.Line(min(c.Axes[0], cellsSelectBlocks), cellsSelectThreads)
		g.Skip = g.Skip || !o.selects(c)
	}})
	return Bind(k, backend.Binding{
		Kernel: k.Name(), Variant: "tiled", Requires: []string{"sm_80"}, Class: class,
		Tile: map[string]int64{"tq": 128, "k": 128, "d": 32}, Note: note,
	}, Launcher[A]{Source: k.Name(), Workspace: o.workspace, Stages: stages})
}

var _ = cellsTiled(kernels.CentroidScores, cellsOperands{score: 2, half: 3, cell: 4, cellScore: 5}, canonicalClass,
	"tiles in registers; cells from the groups whose largest score is among the first")
