package metal

import (
	"fmt"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// topk: axes b, n, k.

const (
	topKThreads     = 32
	topKNaiveScores = 4096 // the naive variant compares every pair of a row: 1.7e7 comparisons at most

	radixThreads = 256
	radixLocal   = 2048   // RADIX_LOCAL in src/selection/topk_radix.h
	radixMemory  = 17_664 // bytes: as the header states, rounded up to 256
)

// radixWorkspace is a pair of words for each result of each row, a power of two of them, unless they fit the
// threadgroup's memory.
func radixWorkspace(c *backend.Call) int64 {
	size := int64(2)
	for size < c.Axes[2] {
		size *= 2
	}
	if size <= radixLocal {
		return 0
	}
	return c.Axes[0] * size * 8
}

var _ = Bind(kernels.TopK, backend.Binding{Kernel: "topk", Variant: "radix", Class: "order", Requires: []string{featureReduce},
	Tile: map[string]int64{"n": radixThreads, "k": radixLocal}, Note: "radix selection, bitonic sort; a threadgroup a row"},
	Launcher[kernels.TopKArgs]{Workspace: radixWorkspace, Stages: []Stage[kernels.TopKArgs]{{Threads: radixThreads, Width: 32, Memory: radixMemory,
		Geometry: func(_ *kernels.TopKArgs, c *backend.Call, g *Geometry) {
			g.Line(c.Axes[0], radixThreads)
			g.Skip = g.Skip || c.Axes[2] == 0
		}}}})

var _ = Bind(kernels.TopK, backend.Binding{Kernel: "topk", Variant: "naive", Class: "order", Note: "counts what ranks before each score",
	Accept: func(c *backend.Call) error {
		if c.Axes[1] > topKNaiveScores {
			return &backend.UnsupportedError{Backend: name, Kernel: "topk", Variant: "naive",
				Reason: fmt.Sprintf("rows of %d scores; it compares every pair and takes %d", c.Axes[1], topKNaiveScores)}
		}
		return nil
	}},
	Launcher[kernels.TopKArgs]{Stages: []Stage[kernels.TopKArgs]{{Threads: topKThreads,
		Geometry: func(_ *kernels.TopKArgs, c *backend.Call, g *Geometry) {
			g.Plane(CeilDiv(c.Axes[1], topKThreads), c.Axes[0], topKThreads)
			g.Skip = g.Skip || c.Axes[2] == 0
		}}}})
