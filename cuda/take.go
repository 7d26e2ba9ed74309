package cuda

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

const takeThreads = 256

var _ = Bind(kernels.Take, backend.Binding{
	Kernel: "take", Variant: "naive", Requires: []string{"sm_80"}, Class: "order", Note: "a thread a position",
}, Launcher[kernels.TakeArgs]{
	Source: "take",
	Stages: []Stage[kernels.TakeArgs]{{Geometry: func(a *kernels.TakeArgs, _ *backend.Call, g *Geometry) {
		g.Line(min(CeilDiv(a.Index.Elements(), takeThreads), int64(16*g.Units)), takeThreads)
	}}},
})
