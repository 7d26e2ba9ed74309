package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
)

// Sizes on both sides of every threshold of the row kernels.
var rowSizes = []int64{0, 1, 2, 7, 8, 31, 32, 33, 64, 256, 4095, 4096, 4097, 8192, 8193, 16384, 16385, 32768, 32769, 65536, 1 << 20}

func TestRowGroupsHoldTheRow(t *testing.T) {
	for _, bytes := range []int64{2, 4} {
		for _, packs := range []int64{softmaxBackwardPacks, softmaxPacks} {
			for _, rows := range []int64{0, 1, 5, 8192} {
				for _, n := range rowSizes {
					var g, w Geometry
					g.rowGroups(rows, n, bytes, packs)
					w.longRows(rows, n, bytes, packs)
					if rows == 0 {
						require.True(t, g.Skip && w.Skip)
						continue
					}
					require.NotEqual(t, g.Skip, w.Skip, "%d rows of %d: exactly one launch", rows, n)
					if g.Skip {
						continue
					}
					tx, ty := int64(g.Block[0]), int64(g.Block[1])
					require.Zero(t, tx&(tx-1), "a power of two")
					require.LessOrEqual(t, tx*ty, int64(maxRowThreads))
					require.Zero(t, tx*ty%32, "whole warps")
					require.GreaterOrEqual(t, tx*packs*packBytes/bytes, n)
					require.GreaterOrEqual(t, int64(g.Grid[0])*ty, rows)
				}
			}
		}
	}
}

func TestRMSShape(t *testing.T) {
	for _, bytes := range []int64{2, 4} {
		for _, rows := range []int64{1, 100, 8192} {
			for _, n := range rowSizes {
				s := rmsShape(rows, n, bytes)
				tiles, shares := rmsTiles(rows, n, bytes)
				require.LessOrEqual(t, s.blocks, int64(rmsPartials))
				if s.columns == 0 {
					require.Greater(t, n, int64(16*rmsThreads))
					require.LessOrEqual(t, shares, int64(rmsPartials), "the workspace has room for that many")
					require.GreaterOrEqual(t, tiles*rmsTileThreads*packBytes, n*bytes)
					continue
				}
				require.EqualValues(t, rmsThreads, s.tx*s.ty)
				require.GreaterOrEqual(t, s.tx*s.columns, n)
				require.True(t, s.columns == 8 || s.ty == 1, "the wider entry has no room to combine rows")
			}
		}
	}
}

// monotone holds a workspace against itself along one axis, and against what a launch needs.
func monotone(t *testing.T, axes [16]int64, axis int, sizes []int64, workspace func(*backend.Call) int64, need func([16]int64) int64) {
	t.Helper()
	last := int64(-1)
	for _, n := range sizes {
		axes[axis] = n
		w := workspace(&backend.Call{Axes: axes})
		require.GreaterOrEqual(t, w, last, "axes %v", axes)
		require.GreaterOrEqual(t, w, need(axes), "axes %v", axes)
		last = w
	}
}

func TestWorkspaces(t *testing.T) {
	for _, n := range []int64{1, 4096, 9000, 70000} {
		for _, bytes := range []int64{2, 4} {
			need := func(a [16]int64) int64 {
				s, dots := rmsShape(a[0], a[1], bytes), int64(0)
				if s.columns == 0 {
					_, s.blocks = rmsTiles(a[0], a[1], bytes)
					dots = CeilDiv(a[0], 64) * 256
				}
				return rmsHeaderBytes + dots + s.blocks*CeilDiv(a[1], 4)*16
			}
			monotone(t, [16]int64{1, n}, 0, rowSizes, rmsWorkspace, need)
			monotone(t, [16]int64{100, 0}, 1, rowSizes, rmsWorkspace, need)
		}
	}
	for _, k := range []int64{0, 1, 100, 2047, 2048, 2049, 4096} {
		need := func(a [16]int64) int64 {
			if s := topKSegmentsOf(a[1], a[2]); s > 1 {
				return 8 * a[0] * s * a[2]
			}
			return 0
		}
		long := []int64{4096, 16384, 16385, 20000, 40000, 1 << 20, 2097152, 2097153, 1 << 30}
		monotone(t, [16]int64{3, 0, k}, 1, long, topKSelectWorkspace, need)
		monotone(t, [16]int64{3, 1 << 20, 0}, 2, []int64{0, 1, 2, 100, 2047, 2048, 2049, 4096}, topKSelectWorkspace, need)
	}
}

func TestRBFPlan(t *testing.T) {
	require.EqualValues(t, 1, rbfPlanOf(0, 3, 0, 1, 4).splits)
	require.EqualValues(t, 1, rbfPlanOf(1<<20, 3, 1<<20, 2, 4).splits, "rows alone fill the device")
	sizes := []int64{0, 1, 64, 65, 127, 128, 129, 192, 193, 255, 256, 511, 512, 513, 1023, 1024, 2048, 4096, 16384, 65536, 1 << 20}
	for _, bytes := range []int64{4, 8} {
		need := func(a [16]int64) int64 {
			p := rbfPlanOf(a[0], a[1], a[2], a[3], bytes)
			tile := rbfTileColumns(bytes)
			if p.points {
				tile = rbfPointTile
				require.LessOrEqual(t, a[1], p.width)
			} else {
				require.GreaterOrEqual(t, p.width*p.passes, a[3])
			}
			if tiles := CeilDiv(a[2], tile); tiles > 0 {
				require.Less(t, (p.splits-1)*CeilDiv(tiles, p.splits), tiles, "%v: the last of %d splits has columns", a, p.splits)
			}
			if p.splits == 1 {
				return 0
			}
			return rbfHeaderBytes + 8*p.splits*a[0]*a[3]
		}
		for _, d := range []int64{0, 1, 3, 5, 8, 9, 200} {
			for _, c := range []int64{0, 1, 2, 3, 4, 5, 16, 17, 64, 65, 1000} {
				for _, n := range sizes {
					monotone(t, [16]int64{n, d, 0, c}, 2, sizes, rbfWorkspace, need)
				}
				monotone(t, [16]int64{0, d, 4096, c}, 0, sizes, rbfWorkspace, need)
			}
			monotone(t, [16]int64{500, d, 1 << 16, 0}, 3, []int64{0, 1, 2, 3, 4, 5, 16, 17, 64, 65, 1000}, rbfWorkspace, need)
		}
	}
}
