package cuda

import (
	"fmt"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// topk orders integers made of the scores, so all its variants give the same bits.
const topKClass = "exact"

const (
	topKCapacity   = 4096  // pairs that a block sorts: the largest k of the selecting variant
	topKWhole      = 32768 // longest row that one block selects from
	topKSegment    = 8192  // shortest segment of a longer one
	topKSegments   = 256   // most segments of a row
	topKThreads    = 1024
	topKShort      = 512  // threads of a block where
	topKShortK     = 1024 // no more is wanted
	topKShortN     = 2048 // of no more scores
	topKTile       = 4096 // pairs of a tile of the radix sort
	topKDigits     = 256
	topKSortBlock  = 256
	topKNaiveBlock = 256
	topKNaiveGrid  = 1 << 16 // blocks; they stride over the scores
)

// topKSegmentsOf is how many segments a row is cut into; selection/topk.cu computes the same.
func topKSegmentsOf(n, k int64) int64 {
	if n <= topKWhole {
		return 1
	}
	return CeilDiv(n, max(topKSegment, 4*k, CeilDiv(n, topKSegments)))
}

var (
	_ = Bind(kernels.TopK, backend.Binding{
		Kernel: "topk", Variant: "select", Requires: []string{"sm_80"}, Class: topKClass, Tile: map[string]int64{"n": topKCapacity},
		Accept: topKAccept, Note: "bins over the range of the scores put all in order but what shares a bin; where that is much, histograms over the leading bits that differ, then a sort; k up to 4096",
	}, Launcher[kernels.TopKArgs]{
		Source: "topk", Workspace: topKSelectWorkspace,
		Stages: []Stage[kernels.TopKArgs]{
			{Name: "segment", Early: true, Geometry: func(a *kernels.TopKArgs, _ *backend.Call, g *Geometry) {
				b, n, k := a.Score.Dims[0], a.Score.Dims[1], a.Value.Dims[1]
				segments := topKSegmentsOf(n, k)
				g.Line(b*segments, topKThreads)
				g.Skip = g.Skip || k == 0 || segments == 1
			}},
			topKRows("merge", topKThreads), topKRows("short", topKShort),
		},
	})

	_ = Bind(kernels.TopK, backend.Binding{
		Kernel: "topk", Variant: "sort", Requires: []string{"sm_80"}, Class: topKClass, Tile: map[string]int64{"n": topKTile},
		Note: "a stable radix sort of whole rows; any k",
	}, Launcher[kernels.TopKArgs]{Source: "topk_sort", Workspace: topKSortWorkspace, Stages: topKSortStages()})

	_ = Bind(kernels.TopK, backend.Binding{
		Kernel: "topk", Variant: "naive", Requires: []string{"sm_80"}, Class: topKClass, Note: "a thread for a score counts the scores before it",
	}, Launcher[kernels.TopKArgs]{
		Source: "topk",
		Stages: []Stage[kernels.TopKArgs]{{Geometry: func(a *kernels.TopKArgs, _ *backend.Call, g *Geometry) {
			g.Line(min(CeilDiv(a.Score.Dims[0]*a.Score.Dims[1], topKNaiveBlock), topKNaiveGrid), topKNaiveBlock)
			g.Skip = g.Skip || a.Value.Dims[1] == 0
		}}},
	})
)

// topKRows is a block for a row: of one size or the other.
func topKRows(form string, threads int) Stage[kernels.TopKArgs] {
	return Stage[kernels.TopKArgs]{Name: form, Early: true, Geometry: func(a *kernels.TopKArgs, _ *backend.Call, g *Geometry) {
		b, n, k := a.Score.Dims[0], a.Score.Dims[1], a.Value.Dims[1]
		g.Line(b, threads)
		g.Skip = g.Skip || k == 0 || (form == "short") != (n <= topKShortN && k <= topKShortK)
	}}
}

func topKAccept(c *backend.Call) error {
	if k := c.Axes[2]; k > topKCapacity {
		return &backend.UnsupportedError{Backend: name, Kernel: "topk", Variant: "select", Reason: fmt.Sprintf("k is %d, at most %d", k, topKCapacity)}
	}
	return nil
}

// topKSelectWorkspace bounds k pairs for each segment from above, since the number of segments falls as k grows: each term
// grows with both n and k.
func topKSelectWorkspace(c *backend.Call) int64 {
	b, n, k := c.Axes[0], c.Axes[1], c.Axes[2]
	if n <= topKWhole {
		return 0
	}
	return b * 8 * min(topKSegments*k, CeilDiv(n, topKSegment)*k, CeilDiv(n, 4)+k)
}

// topKSortWorkspace is the digits' counts of each tile and two copies of the pairs.
func topKSortWorkspace(c *backend.Call) int64 {
	b, n := c.Axes[0], c.Axes[1]
	return b*topKDigits*CeilDiv(n, topKTile)*4 + 2*b*n*8
}

func topKSortStages() []Stage[kernels.TopKArgs] {
	tiles := func(a *kernels.TopKArgs, _ *backend.Call, g *Geometry) {
		g.Line(a.Score.Dims[0]*CeilDiv(a.Score.Dims[1], topKTile), topKSortBlock)
		g.Skip = g.Skip || a.Value.Dims[1] == 0
	}
	rows := func(a *kernels.TopKArgs, _ *backend.Call, g *Geometry) {
		g.Line(a.Score.Dims[0], topKThreads)
		g.Skip = g.Skip || a.Value.Dims[1] == 0
	}
	var s []Stage[kernels.TopKArgs]
	for pass := range 4 {
		s = append(s,
			Stage[kernels.TopKArgs]{Name: fmt.Sprintf("count%d", pass), Geometry: tiles},
			Stage[kernels.TopKArgs]{Name: fmt.Sprintf("scan%d", pass), Geometry: rows},
			Stage[kernels.TopKArgs]{Name: fmt.Sprintf("scatter%d", pass), Geometry: tiles})
	}
	return s
}
