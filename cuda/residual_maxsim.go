package cuda

import (
	"fmt"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

const residualThreads = 128

// The variants of residual_maxsim. In f32 all have the bits that package canon defines.
var (
	_ = residualNaive("residual_maxsim_f32", plaidClass)
	_ = residualNaive("residual_maxsim_f16", "fma_chain")

	_ = Bind(kernels.ResidualMaxSim, backend.Binding{
		Kernel: "residual_maxsim_f16", Variant: "scan", Requires: []string{"sm_80"}, Class: "scan",
		Tile: map[string]int64{"tq": chunkRows, "td": 16, "d": 16}, Accept: acceptScan,
		Note: "scores of all centroids first, then warp products of the residuals; up to 4 chunks of 32 query tokens, 2 or 4 bits, d up to 128",
	}, Launcher[kernels.ResidualMaxSimArgs]{
		Source: "residual_maxsim_scan", Stages: residualScanStages(), Spills: "a few addresses around the products",
		Workspace: func(c *backend.Call) int64 { return scanChunks * (chunkRows*2*c.Axes[6] + scanBlocks*4) },
	})

	_ = Bind(kernels.ResidualMaxSim, backend.Binding{
		Kernel: "residual_maxsim_f16", Variant: "mma", Requires: []string{"sm_80"}, Class: "mma",
		Tile: map[string]int64{"tq": chunkRows, "td": 32, "d": 16}, Accept: acceptMMA,
		Note: "warp products of tokens decoded in registers, once for queries that share a document; 2 or 4 bits, d up to 128",
	}, Launcher[kernels.ResidualMaxSimArgs]{Source: "residual_maxsim_mma", Stages: residualMMAStages(), Spills: "a few addresses around the products"})
)

// packedForm is a compiled form of the warp-product variants: bits a component and packed words of a lane, of which four
// lanes share a row.
type packedForm struct {
	name        string
	bits, words int64
}

var packedForms = []packedForm{{"b2w1", 2, 1}, {"b2w2", 2, 2}, {"b4w2", 4, 2}, {"b4w4", 4, 4}}

// packedFormOf is the first form that holds rows of rb bytes, -1 if none does.
func packedFormOf(bits, rb int64) int {
	for i, f := range packedForms {
		if f.bits == bits && rb <= 16*f.words {
			return i
		}
	}
	return -1
}

const (
	screenD     = 128 // most components of the warp-product variants
	screenWaves = 3   // blocks that the places of a launch are cut into, for each that runs at a time

	chunkRows  = 32   // query tokens of a chunk
	chunkBytes = 8192 // of shared memory for its fragments
	chunksMost = 8    // of a pass
)

// residualMMAStages are the forms of the f16 variant; one of them runs.
func residualMMAStages() []Stage[kernels.ResidualMaxSimArgs] {
	var stages []Stage[kernels.ResidualMaxSimArgs]
	for i, f := range packedForms {
		stages = append(stages, Stage[kernels.ResidualMaxSimArgs]{Name: f.name, Shared: chunksMost * chunkBytes,
			Geometry: func(a *kernels.ResidualMaxSimArgs, c *backend.Call, g *Geometry) {
				nq, places := c.Axes[2], c.Axes[8]
				each := max(CeilDiv(a.QueryOff.Max, chunkRows), 1)
				chunks := min(max(nq*each, 1), chunksMost)
				passes := CeilDiv(nq, max(chunksMost/each, 1))
				blocks := screenWaves * 3 * int64(g.Units)
				y := min(passes, max(blocks/max(places, 1), 1))
				g.Plane(residualBlocks(places, y, blocks), y, residualThreads)
				g.Shared = uint32(chunks * chunkBytes)
				g.Skip = g.Skip || i != packedFormOf(a.Bits, c.Axes[4])
			}})
	}
	return stages
}

const (
	scanChunks = 4    // of query tokens at most
	scanBlocks = 1024 // that score centroids for a chunk, at most
)

// residualScanStages are the scores of centroids, the scan in its forms, and the forms of the f16 variant that decode whole
// tokens, which run to the end only where a centroid's score leaves the range of f16.
func residualScanStages() []Stage[kernels.ResidualMaxSimArgs] {
	stages := []Stage[kernels.ResidualMaxSimArgs]{{Name: "scores", Geometry: func(_ *kernels.ResidualMaxSimArgs, c *backend.Call, g *Geometry) {
		g.Plane(min(CeilDiv(c.Axes[6], 64), scanBlocks), scanChunks, residualThreads)
		g.Skip = g.Skip || c.Axes[2]*c.Axes[8] == 0
	}}}
	for i, f := range packedForms {
		shared := f.screenShared(2)
		stages = append(stages, Stage[kernels.ResidualMaxSimArgs]{Name: f.name, Shared: shared,
			Geometry: func(a *kernels.ResidualMaxSimArgs, c *backend.Call, g *Geometry) {
				g.Plane(residualBlocks(c.Axes[8], c.Axes[2], screenWaves*3*int64(g.Units)), c.Axes[2], residualThreads)
				g.Shared = uint32(shared)
				g.Skip = g.Skip || i != packedFormOf(a.Bits, c.Axes[4])
			}})
	}
	for i, f := range packedForms {
		stages = append(stages, Stage[kernels.ResidualMaxSimArgs]{Name: "whole" + f.name[1:], Shared: scanChunks * chunkBytes,
			Geometry: func(a *kernels.ResidualMaxSimArgs, c *backend.Call, g *Geometry) {
				g.Plane(residualBlocks(c.Axes[8], 1, 3*int64(g.Units)), 1, residualThreads)
				g.Shared = scanChunks * chunkBytes
				g.Skip = g.Skip || c.Axes[2] == 0 || i != packedFormOf(a.Bits, c.Axes[4])
			}})
	}
	return stages
}

// acceptScan is what the scan asks for beyond the f16 variant.
func acceptScan(c *backend.Call) error {
	a := c.Args.(*kernels.ResidualMaxSimArgs)
	l := residualMMA
	l.variant = "scan"
	nq := a.QueryOff.N
	switch n := min(nq*max(CeilDiv(a.QueryOff.Max, chunkRows), 1), nq+a.QueryOff.Total/chunkRows); {
	case n > scanChunks:
		return l.refuse("up to %d chunks of %d query tokens, at most %d", n, chunkRows, scanChunks)
	case a.Normalize:
		return l.refuse("norms to compute")
	case a.DocOff.Max > maxRagged:
		return l.refuse("a document of %d tokens, at most %d", a.DocOff.Max, maxRagged)
	}
	return l.acceptPacked(c, a.Bits, 3)
}

// acceptMMA is what the f16 variant asks for.
func acceptMMA(c *backend.Call) error {
	if n := c.Args.(*kernels.ResidualMaxSimArgs).QueryOff.Max; n > chunksMost*chunkRows {
		return residualMMA.refuse("a query of %d tokens, at most %d", n, chunksMost*chunkRows)
	}
	return residualMMA.acceptPacked(c, int64(c.Attrs[0]), 3)
}

// residualBlocks cuts the places of each query into blocks: enough that the device deals them out evenly, since documents
// differ in length.
func residualBlocks(places, nq, blocks int64) int64 {
	return min(places, CeilDiv(blocks, max(nq, 1)))
}

// checkingBlocks is blocks, or as many for each row of a launch as its threads need to have a few of n offsets to check, as
// long as the device has room: a thread waits for memory at each, and few places of a large index are few blocks.
func checkingBlocks(blocks, n, threads, rows, room int64) int64 {
	if blocks == 0 {
		return 0
	}
	return max(blocks, CeilDiv(min(CeilDiv(n, 4*threads), room), max(rows, 1)))
}

// residualLimits is what a fast variant asks for: components, and the alignment of operands.
type residualLimits struct {
	kernel, variant string
	multiple, most  int64 // of d, axis
	axis            int
	operands        []int // that start at a multiple of 16 bytes
}

var (
	residualTiled = residualLimits{"residual_maxsim_f32", "tiled", 4, residualD, 1, []int{0, 5}}
	residualMMA   = residualLimits{"residual_maxsim_f16", "mma", 8, screenD, 1, []int{0, 5}}
)

func (l *residualLimits) refuse(format string, a ...any) error {
	return &backend.UnsupportedError{Backend: name, Kernel: l.kernel, Variant: l.variant, Reason: fmt.Sprintf(format, a...)}
}

func (l *residualLimits) accept(c *backend.Call) error {
	if d := c.Axes[l.axis]; d%l.multiple != 0 || d > l.most {
		return l.refuse("d is %d, want a multiple of %d up to %d", d, l.multiple, l.most)
	}
	for _, i := range l.operands {
		if off := c.Operands[i].Off; off%16 != 0 {
			return l.refuse("operand %d starts at byte %d, want a multiple of 16", i, off)
		}
	}
	return nil
}

// acceptPacked adds what packed words in fragments ask for; packed is their operand.
func (l *residualLimits) acceptPacked(c *backend.Call, bits int64, packed int) error {
	switch d, off := c.Axes[l.axis], c.Operands[packed].Off; {
	case bits != 2 && bits != 4:
		return l.refuse("%d bits, want 2 or 4", bits)
	case bits == 2 && d%16 != 0:
		return l.refuse("d is %d, want a multiple of 16", d)
	case off%4 != 0:
		return l.refuse("residuals start at byte %d, want a multiple of 4", off)
	}
	return l.accept(c)
}

func residualNaive(instance, class string) bool {
	return Bind(kernels.ResidualMaxSim, backend.Binding{
		Kernel: instance, Variant: "naive", Requires: []string{"sm_80"}, Class: class,
		Tile: map[string]int64{"td": residualThreads}, Note: "a block for a place and a query, a thread for a document token",
	}, Launcher[kernels.ResidualMaxSimArgs]{
		Source: "residual_maxsim_naive",
		Stages: []Stage[kernels.ResidualMaxSimArgs]{{Geometry: func(_ *kernels.ResidualMaxSimArgs, c *backend.Call, g *Geometry) {
			g.Plane(c.Axes[8], c.Axes[2], residualThreads)
		}}},
	})
}
