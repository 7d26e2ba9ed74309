package cuda

import (
	"math"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// Row kernels cut a row into packs of packBytes, one load of a thread.
const (
	packBytes      = 16
	rowThreads     = 128  // of a block whose rows are short
	maxRowThreads  = 1024 // of a block, and so of a row
	coalescedPacks = 8    // packs of a row side by side that fill a 128-byte line
)

// rowTile is the longest row that threads of a block hold in registers, each packs of its packs.
func rowTile(elementBytes, packs int64) int64 {
	return maxRowThreads * packs * packBytes / elementBytes
}

// rowGroups shapes a launch in which tx threads, a power of two, share a row and hold up to packs packs of it each; ty rows
// stand side by side in a block. Longer rows skip it.
func (g *Geometry) rowGroups(rows, n, elementBytes, packs int64) {
	total := max(CeilDiv(n*elementBytes, packBytes), 1)
	tx := int64(1)
	for tx < total && tx < coalescedPacks || tx*packs < total {
		tx *= 2
	}
	ty := max(rowThreads/tx, 1)
	g.Grid = [3]uint32{uint32(min(CeilDiv(rows, ty), math.MaxInt32)), 1, 1}
	g.Block = [3]uint32{uint32(tx), uint32(ty), 1}
	g.Skip = rows == 0 || n > rowTile(elementBytes, packs)
}

// longRows shapes a launch of a block for each row that rowGroups leaves out.
func (g *Geometry) longRows(rows, n, elementBytes, packs int64) {
	g.Line(rows, maxRowThreads)
	g.Skip = g.Skip || n <= rowTile(elementBytes, packs)
}

// Packs per thread and operand that the kernels of rowmap and rownorm are compiled for.
const (
	softmaxPacks         = 4
	softmaxBackwardPacks = 2
)

var (
	_ = softmaxCached("softmax_f32", 4)
	_ = softmaxCached("softmax_bf16", 2)
	_ = softmaxCached("softmax_f16", 2)
	_ = softmaxNaive("softmax_f32")
	_ = softmaxNaive("softmax_bf16")
	_ = softmaxNaive("softmax_f16")

	_ = softmaxBackwardCached("softmax_backward_f32", 4)
	_ = softmaxBackwardCached("softmax_backward_bf16", 2)
	_ = softmaxBackwardCached("softmax_backward_f16", 2)
	_ = softmaxBackwardNaive("softmax_backward_f32")
	_ = softmaxBackwardNaive("softmax_backward_bf16")
	_ = softmaxBackwardNaive("softmax_backward_f16")
)

// Notes of the variants of row kernels, for the support table.
const (
	noteThread = "a thread for a row"
	noteCached = "a row read once into registers, by as many threads as it needs; rows beyond the registers of 1024 threads are read twice"
)

func softmaxCached(instance string, bytes int64) bool {
	return Bind(kernels.Softmax, backend.Binding{
		Kernel: instance, Variant: "cached", Requires: []string{"sm_80"},
		Tile: map[string]int64{"n": rowTile(bytes, softmaxPacks)}, Note: noteCached,
	}, Launcher[kernels.SoftmaxArgs]{
		Source: "softmax",
		Stages: []Stage[kernels.SoftmaxArgs]{
			{Name: "row", Geometry: func(a *kernels.SoftmaxArgs, _ *backend.Call, g *Geometry) {
				g.rowGroups(a.X.Dims[0], a.X.Dims[1], bytes, softmaxPacks)
				g.Skip = g.Skip || a.X.Dims[1] == 0
			}},
			{Name: "wide", Geometry: func(a *kernels.SoftmaxArgs, _ *backend.Call, g *Geometry) {
				g.longRows(a.X.Dims[0], a.X.Dims[1], bytes, softmaxPacks)
			}},
		},
	})
}

func softmaxNaive(instance string) bool {
	return Bind(kernels.Softmax, backend.Binding{
		Kernel: instance, Variant: "naive", Requires: []string{"sm_80"}, Note: noteThread,
	}, Launcher[kernels.SoftmaxArgs]{
		Source: "softmax",
		Stages: []Stage[kernels.SoftmaxArgs]{{Geometry: func(a *kernels.SoftmaxArgs, _ *backend.Call, g *Geometry) {
			g.Line(CeilDiv(a.X.Dims[0], rowThreads), rowThreads)
		}}},
	})
}

func softmaxBackwardCached(instance string, bytes int64) bool {
	return Bind(kernels.SoftmaxBackward, backend.Binding{
		Kernel: instance, Variant: "cached", Requires: []string{"sm_80"},
		Tile: map[string]int64{"n": rowTile(bytes, softmaxBackwardPacks)}, Note: noteCached,
	}, Launcher[kernels.SoftmaxBackwardArgs]{
		Source: "softmax_backward",
		Stages: []Stage[kernels.SoftmaxBackwardArgs]{
			{Name: "row", Geometry: func(a *kernels.SoftmaxBackwardArgs, _ *backend.Call, g *Geometry) {
				g.rowGroups(a.Y.Dims[0], a.Y.Dims[1], bytes, softmaxBackwardPacks)
				g.Skip = g.Skip || a.Y.Dims[1] == 0
			}},
			{Name: "wide", Geometry: func(a *kernels.SoftmaxBackwardArgs, _ *backend.Call, g *Geometry) {
				g.longRows(a.Y.Dims[0], a.Y.Dims[1], bytes, softmaxBackwardPacks)
			}},
		},
	})
}

func softmaxBackwardNaive(instance string) bool {
	return Bind(kernels.SoftmaxBackward, backend.Binding{
		Kernel: instance, Variant: "naive", Requires: []string{"sm_80"}, Note: noteThread,
	}, Launcher[kernels.SoftmaxBackwardArgs]{
		Source: "softmax_backward",
		Stages: []Stage[kernels.SoftmaxBackwardArgs]{{Geometry: func(a *kernels.SoftmaxBackwardArgs, _ *backend.Call, g *Geometry) {
			g.Line(CeilDiv(a.Y.Dims[0], rowThreads), rowThreads)
		}}},
	})
}
