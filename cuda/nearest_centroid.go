package cuda

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// canonicalClass is that of bodies whose dot products are canonical (package canon): the same bits from all of them.
const canonicalClass = "canonical"

const (
	nearestTokens    = 128 // of a block
	nearestCentroids = 128 // of a tile
	nearestThreads   = 256
	nearestShared    = 90112
	nearestBlocks    = 264 // worth starting: two for each multiprocessor of an H200
)

// nearestRanges is how many ranges the centroids are cut into where tokens are few; plaid/nearest_centroid.cu computes the same.
func nearestRanges(n, k int64) int64 {
	return max(min(nearestBlocks/max(CeilDiv(n, nearestTokens), 1), CeilDiv(k, nearestCentroids)), 1)
}

var _ = Bind(kernels.NearestCentroid, backend.Binding{
	Kernel: "nearest_centroid", Variant: "tiled", Requires: []string{"sm_80"}, Class: canonicalClass,
	Tile: map[string]int64{"n": nearestTokens, "k": nearestCentroids, "d": 32},
	Note: "128 tokens by 128 centroids in registers, the best kept between tiles; any d",
}, Launcher[kernels.NearestCentroidArgs]{
	Source: "nearest_centroid", Workspace: nearestWorkspace,
	Stages: []Stage[kernels.NearestCentroidArgs]{
		{Shared: nearestShared, Geometry: func(a *kernels.NearestCentroidArgs, _ *backend.Call, g *Geometry) {
			n, k := a.Token.Dims[0], a.Centroid.Dims[0]
			g.Plane(CeilDiv(n, nearestTokens), nearestRanges(n, k), nearestThreads)
			g.Shared = nearestShared
		}},
		{Name: "finish", Geometry: func(a *kernels.NearestCentroidArgs, _ *backend.Call, g *Geometry) {
			n, k := a.Token.Dims[0], a.Centroid.Dims[0]
			g.Line(CeilDiv(n, nearestThreads), nearestThreads)
			g.Skip = g.Skip || nearestRanges(n, k) == 1
		}},
	},
})

// nearestWorkspace bounds a word for each token and range from above, since the number of ranges falls as n grows.
func nearestWorkspace(c *backend.Call) int64 {
	n, k := c.Axes[0], c.Axes[2]
	return 8 * min(n*CeilDiv(k, nearestCentroids), nearestBlocks*nearestTokens)
}
