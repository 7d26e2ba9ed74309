package metal

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

const takeThreads = 64

// take: axes b, n, k.
var _ = Bind(kernels.Take, backend.Binding{Kernel: "take", Variant: "naive", Class: "order", Note: "a thread a position"},
	Launcher[kernels.TakeArgs]{Stages: []Stage[kernels.TakeArgs]{{Threads: takeThreads,
		Geometry: func(_ *kernels.TakeArgs, c *backend.Call, g *Geometry) {
			g.Plane(CeilDiv(c.Axes[2], takeThreads), c.Axes[0], takeThreads)
		}}}})
