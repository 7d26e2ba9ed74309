package cuda

import (
	"fmt"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

const rmsNormPacks = 4

// Axes of rms_norm_backward.
const rmsAxisRows, rmsAxisN = 0, 1

// The backward kernel reads a row once if 512 threads can hold it, 8 or 16 columns each, and leaves at most rmsPartials
// partial rows of dw: the registers of such a block fill a multiprocessor, and an H200 has 132. The number follows
// from rows and n alone, so that a device with fewer gives the same bits.
const (
	rmsThreads     = 512
	rmsPartials    = 132
	rmsTileThreads = 256 // of a block that takes a column tile of a wide row, 16 bytes a thread
	rmsTileBlocks  = 4 * rmsPartials
	rmsColumns     = 32 // of a block that adds partial rows
	rmsHeaderBytes = 256
	rmsNarrow      = 8 * rmsThreads // columns of a row that 512 threads hold, 8 each
)

// The bulk variant's rows belong to groups of 128, 256 or 512 threads of such a block, 16 columns each, whose rings
// take what shared memory there is. Shorter rows leave it threads without work.
const (
	rmsBulkColumns  = 16
	rmsBulkShortest = 1024 // columns: more than that
	rmsBulkLongest  = rmsBulkColumns * rmsThreads
	rmsBulkShared   = 192 << 10
)

var (
	_ = rmsNormCached("rms_norm_f32", 4)
	_ = rmsNormCached("rms_norm_bf16", 2)
	_ = rmsNormCached("rms_norm_f16", 2)
	_ = rmsNormCached("rms_norm_bf16_f32", 2)
	_ = rmsNormCached("rms_norm_f16_f32", 2)
	_ = rmsNormNaive("rms_norm_f32")
	_ = rmsNormNaive("rms_norm_bf16")
	_ = rmsNormNaive("rms_norm_f16")
	_ = rmsNormNaive("rms_norm_bf16_f32")
	_ = rmsNormNaive("rms_norm_f16_f32")

	_ = rmsBackwardCached("rms_norm_backward_f32", 4)
	_ = rmsBackwardCached("rms_norm_backward_bf16", 2)
	_ = rmsBackwardCached("rms_norm_backward_f16", 2)
	_ = rmsBackwardCached("rms_norm_backward_bf16_f32", 2)
	_ = rmsBackwardCached("rms_norm_backward_f16_f32", 2)
	_ = rmsBackwardBulk("rms_norm_backward_f32")
	_ = rmsBackwardBulk("rms_norm_backward_bf16")
	_ = rmsBackwardBulk("rms_norm_backward_f16")
	_ = rmsBackwardBulk("rms_norm_backward_bf16_f32")
	_ = rmsBackwardBulk("rms_norm_backward_f16_f32")
	_ = rmsBackwardNaive("rms_norm_backward_f32")
	_ = rmsBackwardNaive("rms_norm_backward_bf16")
	_ = rmsBackwardNaive("rms_norm_backward_f16")
	_ = rmsBackwardNaive("rms_norm_backward_bf16_f32")
	_ = rmsBackwardNaive("rms_norm_backward_f16_f32")
)

func rmsNormCached(instance string, bytes int64) bool {
	return Bind(kernels.RMSNorm, backend.Binding{
		Kernel: instance, Variant: "cached", Requires: []string{"sm_80"},
		Tile: map[string]int64{"n": rowTile(bytes, rmsNormPacks)}, Note: noteCached,
	}, Launcher[kernels.RMSNormArgs]{
		Source: "rms_norm",
		Stages: []Stage[kernels.RMSNormArgs]{
			{Name: "row", Geometry: func(a *kernels.RMSNormArgs, _ *backend.Call, g *Geometry) {
				g.rowGroups(a.X.Dims[0], a.X.Dims[1], bytes, rmsNormPacks)
			}},
			{Name: "wide", Geometry: func(a *kernels.RMSNormArgs, _ *backend.Call, g *Geometry) {
				g.longRows(a.X.Dims[0], a.X.Dims[1], bytes, rmsNormPacks)
			}},
		},
	})
}

func rmsNormNaive(instance string) bool {
	return Bind(kernels.RMSNorm, backend.Binding{
		Kernel: instance, Variant: "naive", Requires: []string{"sm_80"}, Note: noteThread,
	}, Launcher[kernels.RMSNormArgs]{
		Source: "rms_norm",
		Stages: []Stage[kernels.RMSNormArgs]{{Geometry: func(a *kernels.RMSNormArgs, _ *backend.Call, g *Geometry) {
			g.Line(CeilDiv(a.X.Dims[0], rowThreads), rowThreads)
		}}},
	})
}

// rmsRows is the shape of the launch that reads each row once.
type rmsRows struct {
	columns int64 // of a row per thread; 0: the row is too wide
	tx, ty  int64
	blocks  int64
}

// rmsShape computes it; a batch is the rows that a thread has in registers at a time.
func rmsShape(rows, n, bytes int64) rmsRows {
	s := rmsRows{columns: 8, tx: 1}
	for s.columns*rmsThreads < n {
		s.columns *= 2
	}
	if s.columns > 16 {
		return rmsRows{}
	}
	for s.tx*s.columns < n {
		s.tx *= 2
	}
	s.ty = rmsThreads / s.tx
	batch := int64(1)
	if s.columns == 8 {
		batch = 4 * packBytes / (s.columns * bytes)
	}
	s.blocks = min(CeilDiv(rows, s.ty*batch), rmsPartials)
	return s
}

// rmsTiles is the shape of the launch over column tiles of wide rows: tiles, and shares of the rows for each.
func rmsTiles(rows, n, bytes int64) (tiles, shares int64) {
	tiles = CeilDiv(n*bytes, rmsTileThreads*packBytes)
	return tiles, min(rows, max(rmsTileBlocks/max(tiles, 1), 1))
}

// rmsWorkspace bounds the scratch from above: a header, a dot for each row, and partial rows of f32 columns in fours. It grows
// with both axes, where the exact number of partial rows falls as rows get wide.
func rmsWorkspace(c *backend.Call) int64 {
	rows, n := c.Axes[rmsAxisRows], c.Axes[rmsAxisN]
	wide := CeilDiv(rows, 64) * 64 * 4
	return rmsHeaderBytes + wide + min(rows, rmsPartials)*CeilDiv(n, 4)*16
}

// rmsRowsStage is the geometry of the stage that reads each row once with so many columns a thread.
func rmsRowsStage(columns, bytes int64) func(*kernels.RMSNormBackwardArgs, *backend.Call, *Geometry) {
	return func(a *kernels.RMSNormBackwardArgs, _ *backend.Call, g *Geometry) {
		s := rmsShape(a.X.Dims[0], a.X.Dims[1], bytes)
		g.Grid = [3]uint32{uint32(s.blocks), 1, 1}
		g.Block = [3]uint32{uint32(s.tx), uint32(s.ty), 1}
		g.Skip = s.columns != columns || s.blocks == 0 || a.X.Dims[1] == 0
	}
}

// rmsColumnsStage adds partial rows of dw.
var rmsColumnsStage = Stage[kernels.RMSNormBackwardArgs]{Name: "columns", Early: true, Geometry: func(a *kernels.RMSNormBackwardArgs, _ *backend.Call, g *Geometry) {
	g.Line(CeilDiv(a.X.Dims[1], rmsColumns), 0)
	g.Block = [3]uint32{rmsColumns / 4, 32, 1}
	g.Skip = g.Skip || a.DW.Absent()
}}

func rmsBackwardCached(instance string, bytes int64) bool {
	type args = kernels.RMSNormBackwardArgs
	wide := func(a *args) bool { return rmsShape(a.X.Dims[0], a.X.Dims[1], bytes).columns == 0 }
	return Bind(kernels.RMSNormBackward, backend.Binding{
		Kernel: instance, Variant: "cached", Requires: []string{"sm_80"}, Class: "cached",
		Tile: map[string]int64{"rows": 256, "n": rmsNarrow},
		Note: "a row read once into registers while the next ones load, dw in registers across rows; rows over 8192 columns are read twice",
	}, Launcher[args]{
		Source: "rms_norm_backward", Workspace: rmsWorkspace,
		Stages: []Stage[args]{
			{Name: "rows8", Geometry: rmsRowsStage(8, bytes)},
			{Name: "rows16", Geometry: rmsRowsStage(16, bytes)},
			{Name: "dots", Geometry: func(a *args, _ *backend.Call, g *Geometry) {
				g.Line(a.X.Dims[0], rmsThreads)
				g.Skip = g.Skip || !wide(a)
			}},
			{Name: "apply", Geometry: func(a *args, _ *backend.Call, g *Geometry) {
				tiles, shares := rmsTiles(a.X.Dims[0], a.X.Dims[1], bytes)
				g.Plane(tiles, shares, rmsTileThreads)
				g.Skip = g.Skip || !wide(a)
			}},
			rmsColumnsStage,
		},
	})
}

// rmsBulkStage is the geometry of the bulk variant's stage with tx threads to a row.
func rmsBulkStage(tx int64) Stage[kernels.RMSNormBackwardArgs] {
	return Stage[kernels.RMSNormBackwardArgs]{Name: fmt.Sprintf("rows%d", tx), Early: true, Shared: rmsBulkShared,
		Geometry: func(a *kernels.RMSNormBackwardArgs, _ *backend.Call, g *Geometry) {
			rows, n := a.X.Dims[0], a.X.Dims[1]
			g.Line(min(CeilDiv(rows*tx, rmsThreads), rmsPartials), 0)
			g.Block, g.Shared = [3]uint32{uint32(tx), uint32(rmsThreads / tx), 1}, rmsBulkShared
			g.Skip = g.Skip || n > tx*rmsBulkColumns || (n <= tx*rmsBulkColumns/2)
		}}
}

func rmsBackwardBulk(instance string) bool {
	return Bind(kernels.RMSNormBackward, backend.Binding{
		Kernel: instance, Variant: "bulk", Requires: []string{"sm_90a"},
		Tile: map[string]int64{"rows": 4 * rmsPartials, "n": rmsNarrow},
		Accept: func(c *backend.Call) error {
			if n := c.Axes[rmsAxisN]; n <= rmsBulkShortest || n > rmsBulkLongest {
				return &backend.UnsupportedError{Backend: name, Kernel: instance, Variant: "bulk",
					Reason: fmt.Sprintf("rows of %d, takes %d to %d", n, rmsBulkShortest+1, rmsBulkLongest)}
			}
			return nil
		},
		Note: "rows copied to shared memory by the copy engine, several ahead, a group of warps to each; dw in registers across rows",
	}, Launcher[kernels.RMSNormBackwardArgs]{
		Source: "rms_norm_backward_bulk", Workspace: rmsWorkspace,
		Stages: []Stage[kernels.RMSNormBackwardArgs]{rmsBulkStage(128), rmsBulkStage(256), rmsBulkStage(512), rmsColumnsStage},
	})
}

// rmsBackwardNaive adds dw first: DX may be DY.
func rmsBackwardNaive(instance string) bool {
	type args = kernels.RMSNormBackwardArgs
	return Bind(kernels.RMSNormBackward, backend.Binding{
		Kernel: instance, Variant: "naive", Requires: []string{"sm_80"}, Note: "a thread for a row, then one for a column",
	}, Launcher[args]{
		Source: "rms_norm_backward",
		Stages: []Stage[args]{
			{Name: "columns", Geometry: func(a *args, _ *backend.Call, g *Geometry) {
				g.Line(CeilDiv(a.X.Dims[1], rowThreads), rowThreads)
				g.Skip = g.Skip || a.DW.Absent()
			}},
			{Name: "rows", Geometry: func(a *args, _ *backend.Call, g *Geometry) {
				g.Line(CeilDiv(a.X.Dims[0], rowThreads), rowThreads)
				g.Skip = g.Skip || a.X.Dims[1] == 0
			}},
		},
	})
}
