package cuda

import (
	"math"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// The variants of residual_maxsim_int8, which all give the same bits.
var (
	_ = residualInt8Naive("residual_maxsim_int8_f32")
	_ = residualInt8Naive("residual_maxsim_int8_f16")
	_ = residualInt8MMA("residual_maxsim_int8_f32", 4)
	_ = residualInt8MMA("residual_maxsim_int8_f16", 2)
)

const (
	tileThreads = 256
	tileBlocks  = 2       // that a multiprocessor holds
	tileGroup   = 8       // chunks of query tokens that a block multiplies at a time
	tileBest    = 33792   // bytes of shared memory for maxima
	tileStage   = 8 * 512 // for the fragments of 32 components in a stage of eight tiles
	tileRest    = 3200    // for their codes, inverse norms and descriptions
	tileLongest = 1 << 24 // tokens of a document
)

// residualInt8MMA binds the warp-product variant; bytes is the size of a centroid score.
func residualInt8MMA(instance string, bytes int64) bool {
	l := residualLimits{instance, "mma", 8, screenD, 2, []int{1}}
	var stages []Stage[kernels.ResidualMaxSimInt8Args]
	for i, f := range packedForms {
		steps := f.words * 4 / f.bits
		shared := int(tileBest + 2*tileStage*steps + tileRest)
		stages = append(stages, Stage[kernels.ResidualMaxSimInt8Args]{Name: f.name, Shared: shared,
			Geometry: func(a *kernels.ResidualMaxSimInt8Args, c *backend.Call, g *Geometry) {
				nq := c.Axes[3]
				tileGrid(g, nq, c.Axes[8], a.QueryOff.Max)
				g.Shared = uint32(shared)
				if nq == 1 && c.Axes[1] <= chunkRows {
					g.Shared = tileBest
				}
				g.Skip = g.Skip || i != packedFormOf(a.Bits, c.Axes[5])
			}})
	}
	return Bind(kernels.ResidualMaxSimInt8, backend.Binding{
		Kernel: instance, Variant: "mma", Requires: []string{"sm_80"}, Class: plaidClass, Tile: map[string]int64{"tq": chunkRows, "td": 16, "d": 32},
		Accept: func(c *backend.Call) error {
			a := c.Args.(*kernels.ResidualMaxSimInt8Args)
			switch stride := a.CentroidScore.RowStride() * bytes; {
			case stride > math.MaxInt32:
				return l.refuse("centroid scores %d bytes apart, at most %d", stride, math.MaxInt32)
			case c.Axes[1] > maxRagged || c.Axes[4] > math.MaxInt32:
				return l.refuse("%d query and %d document tokens, at most %d and %d", c.Axes[1], c.Axes[4], maxRagged, math.MaxInt32)
			case a.DocOff.Max > tileLongest:
				return l.refuse("a document of %d tokens, at most %d", a.DocOff.Max, tileLongest)
			}
			return l.acceptPacked(c, a.Bits, 5)
		},
		Note: "int8 products of buckets looked up in registers, once for queries that share documents; 2 or 4 bits, d up to 128",
	}, Launcher[kernels.ResidualMaxSimInt8Args]{Source: "residual_maxsim_int8_mma", Stages: stages, Spills: "addresses and what a block knows of its work"})
}

// tileGrid is a launch of nq queries of up to longest tokens at places each: rows of blocks have groups of queries. One row
// fills the device once; of more, each has all blocks if that leaves them enough to do, so that the rows that run at a time
// read the same centroid scores.
func tileGrid(g *Geometry, nq, places, longest int64) {
	blocks := tileBlocks * int64(g.Units)
	rows := CeilDiv(nq, max(tileGroup/max(CeilDiv(longest, chunkRows), 1), 1))
	x := blocks
	if rows > 1 {
		x = max(CeilDiv(2*blocks, rows), min(blocks, places/16))
	}
	g.Plane(min(places, x), rows, tileThreads)
}

func residualInt8Naive(instance string) bool {
	return Bind(kernels.ResidualMaxSimInt8, backend.Binding{
		Kernel: instance, Variant: "naive", Requires: []string{"sm_80"}, Class: plaidClass,
		Tile: map[string]int64{"td": residualThreads}, Note: "a block for a place and a query, a thread for a document token",
	}, Launcher[kernels.ResidualMaxSimInt8Args]{
		Source: "residual_maxsim_int8_naive",
		Stages: []Stage[kernels.ResidualMaxSimInt8Args]{{Geometry: func(_ *kernels.ResidualMaxSimInt8Args, c *backend.Call, g *Geometry) {
			g.Plane(c.Axes[8], c.Axes[3], residualThreads)
		}}},
	})
}

// screenShared is the shared memory of the scan's rings: four slots of packed words and inverse norms of two tokens for each
// thread, and two of their centroid scores, eight a token, bytes each.
func (f *packedForm) screenShared(bytes int) int {
	return residualThreads * (4*2*(4*int(f.words)+4) + 2*2*8*bytes)
}
