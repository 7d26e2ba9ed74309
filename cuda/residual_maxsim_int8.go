package cuda

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// The variants of residual_maxsim_int8, which all give the same bits.
var (
	_ = residualInt8Naive("residual_maxsim_int8_f32")
	_ = residualInt8Naive("residual_maxsim_int8_f16")
)

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
