package cuda

import (
	"math"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

const (
	residualD     = 384                          // most components of the tiled variant
	residualTile  = 4 * 64 * (128 + 8)           // bytes of shared memory for tokens: 32 components, code and inverse norm of each
	residualMost  = residualTile + 128*residualD // and for 32 query tokens, at most
	residualWaves = 8                            // blocks that the places of a launch are cut into, for each that runs at a time
)

// residualForm is a compiled form of the tiled variant: the warps of a block and how many of them share a document.
type residualForm struct {
	name         string
	warps, share int64
	blocks       int64 // of a multiprocessor
}

// Fewer documents are shared by more warps: then the time is that of one document, not of all.
var (
	residualApart  = residualForm{"apart", 4, 1, 2}
	residualJoint4 = residualForm{"joint4", 4, 4, 2}
	residualJoint8 = residualForm{"joint8", 8, 8, 1}
)

// residualFormOf is the form that a number of documents is scored by.
func residualFormOf(documents, bits int64, units int) residualForm {
	switch u := int64(units); {
	case documents <= u && bits == 2:
		return residualJoint8
	case documents <= 5*u:
		return residualJoint4
	}
	return residualApart
}

// residualTiledStages are the forms, those for 2 bits a component and those for any; one of them runs.
func residualTiledStages() []Stage[kernels.ResidualMaxSimArgs] {
	var stages []Stage[kernels.ResidualMaxSimArgs]
	add := func(f residualForm, b2 bool) {
		name := f.name
		if b2 {
			name += "_b2"
		}
		stages = append(stages, Stage[kernels.ResidualMaxSimArgs]{Name: name, Shared: residualMost, Early: true,
			Geometry: func(a *kernels.ResidualMaxSimArgs, c *backend.Call, g *Geometry) {
				nq, places := c.Axes[2], c.Axes[8]
				blocks := residualBlocks(CeilDiv(places, f.warps/f.share), nq, residualWaves*f.blocks*int64(g.Units))
				g.Plane(checkingBlocks(blocks, c.Axes[5], 32*(f.warps-1), nq, f.blocks*int64(g.Units)), nq, int(32*f.warps))
				g.Shared = uint32(residualTile + 128*c.Axes[1])
				g.Skip = g.Skip || b2 != (a.Bits == 2) || f != residualFormOf(nq*places, a.Bits, g.Units)
			}})
	}
	for _, f := range []residualForm{residualApart, residualJoint4} {
		add(f, false)
		add(f, true)
	}
	add(residualJoint8, true)
	return stages
}

// acceptTiled is what the tiled variant asks for.
func acceptTiled(c *backend.Call) error {
	a := c.Args.(*kernels.ResidualMaxSimArgs)
	if n := max(c.Axes[2], c.Axes[8], a.QueryOff.Max, a.DocOff.Max); n > math.MaxInt32 {
		return residualTiled.refuse("%d queries, places, or tokens of a document, at most %d", n, math.MaxInt32)
	}
	return residualTiled.accept(c)
}

var _ = Bind(kernels.ResidualMaxSim, backend.Binding{
	Kernel: "residual_maxsim_f32", Variant: "tiled", Requires: []string{"sm_80"}, Class: plaidClass,
	Tile: map[string]int64{"tq": 32, "td": 64, "d": 32}, Accept: acceptTiled,
	Note: "register tiles, tokens decoded once for 32 query tokens; d a multiple of 4 up to 384",
}, Launcher[kernels.ResidualMaxSimArgs]{Source: "residual_maxsim_tiled", Stages: residualTiledStages()})
