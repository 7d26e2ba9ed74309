package cuda

import (
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
func residualInt8MMA(instance string, bytes int) bool {
	l := residualLimits{instance, "mma", 8, screenD, 2, []int{1}}
	shared := 2 * 2 * residualThreads * 8 * bytes // two slots of two tokens of eight scores for each thread
	var stages []Stage[kernels.ResidualMaxSimInt8Args]
	for i, f := range packedForms {
		stages = append(stages, Stage[kernels.ResidualMaxSimInt8Args]{Name: f.name, Shared: shared,
			Geometry: func(a *kernels.ResidualMaxSimInt8Args, c *backend.Call, g *Geometry) {
				g.Plane(residualBlocks(c.Axes[8], c.Axes[3], screenWaves*3*int64(g.Units)), c.Axes[3], residualThreads)
				g.Shared = uint32(shared)
				g.Skip = g.Skip || i != packedFormOf(a.Bits, c.Axes[5])
			}})
	}
	return Bind(kernels.ResidualMaxSimInt8, backend.Binding{
		Kernel: instance, Variant: "mma", Requires: []string{"sm_80"}, Class: plaidClass, Tile: map[string]int64{"tq": 32, "td": 16, "d": 32},
		Accept: func(c *backend.Call) error { return l.acceptPacked(c, int64(c.Attrs[0]), 5) },
		Note:   "int8 products of buckets looked up in registers; 2 or 4 bits, d up to 128",
	}, Launcher[kernels.ResidualMaxSimInt8Args]{Source: "residual_maxsim_int8_mma", Stages: stages, Spills: "a few address registers of 4-bit rows on sm_80"})
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
