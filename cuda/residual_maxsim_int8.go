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

// residualInt8MMA binds the warp-product variant; bytes is the size of a centroid score.
func residualInt8MMA(instance string, bytes int64) bool {
	l := residualLimits{instance, "mma", 8, screenD, 2, []int{1}}
	var stages []Stage[kernels.ResidualMaxSimInt8Args]
	for i, f := range packedForms {
		ring := bytes == 2 && f.bits == 2 && f.words == ringWords
		add := func(name string, shared int64, skip func(c *backend.Call) bool) {
			stages = append(stages, Stage[kernels.ResidualMaxSimInt8Args]{Name: name, Shared: int(shared), Early: true,
				Geometry: func(a *kernels.ResidualMaxSimInt8Args, c *backend.Call, g *Geometry) {
					int8Tiles.grid(g, c.Axes[3], c.Axes[8], c.Axes[6], a.QueryOff.Max)
					g.Shared = uint32(shared)
					g.Skip = g.Skip || i != packedFormOf(a.Bits, c.Axes[5]) || skip(c)
				}})
		}
		single := func(c *backend.Call) bool { return c.Axes[3] <= 1 && c.Axes[1] <= chunkRows }
		whole := func(c *backend.Call) bool {
			return ring && single(c) && c.Axes[5] == 16*ringWords && c.Axes[8] >= ringPlaces
		}
		add(f.name, int8Tiles.shared(0, false), whole)
		add(f.name+"_shared", int8Tiles.shared(4*f.words/f.bits, true), single)
		if ring {
			add(f.name+"_whole", int8Tiles.ring(), func(c *backend.Call) bool { return !whole(c) })
		}
	}
	return Bind(kernels.ResidualMaxSimInt8, backend.Binding{
		Kernel: instance, Variant: "mma", Requires: []string{"sm_80"}, Class: plaidClass, Tile: map[string]int64{"tq": chunkRows, "td": 16, "d": 32},
		Accept: func(c *backend.Call) error {
			a := c.Args.(*kernels.ResidualMaxSimInt8Args)
			if stride := a.CentroidScore.RowStride() * bytes; stride > math.MaxInt32 {
				return l.refuse("centroid scores %d bytes apart, at most %d", stride, math.MaxInt32)
			}
			if err := l.acceptTiles(c.Axes[1], c.Axes[4], a.DocOff.Max); err != nil {
				return err
			}
			return l.acceptPacked(c, a.Bits, 5)
		},
		Note: "int8 products of buckets looked up in registers, once for queries that share documents; 2 or 4 bits, d up to 128",
	}, Launcher[kernels.ResidualMaxSimInt8Args]{Source: "residual_maxsim_int8_mma", Stages: stages, Spills: "addresses and what a block knows of its work"})
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
