package cuda

import (
	"fmt"

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

// Sizes of the screened variant, of which plaid/nearest_centroid_screened.cu computes the same.
const (
	screenThreads = 128
	screenTile    = 64      // centroids
	screenWide    = 128     // the most components
	screenFew     = 4096    // with fewer tokens, or
	screenCells   = 1024    // centroids, all is canonical
	screenSome    = 1 << 16 // up to here blocks have fewer tokens
	screenHeader  = 256     // bytes
	finishBlocks  = 1024    // they stride over the tokens
)

// screenShapes are the components that a stage is compiled for, the tokens of its blocks and its shared memory.
var screenShapes = [...]struct {
	d, tokens int64
	shared    int
	few       bool
}{
	{64, 256, 29696, false}, {96, 256, 41984, false}, {128, 192, 53760, false},
	{64, 128, 28672, true}, {96, 128, 40960, true}, {128, 128, 53248, true},
}

// screenRounded is d rounded up to a compiled width.
func screenRounded(d int64) int64 {
	switch {
	case d <= 64:
		return 64
	case d <= 96:
		return 96
	}
	return screenWide
}

func screenDirect(n, k int64) bool { return n < screenFew || k < screenCells }

func screenWorkspace(c *backend.Call) int64 {
	n, d, k := c.Axes[0], c.Axes[1], c.Axes[2]
	return screenHeader + CeilDiv(12*n, 256)*256 + CeilDiv(k, screenTile)*screenTile*(2*screenRounded(d)+16)
}

func screenAccept(c *backend.Call) error {
	if n, d := c.Axes[0], c.Axes[1]; d > screenWide || n > maxRagged {
		return &backend.UnsupportedError{Backend: name, Kernel: "nearest_centroid", Variant: "screened",
			Reason: fmt.Sprintf("%d tokens of %d components, at most %d of %d", n, d, maxRagged, screenWide)}
	}
	return nil
}

func screenStages() []Stage[kernels.NearestCentroidArgs] {
	type args = kernels.NearestCentroidArgs
	sizes := func(a *args) (n, d, k int64) { return a.Token.Dims[0], a.Token.Dims[1], a.Centroid.Dims[0] }
	stages := []Stage[args]{
		{Clear: func(c *backend.Call) (off, bytes int64) {
			n, k := c.Axes[0], c.Axes[2]
			if screenDirect(n, k) {
				return 0, screenHeader + 8*n
			}
			return 0, screenHeader
		}},
		{Name: "prepare", Geometry: func(a *args, _ *backend.Call, g *Geometry) {
			n, _, k := sizes(a)
			g.Line(CeilDiv(k, screenTile)*screenTile/8, 256)
			g.Skip = g.Skip || screenDirect(n, k)
		}},
	}
	for _, w := range screenShapes {
		stage := fmt.Sprintf("d%d", w.d)
		if w.few {
			stage += "_few"
		}
		stages = append(stages, Stage[args]{Name: stage, Shared: w.shared, Geometry: func(a *args, _ *backend.Call, g *Geometry) {
			n, d, k := sizes(a)
			g.Line(CeilDiv(n, w.tokens), screenThreads)
			g.Shared = uint32(w.shared)
			g.Skip = g.Skip || screenDirect(n, k) || screenRounded(d) != w.d || w.few != (n <= screenSome)
		}})
	}
	return append(stages,
		Stage[args]{Name: "search", Shared: nearestShared, Geometry: func(a *args, _ *backend.Call, g *Geometry) {
			n, _, k := sizes(a)
			g.Line(min(CeilDiv(n, nearestTokens)*CeilDiv(k, nearestCentroids), int64(2*g.Units)), nearestThreads)
			g.Shared = nearestShared
		}},
		Stage[args]{Name: "finish", Geometry: func(a *args, _ *backend.Call, g *Geometry) {
			g.Line(min(CeilDiv(a.Token.Dims[0], nearestThreads), finishBlocks), nearestThreads)
		}})
}

// screened comes before tiled: it is tried first where it can be had.
var _ = Bind(kernels.NearestCentroid, backend.Binding{
	Kernel: "nearest_centroid", Variant: "screened", Requires: []string{"sm_80"}, Class: canonicalClass,
	Tile: map[string]int64{"n": 256, "k": screenTile, "d": 32}, Accept: screenAccept,
	Note: "half precision on tensor cores with an error bound, canonical products where it decides; d up to 128",
}, Launcher[kernels.NearestCentroidArgs]{Source: "nearest_centroid_screened", Workspace: screenWorkspace, Stages: screenStages()})

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
