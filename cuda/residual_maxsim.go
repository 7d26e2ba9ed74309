package cuda

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

const residualThreads = 128

// The variants of residual_maxsim. In f32 all have the bits that package canon defines.
var (
	_ = residualNaive("residual_maxsim_f32", plaidClass)
	_ = residualNaive("residual_maxsim_f16", "fma_chain")
)

func residualNaive(instance, class string) bool {
	return Bind(kernels.ResidualMaxSim, backend.Binding{
		Kernel: instance, Variant: "naive", Requires: []string{"sm_80"}, Class: class,
		Tile: map[string]int64{"td": residualThreads}, Note: "a block for a place and a query, a thread for a document token",
	}, Launcher[kernels.ResidualMaxSimArgs]{
		Source: "residual_maxsim_naive",
		Stages: []Stage[kernels.ResidualMaxSimArgs]{{Geometry: func(_ *kernels.ResidualMaxSimArgs, c *backend.Call, g *Geometry) {
			g.Plane(c.Axes[8], c.Axes[2], residualThreads)
		}}},
	})
}
