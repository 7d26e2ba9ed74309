package cuda

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/cuda/driver"
)

// The variants of maxsim. The plain body and the f32 tiles add products in one ascending chain of fused
// multiply-adds; matrix units add them in their own order.
var (
	_ = maxsimNaive("maxsim_f32")
	_ = maxsimNaive("maxsim_bf16")

	_ = Bind(kernels.MaxSim, backend.Binding{
		Kernel: "maxsim_bf16", Variant: "mma", Requires: []string{"sm_80"}, Class: "mma",
		Tile: map[string]int64{"tq": 32, "td": 64, "d": 64}, Accept: maxsimMMA.accept,
		Note: "warp products, query rows in registers, documents streamed; d a multiple of 8",
	}, Launcher[kernels.MaxSimArgs]{Source: "maxsim_mma", Stages: mmaStages(maxsimRagged, &maxsimMMA), Spills: mmaSpills})

	_ = Bind(kernels.MaxSim, backend.Binding{
		Kernel: "maxsim_bf16", Variant: "wgmma", Requires: []string{"sm_90a"}, Class: "wgmma",
		Tile: map[string]int64{"tq": 64, "td": wgmmaTokens, "d": 64}, Accept: maxsimWGMMA.accept,
		Note: "warpgroup products of packed queries, documents streamed by the copy engine; d a multiple of 8 up to 1024",
	}, Launcher[kernels.MaxSimArgs]{
		Source: "maxsim_wgmma", Workspace: maxsimWGMMA.workspace,
		Stages: wgmmaStages(maxsimRagged, &maxsimWGMMA),
	})
)

var (
	maxsimMMA   = tileLimits{kernel: "maxsim_bf16", variant: "mma", bytes: 2, operands: []int{0, 2}, winner: 7}
	maxsimWGMMA = wgmmaLimits{
		tileLimits: tileLimits{kernel: "maxsim_bf16", variant: "wgmma", bytes: 2, operands: []int{0, 2}, winner: 7},
		element:    driver.TensorBF16, normalize: 0, pair: pairBytes,
	}
)

func maxsimRagged(a *kernels.MaxSimArgs) ragged {
	return ragged{&a.Query, &a.Doc, nil, &a.QueryOff, &a.DocOff}
}

func maxsimNaive(instance string) bool {
	return Bind(kernels.MaxSim, backend.Binding{
		Kernel: instance, Variant: "naive", Requires: []string{"sm_80"}, Class: "fma_chain",
		Tile: map[string]int64{"td": naiveThreads}, Note: "a block for a query and a document, a thread for a document token",
	}, Launcher[kernels.MaxSimArgs]{
		Source: "maxsim_naive", Spills: "a few address registers on sm_80, outside the inner loop",
		Stages: []Stage[kernels.MaxSimArgs]{{Geometry: func(_ *kernels.MaxSimArgs, c *backend.Call, g *Geometry) {
			naiveGeometry(c, g, c.Operands[7].Absent())
		}}},
	})
}
