package cuda

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/cuda/driver"
)

// The variants of maxsim_scaled.
var (
	_ = Bind(kernels.MaxSimScaled, backend.Binding{
		Kernel: "maxsim_scaled_f8e4m3", Variant: "naive", Requires: []string{"fp8"}, Class: "fma_chain",
		Tile: map[string]int64{"td": naiveThreads}, Note: "a block for a query and a document, a thread for a document token",
	}, Launcher[kernels.MaxSimScaledArgs]{
		Source: "maxsim_scaled_naive",
		Stages: []Stage[kernels.MaxSimScaledArgs]{{Geometry: func(_ *kernels.MaxSimScaledArgs, c *backend.Call, g *Geometry) {
			g.Plane(c.Axes[axisND], c.Axes[axisNQ], naiveThreads)
		}}},
	})

	_ = Bind(kernels.MaxSimScaled, backend.Binding{
		Kernel: "maxsim_scaled_f8e4m3", Variant: "wgmma", Requires: []string{"sm_90a", "fp8"}, Class: "wgmma",
		Tile: map[string]int64{"tq": 64, "td": wgmmaTokens, "d": 128}, Accept: scaledWGMMA.accept,
		Note: "warpgroup products of packed queries, sums in the tensor cores' precision; d a multiple of 16 up to 2048",
	}, Launcher[kernels.MaxSimScaledArgs]{
		Source: "maxsim_scaled_wgmma", Workspace: scaledWGMMA.workspace,
		Spills: "the feeder of the 256-row stages, which gives its registers to the consumers: a few words a segment",
		Stages: wgmmaStages(func(a *kernels.MaxSimScaledArgs) ragged {
			return ragged{&a.Query, &a.Doc, &a.DocScale, &a.QueryOff, &a.DocOff}
		}, &scaledWGMMA),
	})
)

var scaledWGMMA = wgmmaLimits{
	kernel: "maxsim_scaled_f8e4m3", bytes: 1, element: driver.TensorU8, query: 0, doc: 3, scale: 4, winner: 9, normalize: -1,
}
