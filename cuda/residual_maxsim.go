package cuda

import (
	"fmt"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

const (
	residualThreads = 128
	residualD       = 384      // most components of the tiled variant
	residualTokens  = 32 << 10 // bytes of decoded tokens in its shared memory
	residualMost    = 83456    // bytes of its shared memory at most
	residualWaves   = 8        // blocks that the places of a launch are cut into, for each that runs at a time
)

// The variants of residual_maxsim. In f32 all have the bits that package canon defines.
var (
	_ = residualNaive("residual_maxsim_f32", plaidClass)
	_ = residualNaive("residual_maxsim_f16", "fma_chain")

	_ = Bind(kernels.ResidualMaxSim, backend.Binding{
		Kernel: "residual_maxsim_f32", Variant: "tiled", Requires: []string{"sm_80"}, Class: plaidClass,
		Tile: map[string]int64{"tq": 32, "td": 64, "d": 32}, Accept: residualTiled.accept,
		Note: "register tiles, tokens decoded once for 32 query tokens; d a multiple of 4 up to 384",
	}, Launcher[kernels.ResidualMaxSimArgs]{
		Source: "residual_maxsim_tiled",
		Stages: []Stage[kernels.ResidualMaxSimArgs]{{Shared: residualMost, Geometry: func(_ *kernels.ResidualMaxSimArgs, c *backend.Call, g *Geometry) {
			nq, places := c.Axes[2], c.Axes[8]
			g.Plane(residualBlocks(places, nq, residualWaves*3*int64(g.Units)), nq, residualThreads)
			g.Shared = uint32(residualTokens + c.Axes[1]*132)
		}}},
	})
)

// residualBlocks cuts the places of each query into blocks: enough that the device deals them out evenly, since documents
// differ in length.
func residualBlocks(places, nq, blocks int64) int64 {
	return min(places, CeilDiv(blocks, max(nq, 1)))
}

// residualLimits is what a fast variant asks for: components, and the alignment of operands.
type residualLimits struct {
	kernel, variant string
	multiple, most  int64 // of d, axis
	axis            int
	operands        []int // that start at a multiple of 16 bytes
}

var residualTiled = residualLimits{"residual_maxsim_f32", "tiled", 4, residualD, 1, []int{0, 5}}

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
