package cuda

import (
	"fmt"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// plaidClass: maxima are exact and sums are integers, so that every variant gives the same bits.
const plaidClass = "exact"

const (
	approxThreads = 256
	approxLive    = 64 << 10 // bytes of live bits that a block stages
	approxFew     = 12       // documents of a multiprocessor up to which four warps score each; eight are at once
)

var _ = Bind(kernels.PlaidApprox, backend.Binding{
	Kernel: "plaid_approx", Variant: "warp", Requires: []string{"sm_80"}, Class: plaidClass,
	Tile: map[string]int64{"tq": 32, "td": 128}, Accept: approxAccept, Note: "a warp for a document, or four where places are few; rows of scores for many of its codes at once, four to a load for short queries; live bits in shared memory",
}, Launcher[kernels.PlaidApproxArgs]{
	Source: "plaid_approx", Spills: "some bytes around the loops over documents: a fourth block of a multiprocessor is worth more",
	Stages: []Stage[kernels.PlaidApproxArgs]{approxStage("q32", 4, 1), approxStage("q32s", 4, 4), approxStage("q128", 2, 1)},
})

// approxAccept holds what 32-bit counts of tokens and strides ask for.
func approxAccept(c *backend.Call) error {
	a := c.Args.(*kernels.PlaidApproxArgs)
	refuse := func(what string, n int64) error {
		return &backend.UnsupportedError{Backend: name, Kernel: "plaid_approx", Variant: "warp", Reason: fmt.Sprintf("%s %d, below %d", what, n, maxRagged)}
	}
	switch stride := a.CentroidScore.RowStride(); {
	case stride >= maxRagged: // its bytes are counted in 32 bits
		return refuse("stride", stride)
	case a.DocOff.Max >= maxRagged:
		return refuse("document tokens", a.DocOff.Max)
	case a.QueryOff.Max >= maxRagged:
		return refuse("query tokens", a.QueryOff.Max)
	}
	return nil
}

// approxLiveBytes are the live bits that a block stages, 0 for none: what it does not stage it reads where it lies.
func approxLiveBytes(a *kernels.PlaidApproxArgs, c *backend.Call) int64 {
	if n := 4 * c.Axes[6]; !a.Live.Absent() && n <= approxLive {
		return n
	}
	return 0
}

// approxForm is the stage that a launch runs: for longer queries than 32 tokens and live bits that are not staged, for so few
// places that four warps for each are at hand, or for all others.
func approxForm(a *kernels.PlaidApproxArgs, c *backend.Call, g *Geometry) string {
	switch nq, places := c.Axes[2], c.Axes[5]; {
	case a.QueryOff.Max > 32, !a.Live.Absent() && approxLiveBytes(a, c) == 0:
		return "q128"
	case places <= approxFew*int64(g.Units)/max(nq, 1):
		return "q32s"
	}
	return "q32"
}

// approxStage is a form, so many blocks of which run at once on a multiprocessor, and so many warps score a document.
func approxStage(form string, blocks, warps int64) Stage[kernels.PlaidApproxArgs] {
	return Stage[kernels.PlaidApproxArgs]{Name: form, Shared: approxLive, Early: true, Geometry: func(a *kernels.PlaidApproxArgs, c *backend.Call, g *Geometry) {
		nq, places := c.Axes[2], c.Axes[5]
		fill := blocks * int64(g.Units) // as many as run at once
		if nq > 1 {
			fill = CeilDiv(4*fill, nq) // the device deals out uneven ones
		}
		g.Plane(min(max(fill, 1), CeilDiv(places, approxThreads/32/warps)), nq, approxThreads)
		g.Shared = uint32(approxLiveBytes(a, c))
		g.Skip = g.Skip || form != approxForm(a, c, g)
	}}
}
