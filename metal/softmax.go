package metal

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// softmax and its backward: axes rows, n.

func bindSoftmax(dtype string) bool {
	return Bind(kernels.Softmax, backend.Binding{Kernel: "softmax_" + dtype, Variant: "simdgroup", Requires: []string{featureReduce},
		Tile: rowTiles, Note: "a threadgroup a row"},
		Launcher[kernels.SoftmaxArgs]{Stages: []Stage[kernels.SoftmaxArgs]{{Threads: rowManyThreads, Memory: rowMemory,
			Geometry: func(_ *kernels.SoftmaxArgs, c *backend.Call, g *Geometry) { rowGroups(c.Axes[0], c.Axes[1], g) }}}}) &&
		Bind(kernels.Softmax, backend.Binding{Kernel: "softmax_" + dtype, Variant: "naive", Accept: acceptAxes("softmax_"+dtype, "naive", 0), Note: "a thread a row"},
			Launcher[kernels.SoftmaxArgs]{Stages: []Stage[kernels.SoftmaxArgs]{{Threads: rowNaiveThreads,
				Geometry: func(_ *kernels.SoftmaxArgs, c *backend.Call, g *Geometry) { rowLine(c.Axes[0], g) }}}}) &&
		Bind(kernels.SoftmaxBackward, backend.Binding{Kernel: "softmax_backward_" + dtype, Variant: "simdgroup", Requires: []string{featureReduce},
			Tile: rowTiles, Note: "a threadgroup a row"},
			Launcher[kernels.SoftmaxBackwardArgs]{Stages: []Stage[kernels.SoftmaxBackwardArgs]{{Threads: rowManyThreads, Memory: rowMemory,
				Geometry: func(_ *kernels.SoftmaxBackwardArgs, c *backend.Call, g *Geometry) {
					rowGroups(c.Axes[0], c.Axes[1], g)
				}}}}) &&
		Bind(kernels.SoftmaxBackward, backend.Binding{Kernel: "softmax_backward_" + dtype, Variant: "naive", Accept: acceptAxes("softmax_backward_"+dtype, "naive", 0),
			Note: "a thread a row"},
			Launcher[kernels.SoftmaxBackwardArgs]{Stages: []Stage[kernels.SoftmaxBackwardArgs]{{Threads: rowNaiveThreads,
				Geometry: func(_ *kernels.SoftmaxBackwardArgs, c *backend.Call, g *Geometry) { rowLine(c.Axes[0], g) }}}})
}

var (
	_ = bindSoftmax("f32")
	_ = bindSoftmax("bf16")
	_ = bindSoftmax("f16")
)
