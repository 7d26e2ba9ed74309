package cuda

import (
	"fmt"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// Sizes that plaid/plaid_candidates.cu shares.
const (
	candidatesThreads     = 256
	candidatesMarkThreads = 512
	candidatesTile        = 256   // words of documents of a block
	candidatesSpan        = 16384 // words that a marking block has in shared memory
	candidatesLive        = 4096  // words of live cells there
	candidatesFew         = 1024  // words that every block counts itself
	candidatesParts       = 16    // most bitmaps of a query,
	candidatesAllParts    = 256   // and of all queries if they are fewer

	candidatesShared = 4 * (candidatesSpan + candidatesLive)
)

// Sizes that plaid/plaid_candidates_cluster.cu shares.
const (
	candidatesRanks          = 8 // blocks of a query
	candidatesClusterThreads = 512
	candidatesClusterShared  = 32 << 10
	candidatesClusterDocs    = 32 * 32 * 16 * candidatesRanks // a word to a lane
	candidatesClusterQueries = 16                             // of which all blocks run at once
	candidatesClusterChecks  = 8                              // most clusters that check offsets
)

var _ = Bind(kernels.PlaidCandidates, backend.Binding{
	Kernel: "plaid_candidates", Variant: "cluster", Requires: []string{"sm_90a"}, Class: plaidClass, Accept: candidatesClusterAccept,
	Tile: map[string]int64{"k": 32 * candidatesRanks, "c": 32 * candidatesRanks}, Note: "eight blocks to a query, which read each other's bitmaps in shared memory: one kernel, for few queries and up to 131,072 documents",
}, Launcher[kernels.PlaidCandidatesArgs]{
	Source: "plaid_candidates_cluster",
	Stages: []Stage[kernels.PlaidCandidatesArgs]{{Shared: candidatesClusterShared, Early: true, Geometry: candidatesClusterGeometry}},
})

func candidatesClusterGeometry(a *kernels.PlaidCandidatesArgs, c *backend.Call, g *Geometry) {
	nq, k := c.Axes[2], c.Axes[3]
	checks := min(CeilDiv(k+1, candidatesRanks*candidatesClusterThreads), candidatesClusterChecks)
	g.Plane(candidatesRanks, nq+checks, candidatesClusterThreads)
	g.Shared = uint32(candidatesClusterBytes(a.Documents, k))
}

// candidatesClusterBytes are the bits of all documents and of a block's cells.
func candidatesClusterBytes(documents, k int64) int64 {
	return 4 * (CeilDiv(documents, 32) + CeilDiv(CeilDiv(k, 32), candidatesRanks))
}

func candidatesClusterAccept(c *backend.Call) error {
	a := c.Args.(*kernels.PlaidCandidatesArgs)
	nq, k := c.Axes[2], c.Axes[3]
	if a.Documents <= candidatesClusterDocs && nq <= candidatesClusterQueries && candidatesClusterBytes(a.Documents, k) <= candidatesClusterShared {
		return nil
	}
	return &backend.UnsupportedError{Backend: name, Kernel: "plaid_candidates", Variant: "cluster", Reason: fmt.Sprintf(
		"%d queries, %d documents and %d cells, at most %d and %d, and bits of %s", nq, a.Documents, k,
		candidatesClusterQueries, candidatesClusterDocs, backend.FormatBytes(candidatesClusterShared))}
}

var _ = Bind(kernels.PlaidCandidates, backend.Binding{
	Kernel: "plaid_candidates", Variant: "bitmap", Requires: []string{"sm_80"}, Class: plaidClass,
	Tile: map[string]int64{"k": 32, "c": 32 * candidatesTile}, Note: "documents marked in bitmaps in shared memory, each for some cells, then joined and written by tiles",
}, Launcher[kernels.PlaidCandidatesArgs]{
	Source: "plaid_candidates", Workspace: candidatesWorkspace,
	Stages: []Stage[kernels.PlaidCandidatesArgs]{
		{Name: "mark", Shared: candidatesShared, Early: true, Geometry: func(a *kernels.PlaidCandidatesArgs, c *backend.Call, g *Geometry) {
			spans := max(CeilDiv(CeilDiv(a.Documents, 32), candidatesSpan), 1)
			g.Plane(spans*candidatesPartsOf(c.Axes[2]), max(c.Axes[2], 1), candidatesMarkThreads) // without queries offsets are checked
			words := min(CeilDiv(CeilDiv(a.Documents, 32), 4)*4, candidatesSpan)
			live := min(CeilDiv(CeilDiv(c.Axes[3], 32), candidatesPartsOf(c.Axes[2])), candidatesLive)
			g.Shared = uint32(4 * (words + live))
		}},
		{Name: "count", Early: true, Geometry: func(a *kernels.PlaidCandidatesArgs, c *backend.Call, g *Geometry) {
			candidatesTiles(a, c, g)
			g.Skip = g.Skip || CeilDiv(a.Documents, 32) <= candidatesFew
		}},
		{Name: "write", Early: true, Geometry: candidatesTiles},
	},
})

// candidatesPartsOf is how many blocks share the cells of a query.
func candidatesPartsOf(nq int64) int64 {
	parts := int64(candidatesParts)
	for parts > 1 && parts*nq > candidatesAllParts {
		parts /= 2
	}
	return parts
}

// candidatesWorkspace bounds bits and counts by the places, of which there are at least as many as documents, and the parts
// of all queries, whose number is not monotone, from above.
func candidatesWorkspace(c *backend.Call) int64 {
	nq, words := c.Axes[2], CeilDiv(c.Axes[7], 32)
	parts := min(candidatesParts*nq, max(candidatesAllParts, nq))
	return 4 * (parts*CeilDiv(words, 4)*4 + nq*max(CeilDiv(words, candidatesTile), 1))
}

func candidatesTiles(a *kernels.PlaidCandidatesArgs, c *backend.Call, g *Geometry) {
	g.Plane(max(CeilDiv(CeilDiv(a.Documents, 32), candidatesTile), 1), c.Axes[2], candidatesThreads)
}
