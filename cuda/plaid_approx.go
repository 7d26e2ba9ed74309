package cuda

import (
	"fmt"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// plaidClass: maxima are exact and sums are integers, so that every variant gives the same bits.
const plaidClass = "exact"

const (
	candidatesThreads = 256
	candidatesTile    = 256 // words of documents of a block
	approxThreads     = 256
	approxLive        = 64 << 10 // bytes of live bits that a block stages
)

var (
	_ = Bind(kernels.PlaidCandidates, backend.Binding{
		Kernel: "plaid_candidates", Variant: "bitmap", Requires: []string{"sm_80"}, Class: plaidClass,
		Tile: map[string]int64{"k": 32, "c": 32 * candidatesTile}, Note: "documents marked in a bitmap, then counted and written by tiles",
	}, Launcher[kernels.PlaidCandidatesArgs]{
		Source: "plaid_candidates", Workspace: candidatesWorkspace,
		Stages: []Stage[kernels.PlaidCandidatesArgs]{
			{Name: "clear", Geometry: func(a *kernels.PlaidCandidatesArgs, c *backend.Call, g *Geometry) {
				words := c.Axes[2] * (CeilDiv(a.Documents, 32) + CeilDiv(c.Axes[3], 32))
				g.Line(min(CeilDiv(max(words, c.Axes[3], 1), candidatesThreads), int64(8*g.Units)), candidatesThreads)
			}},
			{Name: "mark", Geometry: func(a *kernels.PlaidCandidatesArgs, c *backend.Call, g *Geometry) {
				g.Plane(min(a.QueryOff.Max*c.Axes[1], 4096), c.Axes[2], candidatesThreads)
			}},
			{Name: "count", Geometry: candidatesTiles},
			{Name: "write", Geometry: candidatesTiles},
		},
	})

	_ = Bind(kernels.PlaidApprox, backend.Binding{
		Kernel: "plaid_approx", Variant: "warp", Requires: []string{"sm_80"}, Class: plaidClass,
		Tile: map[string]int64{"tq": 32, "td": 128}, Accept: approxAccept, Note: "a warp for a document, a lane for a query token; live bits in shared memory",
	}, Launcher[kernels.PlaidApproxArgs]{
		Source: "plaid_approx", Spills: "what a batch of places keeps, outside the loop over codes",
		Stages: []Stage[kernels.PlaidApproxArgs]{approxStage("q32", 3), approxStage("q128", 2)},
	})
)

// candidatesWorkspace bounds bits and counts by the places, of which there are at least as many as documents.
func candidatesWorkspace(c *backend.Call) int64 {
	nq, words := c.Axes[2], CeilDiv(c.Axes[7], 32)
	n := words + max(CeilDiv(words, candidatesTile), 1)
	if c.Operands[5].Absent() {
		n += CeilDiv(c.Axes[3], 32)
	}
	return 4 * nq * n
}

func candidatesTiles(a *kernels.PlaidCandidatesArgs, c *backend.Call, g *Geometry) {
	g.Plane(max(CeilDiv(CeilDiv(a.Documents, 32), candidatesTile), 1), c.Axes[2], candidatesThreads)
}

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

// approxStage is the form for queries of up to 32 tokens, or for longer ones; a launch runs one of them.
func approxStage(form string, blocks int64) Stage[kernels.PlaidApproxArgs] {
	return Stage[kernels.PlaidApproxArgs]{Name: form, Shared: approxLive, Geometry: func(a *kernels.PlaidApproxArgs, c *backend.Call, g *Geometry) {
		nq, places := c.Axes[2], c.Axes[5]
		fill := CeilDiv(blocks*int64(g.Units), max(nq, 1))
		g.Plane(min(max(fill, 1), CeilDiv(places, approxThreads/32)), nq, approxThreads)
		if n := 4 * CeilDiv(c.Axes[0], 32); !a.Live.Absent() && n <= approxLive {
			g.Shared = uint32(n)
		}
		g.Skip = g.Skip || (form == "q32") != (a.QueryOff.Max <= 32)
	}}
}
