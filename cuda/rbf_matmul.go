package cuda

import (
	"fmt"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

const (
	rbfRows        = 64 // of a block
	rbfThreads     = 128
	rbfMaxColumns  = 64   // of V in a pass
	rbfBlocks      = 1056 // worth starting: eight for each multiprocessor of an H200, since few large ones leave an uneven last wave
	rbfSplitTiles  = 4    // least tiles of columns in a split
	rbfHeaderBytes = 256
	rbfLineThreads = 256
	rbfLineBlocks  = 1 << 16 // of kernels that stride over the elements of O
)

var (
	_ = rbfTiled("rbf_matmul_f32", 64)
	_ = rbfTiled("rbf_matmul_f64", 32)
	_ = rbfNaive("rbf_matmul_f32")
	_ = rbfNaive("rbf_matmul_f64")
)

// rbfColumns is how many columns of V a pass takes: the smallest of the compiled widths that holds c, or the largest.
func rbfColumns(c int64) int64 {
	for _, p := range [...]int64{1, 4, 16} {
		if c <= p {
			return p
		}
	}
	return rbfMaxColumns
}

// rbfSplits cuts the columns over several blocks where the rows alone do not fill the device. It depends on the axes, not on
// the device: the bits must not.
func rbfSplits(n, m, c, tile int64) int64 {
	blocks := CeilDiv(n, rbfRows) * CeilDiv(c, rbfColumns(c))
	tiles := CeilDiv(m, tile)
	splits := max(min(rbfBlocks/max(blocks, 1), tiles/rbfSplitTiles), 1)
	return max(CeilDiv(tiles, max(CeilDiv(tiles, splits), 1)), 1) // none is empty
}

func rbfTiled(instance string, tile int64) bool {
	type args = kernels.RBFMatmulArgs
	var stages []Stage[args]
	for _, p := range [...]int64{1, 4, 16, rbfMaxColumns} {
		stages = append(stages, Stage[args]{Name: fmt.Sprintf("c%d", p), Geometry: func(a *args, _ *backend.Call, g *Geometry) {
			n, m, c := a.X.Dims[0], a.Y.Dims[0], a.V.Dims[1]
			g.Plane(CeilDiv(n, rbfRows), rbfSplits(n, m, c, tile), rbfThreads)
			g.Grid[2] = uint32(CeilDiv(c, p))
			g.Skip = g.Skip || c == 0 || rbfColumns(c) != p
		}})
	}
	stages = append(stages, Stage[args]{Name: "sum", Geometry: func(a *args, _ *backend.Call, g *Geometry) {
		n, m, c := a.X.Dims[0], a.Y.Dims[0], a.V.Dims[1]
		g.Line(min(CeilDiv(n*c, rbfLineThreads), rbfLineBlocks), rbfLineThreads)
		g.Skip = g.Skip || rbfSplits(n, m, c, tile) <= 1
	}})
	return Bind(kernels.RBFMatmul, backend.Binding{
		Kernel: instance, Variant: "tiled", Requires: []string{"sm_80"},
		Tile:   map[string]int64{"n": rbfRows, "m": tile, "d": 16, "c": 16},
		Accept: rbfAccept, Note: "64 rows a block, columns streamed through shared memory, split over blocks where rows are few",
	}, Launcher[args]{
		Source: "rbf_matmul", Stages: stages,
		// At most rbfBlocks blocks of rbfRows by rbfMaxColumns leave partials; fewer elements leave one for each split.
		Workspace: func(call *backend.Call) int64 {
			n, m, c := call.Axes[0], call.Axes[2], call.Axes[3]
			splits := max(CeilDiv(m, tile)/rbfSplitTiles, 1)
			if splits == 1 {
				return 0
			}
			return rbfHeaderBytes + 8*min(n*c*splits, rbfBlocks*rbfRows*min(c, rbfMaxColumns))
		},
	})
}

// rbfAccept keeps the passes within a grid.
func rbfAccept(call *backend.Call) error {
	if c := call.Axes[3]; c > 65535*rbfMaxColumns {
		return &backend.UnsupportedError{Backend: name, Kernel: "rbf_matmul", Variant: "tiled", Reason: fmt.Sprintf("c is %d, at most %d", c, 65535*rbfMaxColumns)}
	}
	return nil
}

func rbfNaive(instance string) bool {
	return Bind(kernels.RBFMatmul, backend.Binding{
		Kernel: instance, Variant: "naive", Requires: []string{"sm_80"}, Note: "a thread for an element of the result",
	}, Launcher[kernels.RBFMatmulArgs]{
		Source: "rbf_matmul",
		Stages: []Stage[kernels.RBFMatmulArgs]{{Geometry: func(a *kernels.RBFMatmulArgs, _ *backend.Call, g *Geometry) {
			g.Line(min(CeilDiv(a.X.Dims[0]*a.V.Dims[1], rbfLineThreads), rbfLineBlocks), rbfLineThreads)
		}}},
	})
}
