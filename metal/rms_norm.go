package metal

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// rms_norm and its backward: axes rows, n.

// rmsRows is the rows of a partial sum of dw: DW_ROWS in src/rownorm/rms_norm_backward.h.
const rmsRows = 64

// rmsDW is the operand index of DW in the backward kernel.
const rmsDW = 5

func bindRMSNorm(types string) bool {
	return Bind(kernels.RMSNorm, backend.Binding{Kernel: "rms_norm_" + types, Variant: "simdgroup", Requires: []string{featureReduce},
		Tile: rowTiles, Note: "a threadgroup a row"},
		Launcher[kernels.RMSNormArgs]{Stages: []Stage[kernels.RMSNormArgs]{{Threads: rowManyThreads, Memory: rowMemory,
			Geometry: func(_ *kernels.RMSNormArgs, c *backend.Call, g *Geometry) { rowGroups(c.Axes[0], c.Axes[1], g) }}}}) &&
		Bind(kernels.RMSNorm, backend.Binding{Kernel: "rms_norm_" + types, Variant: "naive", Accept: acceptAxes("rms_norm_"+types, "naive", 0), Note: "a thread a row"},
			Launcher[kernels.RMSNormArgs]{Stages: []Stage[kernels.RMSNormArgs]{{Threads: rowNaiveThreads,
				Geometry: func(_ *kernels.RMSNormArgs, c *backend.Call, g *Geometry) { rowLine(c.Axes[0], g) }}}})
}

// rmsColumns gives each column a thread, and each block of rows a line of them; without DW there is nothing to do.
func rmsColumns(c *backend.Call, blocks int64, g *Geometry) {
	g.Plane(CeilDiv(c.Axes[1], rowNaiveThreads), blocks, rowNaiveThreads)
	g.Skip = g.Skip || c.Operands[rmsDW].Absent()
}

func bindRMSNormBackward(types string) bool {
	type args = kernels.RMSNormBackwardArgs
	dw := Stage[args]{Name: "dw", Threads: rowNaiveThreads, Geometry: func(_ *args, c *backend.Call, g *Geometry) { rmsColumns(c, 1, g) }}
	return Bind(kernels.RMSNormBackward, backend.Binding{Kernel: "rms_norm_backward_" + types, Variant: "simdgroup", Requires: []string{featureReduce},
		Accept: acceptAxes("rms_norm_backward_"+types, "simdgroup", 1),
		Tile:   map[string]int64{"n": rowShort, "rows": rmsRows}, Note: "a threadgroup a row; dw from blocks of 64 rows"},
		Launcher[args]{
			Workspace: func(c *backend.Call) int64 {
				if c.Operands[rmsDW].Absent() {
					return 0
				}
				return CeilDiv(c.Axes[0], rmsRows) * c.Axes[1] * 4
			},
			Stages: []Stage[args]{
				{Name: "partial", Threads: rowNaiveThreads, Geometry: func(_ *args, c *backend.Call, g *Geometry) { rmsColumns(c, CeilDiv(c.Axes[0], rmsRows), g) }},
				dw,
				{Name: "rows", Threads: rowManyThreads, Memory: rowMemory, Geometry: func(_ *args, c *backend.Call, g *Geometry) { rowGroups(c.Axes[0], c.Axes[1], g) }},
			}}) &&
		Bind(kernels.RMSNormBackward, backend.Binding{Kernel: "rms_norm_backward_" + types, Variant: "naive",
			Accept: acceptAxes("rms_norm_backward_"+types, "naive", 0, 1), Note: "a thread a row; dw by columns"},
			Launcher[args]{Stages: []Stage[args]{dw,
				{Name: "rows", Threads: rowNaiveThreads, Geometry: func(_ *args, c *backend.Call, g *Geometry) { rowLine(c.Axes[0], g) }}}})
}

var (
	_ = bindRMSNorm("f32")
	_ = bindRMSNorm("bf16")
	_ = bindRMSNorm("f16")
	_ = bindRMSNorm("bf16_f32")
	_ = bindRMSNorm("f16_f32")

	_ = bindRMSNormBackward("f32")
	_ = bindRMSNormBackward("bf16")
	_ = bindRMSNormBackward("f16")
	_ = bindRMSNormBackward("bf16_f32")
	_ = bindRMSNormBackward("f16_f32")
)
