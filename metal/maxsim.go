package metal

import (
	"math"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
)

// Sizes of src/lateinteraction. Axes of both kernels are tq, d, nq, td, nd.
const (
	maxSimThreads     = 32     // of the naive variant: a thread a pair of query and document
	maxSimTile        = 32     // TILE in maxsim_simdgroup.h
	maxSimTileThreads = 128    // TILE_THREADS: a threadgroup a pair
	maxSimMemory      = 13_312 // bytes: as maxsim_simdgroup.h states, rounded up to 256
	offsetsThreads    = 256    // OFFSETS_THREADS in src/msl/offsets.h
	offsetsGroups     = 2      // ragged axes: queries and documents
)

var maxSimTiles = map[string]int64{"d": maxSimTile, "td": maxSimTile, "tq": maxSimTile}

// acceptMaxSim refuses token axes beyond the 32 bits of a trusted offset and of a winner, and documents beyond those of
// a position in a grid.
func acceptMaxSim(variant string) func(*backend.Call) error {
	return func(c *backend.Call) error {
		if max(c.Axes[0], c.Axes[3], c.Axes[4]) > math.MaxInt32 {
			return &backend.UnsupportedError{Backend: name, Kernel: "maxsim", Variant: variant, Reason: "more than 2^31-1 tokens or documents"}
		}
		return nil
	}
}

// maxSimLauncher is the stages of either kernel: offsets that can be trusted, then the pairs.
func maxSimLauncher[A any](pairs Stage[A], x func(nd int64) int64) Launcher[A] {
	threads := pairs.Threads
	pairs.Geometry = func(_ *A, c *backend.Call, g *Geometry) { g.Plane(x(c.Axes[4]), max(c.Axes[2], 1), threads) }
	return Launcher[A]{
		Workspace: func(c *backend.Call) int64 { return 4 * (c.Axes[2] + c.Axes[4] + 2) },
		Stages: []Stage[A]{
			{Name: "offsets", Threads: offsetsThreads, Memory: rowMemory, Geometry: func(_ *A, _ *backend.Call, g *Geometry) { g.Line(offsetsGroups, offsetsThreads) }},
			pairs,
		},
	}
}

func bindMaxSim[A any](k *kernel.Kernel[A], instance, how string) bool {
	tiled := Stage[A]{Threads: maxSimTileThreads, Width: 32, Memory: maxSimMemory}
	serial := Stage[A]{Threads: maxSimThreads}
	return Bind(k, backend.Binding{Kernel: instance, Variant: "simdgroup", Requires: []string{featureReduce, featureMatrix},
		Accept: acceptMaxSim("simdgroup"), Tile: maxSimTiles, Note: how + "32×32 tiles, 8×8 matrix products"},
		maxSimLauncher(tiled, func(nd int64) int64 { return nd })) &&
		Bind(k, backend.Binding{Kernel: instance, Variant: "naive", Requires: []string{featureReduce}, Accept: acceptMaxSim("naive"), Note: how + "a thread a pair"},
			maxSimLauncher(serial, func(nd int64) int64 { return CeilDiv(nd, maxSimThreads) }))
}

var (
	_ = bindMaxSim(kernels.MaxSim, "maxsim_f32", "")
	_ = bindMaxSim(kernels.MaxSim, "maxsim_bf16", "")
	_ = bindMaxSim(kernels.MaxSimScaled, "maxsim_scaled_f8e4m3", "widened to f32: ")
)
