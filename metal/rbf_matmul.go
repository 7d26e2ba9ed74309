package metal

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// rbf_matmul: axes n, d, m, c.

// Sizes of src/pairwise/rbf_matmul.h.
const (
	rbfThreads = 32
	rbfRows    = 64
	rbfColumns = 32
	rbfDepth   = 16
	rbfSides   = 4
	rbfMemory  = 2560 // bytes
)

var _ = Bind(kernels.RBFMatmul, backend.Binding{Kernel: "rbf_matmul_f32", Variant: "tiled", Class: "ordered",
	Tile: map[string]int64{"n": rbfRows, "m": rbfColumns, "d": rbfDepth, "c": rbfSides}, Note: "64 rows by 4 right-hand sides, two-float sums"},
	Launcher[kernels.RBFMatmulArgs]{Stages: []Stage[kernels.RBFMatmulArgs]{{Threads: rbfRows, Memory: rbfMemory,
		Geometry: func(_ *kernels.RBFMatmulArgs, c *backend.Call, g *Geometry) {
			g.Plane(CeilDiv(c.Axes[0], rbfRows), CeilDiv(c.Axes[3], rbfSides), rbfRows)
		}}}})

var _ = Bind(kernels.RBFMatmul, backend.Binding{Kernel: "rbf_matmul_f32", Variant: "naive", Class: "ordered", Accept: acceptAxes("rbf_matmul_f32", "naive", 0),
	Note: "a thread an output, two-float sums"},
	Launcher[kernels.RBFMatmulArgs]{Stages: []Stage[kernels.RBFMatmulArgs]{{Threads: rbfThreads,
		Geometry: func(_ *kernels.RBFMatmulArgs, c *backend.Call, g *Geometry) {
			g.Plane(CeilDiv(c.Axes[0], rbfThreads), c.Axes[3], rbfThreads)
		}}}})

// The f64 instance is bound so that tables and errors give the reason; no device can have the feature.
var _ = Bind(kernels.RBFMatmul, backend.Binding{Kernel: "rbf_matmul_f64", Variant: "naive", Requires: []string{featureF64},
	Note: "never: MSL has no double type"}, Launcher[kernels.RBFMatmulArgs]{})
