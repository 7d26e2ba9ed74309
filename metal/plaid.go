package metal

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
)

// Sizes of src/plaid.
const (
	plaidThreads = 32 // of the naive variants
	plaidSimd    = 32 // ENCODE_LANES, APPROX_LANES: a simdgroup

	dotTile       = 64     // DOT_ROWS and DOT_COLUMNS in tile.h
	dotDepth      = 16     // DOT_DEPTH
	dotThreads    = 256    // DOT_THREADS
	dotMemory     = 8704   // bytes: dot_memory in tile.h
	nearestMemory = 16_896 // bytes: as nearest_centroid.h states
	encodeMemory  = 1024   // bytes: as residual_encode.h states

	kmeansThreads = 256  // KMEANS_THREADS
	kmeansMemory  = 2048 // bytes: as kmeans_update.h states

	markThreads   = 64  // MARK_THREADS
	gatherThreads = 256 // GATHER_THREADS

	pairTile    = 32   // PAIR_TILE in residual_pair.h
	pairThreads = 128  // PAIR_THREADS
	pairMemory  = 8960 // bytes: as residual_maxsim.h states, rounded up to 64

	matrixMemory = 9984 // bytes: as residual_simdgroup.h states
)

// Classes of variants with equal bits: those of the definition, and what matrix units make of it.
const (
	plaidClass  = "canonical"
	matrixClass = "matrix"
)

// plaidBinding describes a variant. Of those that require as much, the one bound first is preferred.
func plaidBinding(instance, variant, note string, tile map[string]int64, requires []string, axes ...int) backend.Binding {
	return backend.Binding{Kernel: instance, Variant: variant, Class: plaidClass, Requires: requires, Tile: tile, Note: note,
		Accept: acceptAxes(instance, variant, axes...)}
}

var reducing = []string{featureReduce}

// lineOf is a stage of one thread an element.
func lineOf[A any](stage string, threads int, elements func(c *backend.Call) int64) Stage[A] {
	return Stage[A]{Name: stage, Threads: threads, Geometry: func(_ *A, c *backend.Call, g *Geometry) {
		g.Line(CeilDiv(elements(c), int64(threads)), threads)
	}}
}

// offsetsStage makes the offsets of two ragged axes trustworthy.
func offsetsStage[A any]() Stage[A] {
	return Stage[A]{Name: "offsets", Threads: offsetsThreads, Width: 32, Memory: rowMemory,
		Geometry: func(_ *A, _ *backend.Call, g *Geometry) { g.Line(offsetsGroups, offsetsThreads) }}
}

// nearest_centroid: axes n, d, k.
var (
	_ = Bind(kernels.NearestCentroid, plaidBinding("nearest_centroid", "tiled", "64×64 tiles; each thread carries 4×4 chains",
		map[string]int64{"n": dotTile, "k": dotTile, "d": dotDepth}, nil, 0),
		Launcher[kernels.NearestCentroidArgs]{Stages: []Stage[kernels.NearestCentroidArgs]{{Threads: dotThreads, Memory: nearestMemory,
			Geometry: func(_ *kernels.NearestCentroidArgs, c *backend.Call, g *Geometry) {
				g.Line(CeilDiv(c.Axes[0], dotTile), dotThreads)
			}}}})
	_ = Bind(kernels.NearestCentroid, plaidBinding("nearest_centroid", "naive", "a thread a token", nil, nil, 0),
		Launcher[kernels.NearestCentroidArgs]{Stages: []Stage[kernels.NearestCentroidArgs]{
			lineOf[kernels.NearestCentroidArgs]("", plaidThreads, func(c *backend.Call) int64 { return c.Axes[0] })}})
)

// kmeans_update: axes n, d, k.
var _ = Bind(kernels.KMeansUpdate, plaidBinding("kmeans_update", "segmented", "tokens in segments of a code; a threadgroup a centroid",
	map[string]int64{"n": kmeansThreads, "k": kmeansThreads, "d": kmeansThreads}, reducing, 0, 2),
	Launcher[kernels.KMeansUpdateArgs]{
		Workspace: func(c *backend.Call) int64 { return 4 * (c.Axes[0] + 2*c.Axes[2]) },
		Stages: []Stage[kernels.KMeansUpdateArgs]{
			lineOf[kernels.KMeansUpdateArgs]("clear", kmeansThreads, func(c *backend.Call) int64 { return c.Axes[2] }),
			lineOf[kernels.KMeansUpdateArgs]("count", kmeansThreads, func(c *backend.Call) int64 { return c.Axes[0] }),
			{Name: "starts", Threads: kmeansThreads, Width: 32, Memory: rowMemory,
				Geometry: func(_ *kernels.KMeansUpdateArgs, _ *backend.Call, g *Geometry) { g.Line(1, kmeansThreads) }},
			lineOf[kernels.KMeansUpdateArgs]("place", kmeansThreads, func(c *backend.Call) int64 { return c.Axes[0] }),
			{Threads: kmeansThreads, Memory: kmeansMemory, Geometry: func(_ *kernels.KMeansUpdateArgs, c *backend.Call, g *Geometry) {
				g.Line(c.Axes[2], kmeansThreads)
				g.Skip = g.Skip || c.Axes[1] == 0
			}},
		}})

// residual_encode: axes n, d, k, cut, w, rb.
var (
	_ = Bind(kernels.ResidualEncode, plaidBinding("residual_encode", "simdgroup", "a simdgroup a token", map[string]int64{"d": plaidSimd}, nil, 0),
		Launcher[kernels.ResidualEncodeArgs]{Stages: []Stage[kernels.ResidualEncodeArgs]{{Threads: plaidSimd, Width: 32, Memory: encodeMemory,
			Geometry: func(_ *kernels.ResidualEncodeArgs, c *backend.Call, g *Geometry) { g.Line(c.Axes[0], plaidSimd) }}}})
	_ = Bind(kernels.ResidualEncode, plaidBinding("residual_encode", "naive", "a thread a token", nil, nil, 0),
		Launcher[kernels.ResidualEncodeArgs]{Stages: []Stage[kernels.ResidualEncodeArgs]{
			lineOf[kernels.ResidualEncodeArgs]("", plaidThreads, func(c *backend.Call) int64 { return c.Axes[0] })}})
)

// cellAxes: both kernels of centroid scores have axes tq, d, k, p; cell is the operand of the cells, their scores
// follow.
const (
	cellTokens    = 0
	cellCentroids = 2
	cellCells     = 3
)

// wantsCells is whether the best cells are asked for, and whether only one of the two operands is there.
func wantsCells(c *backend.Call, cell int) (wanted, spare bool) {
	no, none := c.Operands[cell].Absent(), c.Operands[cell+1].Absent()
	return !(no && none) && c.Axes[cellCells] > 0, no != none
}

// cellWorkspace is what src/plaid/cells.h keeps in scratch; sorted says whether the selection may sort there.
func cellWorkspace(cell int, sorted bool) func(*backend.Call) int64 {
	return func(c *backend.Call) int64 {
		wanted, spare := wantsCells(c, cell)
		if !wanted {
			return 0
		}
		words, p := c.Axes[cellCentroids], c.Axes[cellCells]
		if spare {
			words += p
		}
		size := int64(2)
		for size < p {
			size *= 2
		}
		if sorted && size > radixLocal {
			words += 2 * size
		}
		return 4 * c.Axes[cellTokens] * words
	}
}

// bindCells binds both variants of a kernel of centroid scores.
func bindCells[A any](k *kernel.Kernel[A], cell int) bool {
	skip := func(c *backend.Call, g *Geometry) {
		wanted, _ := wantsCells(c, cell)
		g.Skip = g.Skip || !wanted
	}
	tiled := Launcher[A]{Workspace: cellWorkspace(cell, true), Stages: []Stage[A]{
		{Name: "scores", Threads: dotThreads, Memory: dotMemory, Geometry: func(_ *A, c *backend.Call, g *Geometry) {
			g.Plane(CeilDiv(c.Axes[cellCentroids], dotTile), CeilDiv(c.Axes[cellTokens], dotTile), dotThreads)
		}},
		{Name: "cells", Threads: radixThreads, Width: 32, Memory: radixMemory, Geometry: func(_ *A, c *backend.Call, g *Geometry) {
			g.Line(c.Axes[cellTokens], radixThreads)
			skip(c, g)
		}},
	}}
	naive := Launcher[A]{Workspace: cellWorkspace(cell, false), Stages: []Stage[A]{
		{Name: "scores", Threads: plaidThreads, Geometry: func(_ *A, c *backend.Call, g *Geometry) {
			g.Plane(CeilDiv(c.Axes[cellTokens], plaidThreads), c.Axes[cellCentroids], plaidThreads)
		}},
		{Name: "cells", Threads: plaidThreads, Geometry: func(_ *A, c *backend.Call, g *Geometry) {
			g.Line(CeilDiv(c.Axes[cellTokens], plaidThreads), plaidThreads)
			skip(c, g)
		}},
	}}
	return Bind(k, plaidBinding(k.Name(), "tiled", "64×64 tiles, then radix selection", map[string]int64{"tq": dotTile, "k": dotTile, "d": dotDepth}, reducing, 0, 2), tiled) &&
		Bind(k, plaidBinding(k.Name(), "naive", "a thread a score, then insertion", nil, nil, 0, 2), naive)
}

var (
	_ = bindCells(kernels.CentroidScores, 4)
	_ = bindCells(kernels.CentroidScoresInt8, 6)
)

// documentWords is the words of a bitmap of the documents: the attribute of plaid_candidates.
func documentWords(c *backend.Call) int64 { return CeilDiv(int64(c.Attrs[0]), 32) }

// plaid_candidates: axes tq, p, nq, k, l, w, kw, c.
var _ = Bind(kernels.PlaidCandidates, plaidBinding("plaid_candidates", "bitmap", "a bit a document, then places by counting bits",
	map[string]int64{"c": gatherThreads}, reducing, 0, 2, 3, 4),
	Launcher[kernels.PlaidCandidatesArgs]{
		Workspace: func(c *backend.Call) int64 { return 4 * (c.Axes[2]*(1+documentWords(c)) + c.Axes[3] + 2) },
		Stages: []Stage[kernels.PlaidCandidatesArgs]{
			offsetsStage[kernels.PlaidCandidatesArgs](),
			lineOf[kernels.PlaidCandidatesArgs]("clear", gatherThreads, func(c *backend.Call) int64 {
				return c.Axes[2] * max(documentWords(c), CeilDiv(c.Axes[3], 32))
			}),
			{Name: "mark", Threads: markThreads, Geometry: func(_ *kernels.PlaidCandidatesArgs, c *backend.Call, g *Geometry) {
				g.Line(c.Axes[0]*c.Axes[1], markThreads)
			}},
			{Threads: gatherThreads, Width: 32, Memory: rowMemory, Geometry: func(_ *kernels.PlaidCandidatesArgs, c *backend.Call, g *Geometry) {
				g.Line(c.Axes[2], gatherThreads)
			}},
		}})

// listingLauncher is the stages of a kernel that scores candidates: offsets that can be trusted, then the candidates.
// nq, nd and c are axes; per is the candidates of a threadgroup.
func listingLauncher[A any](s Stage[A], nq, nd, c int, per int64) Launcher[A] {
	threads := s.Threads
	s.Geometry = func(_ *A, call *backend.Call, g *Geometry) {
		g.Plane(CeilDiv(call.Axes[c], per), call.Axes[nq], threads)
	}
	return Launcher[A]{
		Workspace: func(call *backend.Call) int64 { return 4 * (call.Axes[nq] + call.Axes[nd] + 2) },
		Stages:    []Stage[A]{offsetsStage[A](), s},
	}
}

// plaid_approx: axes k, tq, nq, td, nd, c, kw.
var (
	_ = Bind(kernels.PlaidApprox, plaidBinding("plaid_approx", "simdgroup", "a simdgroup a candidate, a lane a query token", map[string]int64{"tq": plaidSimd}, reducing, 1, 3, 5),
		listingLauncher(Stage[kernels.PlaidApproxArgs]{Threads: plaidSimd, Width: 32}, 2, 4, 5, 1))
	_ = Bind(kernels.PlaidApprox, plaidBinding("plaid_approx", "naive", "a thread a candidate", nil, reducing, 1, 3, 5),
		listingLauncher(Stage[kernels.PlaidApproxArgs]{Threads: plaidThreads}, 2, 4, 5, plaidThreads))
)

// bindPairs binds both variants of an instance that scores candidates from residuals.
func bindPairs[A any](k *kernel.Kernel[A], instance string, tq, td, nq, nd, c int) bool {
	tile := map[string]int64{"tq": pairTile, "td": pairTile, "d": pairTile}
	return Bind(k, plaidBinding(instance, "tiled", "32×32 tiles of decoded tokens; a threadgroup a candidate", tile, reducing, tq, td, c),
		listingLauncher(Stage[A]{Threads: pairThreads, Width: 32, Memory: pairMemory}, nq, nd, c, 1)) &&
		Bind(k, plaidBinding(instance, "naive", "a thread a candidate", nil, reducing, tq, td, c),
			listingLauncher(Stage[A]{Threads: plaidThreads}, nq, nd, c, plaidThreads))
}

// residual_maxsim: axes tq, d, nq, td, rb, nd, k, w, c. residual_maxsim_int8: k, tq, d, nq, td, rb, nd, w, c.
var (
	_ = Bind(kernels.ResidualMaxSim, backend.Binding{Kernel: "residual_maxsim_f16", Variant: "simdgroup", Class: matrixClass,
		Requires: []string{featureReduce, featureMatrix}, Accept: acceptAxes("residual_maxsim_f16", "simdgroup", 0, 3, 8),
		Tile: map[string]int64{"tq": pairTile, "td": pairTile, "d": pairTile}, Note: "32×32 tiles of decoded tokens, 8×8 matrix products"},
		listingLauncher(Stage[kernels.ResidualMaxSimArgs]{Threads: pairThreads, Width: 32, Memory: matrixMemory}, 2, 5, 8, 1))
	_ = bindPairs(kernels.ResidualMaxSim, "residual_maxsim_f32", 0, 3, 2, 5, 8)
	_ = bindPairs(kernels.ResidualMaxSim, "residual_maxsim_f16", 0, 3, 2, 5, 8)
	_ = bindPairs(kernels.ResidualMaxSimInt8, "residual_maxsim_int8_f32", 1, 4, 3, 6, 8)
	_ = bindPairs(kernels.ResidualMaxSimInt8, "residual_maxsim_int8_f16", 1, 4, 3, 6, 8)
)
