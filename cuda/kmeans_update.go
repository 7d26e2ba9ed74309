package cuda

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

const (
	kmeansThreads = 256
	kmeansTokens  = 8       // of a block at a time: one for each warp
	kmeansBlocks  = 1 << 16 // they stride over the tokens
)

var _ = Bind(kernels.KMeansUpdate, backend.Binding{
	Kernel: "kmeans_update", Variant: "atomic", Requires: []string{"sm_80"}, Class: "exact",
	Tile: map[string]int64{"d": 32},
	Note: "a warp for a token adds its components to sums that stay in the second-level cache",
}, Launcher[kernels.KMeansUpdateArgs]{
	Source: "kmeans_update",
	Stages: []Stage[kernels.KMeansUpdateArgs]{
		{Name: "clear", Geometry: func(a *kernels.KMeansUpdateArgs, _ *backend.Call, g *Geometry) {
			k, d := a.Sum.Dims[0], a.Sum.Dims[1]
			g.Line(min(CeilDiv(k*max(d, 1), kmeansThreads), kmeansBlocks), kmeansThreads)
		}},
		{Geometry: func(a *kernels.KMeansUpdateArgs, _ *backend.Call, g *Geometry) {
			g.Line(min(CeilDiv(a.Token.Dims[0], kmeansTokens), kmeansBlocks), kmeansThreads)
		}},
	},
})
