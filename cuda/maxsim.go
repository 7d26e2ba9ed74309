package cuda

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/cuda/driver"
)

// The variants of maxsim. The plain body and the f32 tiles add products in one ascending chain of fused
// multiply-adds; matrix units add them in their own order.
var (
	_ = maxsimNaive("maxsim_f32", "fma_chain")
	_ = maxsimNaive("maxsim_bf16", "fma_chain")

	_ = Bind(kernels.MaxSim, backend.Binding{
		Kernel: "maxsim_bf16", Variant: "wgmma", Requires: []string{"sm_90a"}, Class: "wgmma",
		Tile: map[string]int64{"tq": 64, "td": wgmmaTokens, "d": 64}, Accept: maxsimWGMMA.accept,
		Note: "warpgroup products of packed queries, documents streamed by the copy engine; d a multiple of 8 up to 1024",
	}, Launcher[kernels.MaxSimArgs]{
		Source: "maxsim_wgmma", Workspace: maxsimWGMMA.workspace,
		Stages: wgmmaStages(func(a *kernels.MaxSimArgs) ragged {
			return ragged{&a.Query, &a.Doc, nil, &a.QueryOff, &a.DocOff}
		}, &maxsimWGMMA),
	})
)

var maxsimWGMMA = wgmmaLimits{
	kernel: "maxsim_bf16", bytes: 2, element: driver.TensorBF16, query: 0, doc: 2, winner: 7, normalize: 0,
}

func maxsimNaive(instance, class string) bool {
	return Bind(kernels.MaxSim, backend.Binding{
		Kernel: instance, Variant: "naive", Requires: []string{"sm_80"}, Class: class,
		Tile: map[string]int64{"td": naiveThreads}, Note: "a block for a query and a document, a thread for a document token",
	}, Launcher[kernels.MaxSimArgs]{
		Source: "maxsim_naive", Spills: "a few address registers on sm_80, outside the inner loop",
		Stages: []Stage[kernels.MaxSimArgs]{{Geometry: func(_ *kernels.MaxSimArgs, c *backend.Call, g *Geometry) {
			g.Plane(c.Axes[axisND], c.Axes[axisNQ], naiveThreads)
		}}},
	})
}
