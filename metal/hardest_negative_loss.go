package metal

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// hardest_negative_loss and its backward: axes rows, cols, o.

const hardestMemory = 2 * rowMemory // floats and columns of the reductions

// hardestReduction is the index of the attribute Reduction: after Temperature and Offset.
const hardestReduction = 2

// hardestReduced reports whether rows are added up, in a second stage and through the scratch.
func hardestReduced(c *backend.Call) bool {
	return kernels.Reduction(c.Attrs[hardestReduction]) != kernels.ReduceNone
}

// hardestReduce sets the one threadgroup that adds the rows; no rows give 0, which it writes too.
func hardestReduce(c *backend.Call, g *Geometry, threads int) {
	g.Line(1, threads)
	g.Skip = !hardestReduced(c)
}

func hardestWorkspace(c *backend.Call) int64 {
	if !hardestReduced(c) {
		return 0
	}
	return c.Axes[0] * 4
}

func bindHardest(dtype string) bool {
	type args = kernels.HardestNegativeLossArgs
	return Bind(kernels.HardestNegativeLoss, backend.Binding{Kernel: "hardest_negative_loss_" + dtype, Variant: "simdgroup", Requires: []string{featureReduce},
		Tile: map[string]int64{"cols": rowShort}, Note: "a threadgroup a row"},
		Launcher[args]{Workspace: hardestWorkspace, Stages: []Stage[args]{
			{Name: "rows", Threads: rowManyThreads, Memory: hardestMemory, Geometry: func(_ *args, c *backend.Call, g *Geometry) { rowGroups(c.Axes[0], c.Axes[1], g) }},
			{Name: "reduce", Threads: rowManyThreads, Memory: rowMemory, Geometry: func(_ *args, c *backend.Call, g *Geometry) { hardestReduce(c, g, rowManyThreads) }},
		}}) &&
		Bind(kernels.HardestNegativeLoss, backend.Binding{Kernel: "hardest_negative_loss_" + dtype, Variant: "naive",
			Accept: acceptAxes("hardest_negative_loss_"+dtype, "naive", 0), Note: "a thread a row"},
			Launcher[args]{Workspace: hardestWorkspace, Stages: []Stage[args]{
				{Name: "rows", Threads: rowNaiveThreads, Geometry: func(_ *args, c *backend.Call, g *Geometry) { rowLine(c.Axes[0], g) }},
				{Name: "reduce", Threads: rowNaiveThreads, Geometry: func(_ *args, c *backend.Call, g *Geometry) { hardestReduce(c, g, rowNaiveThreads) }},
			}})
}

func bindHardestBackward(dtype string) bool {
	type args = kernels.HardestNegativeLossBackwardArgs
	return Bind(kernels.HardestNegativeLossBackward, backend.Binding{Kernel: "hardest_negative_loss_backward_" + dtype, Variant: "simdgroup",
		Requires: []string{featureReduce}, Tile: map[string]int64{"cols": rowShort}, Note: "a threadgroup a row"},
		Launcher[args]{Stages: []Stage[args]{{Threads: rowManyThreads, Memory: hardestMemory,
			Geometry: func(_ *args, c *backend.Call, g *Geometry) { rowGroups(c.Axes[0], c.Axes[1], g) }}}}) &&
		Bind(kernels.HardestNegativeLossBackward, backend.Binding{Kernel: "hardest_negative_loss_backward_" + dtype, Variant: "naive",
			Accept: acceptAxes("hardest_negative_loss_backward_"+dtype, "naive", 0), Note: "a thread a row"},
			Launcher[args]{Stages: []Stage[args]{{Threads: rowNaiveThreads,
				Geometry: func(_ *args, c *backend.Call, g *Geometry) { rowLine(c.Axes[0], g) }}}})
}

var (
	_ = bindHardest("f32")
	_ = bindHardest("bf16")
	_ = bindHardest("f16")

	_ = bindHardestBackward("f32")
	_ = bindHardestBackward("bf16")
	_ = bindHardestBackward("f16")
)
