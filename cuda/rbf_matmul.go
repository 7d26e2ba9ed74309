package cuda

import (
	"fmt"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

const (
	rbfRows        = 64 // of a block of the general stages
	rbfThreads     = 128
	rbfMaxColumns  = 64   // of V in a pass
	rbfBlocks      = 1056 // worth starting: eight for each multiprocessor of an H200, since few large ones leave an uneven last wave
	rbfSplitTiles  = 4    // least tiles of columns in a split
	rbfManyRows    = 1024 // from here on a thread of the stages for points has several rows
	rbfPointTile   = 64   // columns
	rbfPointBlocks = 528  // worth starting: one wave of four for each multiprocessor
	rbfPointTiles  = 2    // least tiles in a split
	rbfHeaderBytes = 256
	rbfLineThreads = 256
	rbfLineBlocks  = 1 << 16 // of kernels that stride over the elements of O
)

var (
	_ = rbfTiled("rbf_matmul_f32", 4)
	_ = rbfTiled("rbf_matmul_f64", 8)
	_ = rbfNaive("rbf_matmul_f32")
	_ = rbfNaive("rbf_matmul_f64")
)

// Widths that stages are compiled for: components of points with one column of V, and columns of V in a pass.
var (
	rbfPointWidths  = [...]int64{1, 2, 3, 4, 6, 8}
	rbfColumnWidths = [...]int64{1, 4, 16, rbfMaxColumns}
)

// atLeast is the first width that holds n, or the last one.
func atLeast(widths []int64, n int64) int64 {
	for _, w := range widths {
		if n <= w {
			return w
		}
	}
	return widths[len(widths)-1]
}

// rbfPlan is how a launch is cut. It depends on the axes and the dtype, not on the device: the bits must not.
type rbfPlan struct {
	points bool  // one column of V and few components: rows stay in registers
	width  int64 // of the stage, see above
	perRow int64 // points: rows of a thread
	rows   int64 // of a block
	passes int64 // over the columns of V
	splits int64 // of the columns
}

func rbfPlanOf(n, d, m, c, bytes int64) rbfPlan {
	p := rbfPlan{passes: 1}
	tile, least, most := rbfTileColumns(bytes), int64(rbfSplitTiles), int64(rbfBlocks)
	if last := rbfPointWidths[len(rbfPointWidths)-1]; c == 1 && d > 0 && d <= last {
		p.points, p.width = true, atLeast(rbfPointWidths[:], d)
		p.perRow = rbfRowsPerThread(p.width, bytes)
		if n < rbfManyRows {
			p.perRow = 1
		}
		p.rows = rbfThreads * p.perRow
		tile, least, most = rbfPointTile, rbfPointTiles, rbfPointBlocks
	} else {
		p.width, p.rows = atLeast(rbfColumnWidths[:], c), rbfRows
		p.passes = CeilDiv(c, p.width)
	}
	tiles := CeilDiv(m, tile)
	splits := max(min(most/max(CeilDiv(n, p.rows)*p.passes, 1), tiles/least), 1)
	p.splits = max(CeilDiv(tiles, max(CeilDiv(tiles, splits), 1)), 1) // none is empty
	return p
}

// rbfTileColumns is the width of a tile of the general stages.
func rbfTileColumns(bytes int64) int64 { return 256 / bytes }

// rbfRowsPerThread is what the registers hold of points of a width.
func rbfRowsPerThread(width, bytes int64) int64 {
	if bytes == 8 || width > 4 {
		return 4
	}
	return 8
}

func rbfPlanOfArgs(a *kernels.RBFMatmulArgs, bytes int64) rbfPlan {
	return rbfPlanOf(a.X.Dims[0], a.X.Dims[1], a.Y.Dims[0], a.V.Dims[1], bytes)
}

// rbfWorkspace bounds the partials from above by terms that grow with every axis: there are as many as splits, which at
// least 128 columns each make worth while, and no more than the blocks worth starting write.
func rbfWorkspace(call *backend.Call) int64 {
	n, m, c := call.Axes[0], call.Axes[2], call.Axes[3]
	splits := CeilDiv(m, rbfPointTile) / rbfPointTiles
	if splits <= 1 {
		return 0
	}
	return rbfHeaderBytes + 8*min(n*c*splits, max(rbfPointBlocks*rbfThreads*8, rbfBlocks*rbfRows*min(c, rbfMaxColumns)))
}

// rbfStages are all stages of the tiled variant; a launch runs one of them, and the sum if the columns are split.
func rbfStages(bytes int64) []Stage[kernels.RBFMatmulArgs] {
	type args = kernels.RBFMatmulArgs
	var stages []Stage[args]
	add := func(name string, mine func(p *rbfPlan) bool) {
		stages = append(stages, Stage[args]{Name: name, Geometry: func(a *args, _ *backend.Call, g *Geometry) {
			p := rbfPlanOfArgs(a, bytes)
			g.Plane(CeilDiv(a.X.Dims[0], p.rows), p.splits, rbfThreads)
			g.Grid[2] = uint32(p.passes)
			g.Skip = g.Skip || a.V.Dims[1] == 0 || !mine(&p)
		}})
	}
	for _, w := range rbfPointWidths {
		for _, r := range [...]int64{1, rbfRowsPerThread(w, bytes)} {
			add(fmt.Sprintf("d%dr%d", w, r), func(p *rbfPlan) bool { return p.points && p.width == w && p.perRow == r })
		}
	}
	for _, w := range rbfColumnWidths {
		add(fmt.Sprintf("c%d", w), func(p *rbfPlan) bool { return !p.points && p.width == w })
	}
	return append(stages, Stage[args]{Name: "sum", Geometry: func(a *args, _ *backend.Call, g *Geometry) {
		p := rbfPlanOfArgs(a, bytes)
		g.Line(min(CeilDiv(a.X.Dims[0]*a.V.Dims[1], rbfLineThreads), rbfLineBlocks), rbfLineThreads)
		g.Skip = g.Skip || p.splits == 1
	}})
}

func rbfTiled(instance string, bytes int64) bool {
	return Bind(kernels.RBFMatmul, backend.Binding{
		Kernel: instance, Variant: "tiled", Requires: []string{"sm_80"},
		Tile:   map[string]int64{"n": rbfRows, "m": rbfTileColumns(bytes), "d": 16, "c": 16},
		Accept: rbfAccept, Note: "rows in registers or tiles, columns streamed through shared memory, split over blocks where rows are few",
	}, Launcher[kernels.RBFMatmulArgs]{Source: "rbf_matmul", Stages: rbfStages(bytes), Workspace: rbfWorkspace})
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
