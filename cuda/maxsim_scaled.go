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
			naiveGeometry(c, g, c.Operands[9].Absent())
		}}},
	})

	_ = Bind(kernels.MaxSimScaled, backend.Binding{
		Kernel: "maxsim_scaled_f8e4m3", Variant: "mma", Requires: []string{"fp8"}, Class: "mma",
		Tile: map[string]int64{"tq": 32, "td": 64, "d": 128}, Accept: scaledMMA.accept,
		Note: "warp products, query rows in registers, documents streamed; emulated by f16 products on sm_90; d a multiple of 16",
	}, Launcher[kernels.MaxSimScaledArgs]{Source: "maxsim_scaled_mma", Stages: mmaStages(scaledRagged, &scaledMMA), Spills: mmaSpills})

	_ = Bind(kernels.MaxSimScaled, backend.Binding{
		Kernel: "maxsim_scaled_f8e4m3", Variant: "wgmma", Requires: []string{"sm_90a", "fp8"}, Class: "wgmma",
		Tile: map[string]int64{"tq": 64, "td": wgmmaTokens, "d": 128}, Accept: scaledWGMMA.accept,
		Note: "warpgroup products of packed queries, sums in the tensor cores' precision; d a multiple of 16 up to 2048",
	}, Launcher[kernels.MaxSimScaledArgs]{
		Source: "maxsim_scaled_wgmma", Workspace: scaledWGMMA.workspace,
		Spills: "the feeder of the 256-row stages, which gives its registers to the consumers: a few words a segment",
		Stages: wgmmaStages(scaledRagged, &scaledWGMMA),
	})
)

var (
	scaledMMA = tileLimits{kernel: "maxsim_scaled_f8e4m3", variant: "mma", bytes: 1, operands: []int{0, 3}, winner: 9, scaled: true}

	scaledWGMMA = wgmmaLimits{
		tileLimits: tileLimits{kernel: "maxsim_scaled_f8e4m3", variant: "wgmma", bytes: 1, operands: []int{0, 3, 4}, winner: 9, scaled: true},
		element:    driver.TensorU8, normalize: -1, pair: pairBytes,
	}
)

func scaledRagged(a *kernels.MaxSimScaledArgs) ragged {
	return ragged{&a.Query, &a.Doc, &a.DocScale, &a.QueryOff, &a.DocOff}
}
