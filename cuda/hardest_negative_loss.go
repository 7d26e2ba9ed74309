package cuda

import (
	"math"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// lossReduceThreads is the one block that adds the rows' losses.
const lossReduceThreads = 1024

var (
	_ = hardestLoss("hardest_negative_loss_f32")
	_ = hardestLoss("hardest_negative_loss_bf16")
	_ = hardestLoss("hardest_negative_loss_f16")

	_ = hardestBackward("hardest_negative_loss_backward_f32")
	_ = hardestBackward("hardest_negative_loss_backward_bf16")
	_ = hardestBackward("hardest_negative_loss_backward_f16")
)

// scoreRows shapes a launch in which tx threads share a row of scores, some eight each, and at least a warp does.
func (g *Geometry) scoreRows(rows, cols int64) {
	tx := int64(32)
	for tx < maxRowThreads && tx*8 < cols {
		tx *= 2
	}
	ty := max(rowThreads/tx, 1)
	g.Grid = [3]uint32{uint32(min(CeilDiv(rows, ty), math.MaxInt32)), 1, 1}
	g.Block = [3]uint32{uint32(tx), uint32(ty), 1}
	g.Skip = rows == 0
}

// hardestLoss binds both variants of an instance, the faster first.
func hardestLoss(instance string) bool {
	type args = kernels.HardestNegativeLossArgs
	reduce := Stage[args]{Name: "reduce", Geometry: func(a *args, _ *backend.Call, g *Geometry) {
		g.Line(1, lossReduceThreads)
		g.Skip = a.Reduction == kernels.ReduceNone
	}}
	workspace := func(c *backend.Call) int64 { return 4 * c.Axes[0] }
	fast := Bind(kernels.HardestNegativeLoss, backend.Binding{
		Kernel: instance, Variant: "rows", Requires: []string{"sm_80"}, Tile: map[string]int64{"cols": 256},
		Note: "a warp or more for a row, then one block for the reduction",
	}, Launcher[args]{
		Source: "hardest_negative_loss", Workspace: workspace,
		Stages: []Stage[args]{{Name: "rows", Geometry: func(a *args, _ *backend.Call, g *Geometry) {
			g.scoreRows(a.Score.Dims[0], a.Score.Dims[1])
		}}, reduce},
	})
	return fast && Bind(kernels.HardestNegativeLoss, backend.Binding{
		Kernel: instance, Variant: "naive", Requires: []string{"sm_80"}, Note: "a thread for a row, then one block for the reduction",
	}, Launcher[args]{
		Source: "hardest_negative_loss", Workspace: workspace,
		Stages: []Stage[args]{{Name: "rows", Geometry: func(a *args, _ *backend.Call, g *Geometry) {
			g.Line(CeilDiv(a.Score.Dims[0], rowThreads), rowThreads)
		}}, reduce},
	})
}

func hardestBackward(instance string) bool {
	type args = kernels.HardestNegativeLossBackwardArgs
	fast := Bind(kernels.HardestNegativeLossBackward, backend.Binding{
		Kernel: instance, Variant: "rows", Requires: []string{"sm_80"}, Tile: map[string]int64{"cols": 256}, Note: "a warp or more for a row",
	}, Launcher[args]{
		Source: "hardest_negative_loss_backward",
		Stages: []Stage[args]{{Geometry: func(a *args, _ *backend.Call, g *Geometry) {
			g.scoreRows(a.Score.Dims[0], a.Score.Dims[1])
		}}},
	})
	return fast && Bind(kernels.HardestNegativeLossBackward, backend.Binding{
		Kernel: instance, Variant: "naive", Requires: []string{"sm_80"}, Note: noteThread,
	}, Launcher[args]{
		Source: "hardest_negative_loss_backward",
		Stages: []Stage[args]{{Geometry: func(a *args, _ *backend.Call, g *Geometry) {
			g.Line(CeilDiv(a.Score.Dims[0], rowThreads), rowThreads)
		}}},
	})
}
