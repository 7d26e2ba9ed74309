package metal

import (
	"math"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// Both variants of both kernels take a pair of query and document a thread or threadgroup; axes are tq, d, nq, td, nd.
const (
	maxSimThreads    = 32     // of the naive variant
	maxSimTile       = 32     // TILE in src/lateinteraction/maxsim_simdgroup.h
	maxSimTileThread = 128    // TILE_THREADS
	maxSimMemory     = 13_312 // bytes: as the header states, rounded up to 256
)

func pairThreads(c *backend.Call, g *Geometry) {
	g.Plane(CeilDiv(c.Axes[4], maxSimThreads), max(c.Axes[2], 1), maxSimThreads)
}

// pairGroups gives every pair a threadgroup.
func pairGroups(c *backend.Call, g *Geometry) {
	g.Plane(c.Axes[4], max(c.Axes[2], 1), maxSimTileThread)
}

var maxSimTiles = map[string]int64{"d": maxSimTile, "td": maxSimTile, "tq": maxSimTile}

// acceptMaxSim refuses documents too long for a winner's 32 bits, which Check refuses too where it can see them.
func acceptMaxSim(variant string) func(*backend.Call) error {
	return func(c *backend.Call) error {
		if c.Axes[3] > math.MaxInt32 {
			return &backend.UnsupportedError{Backend: name, Kernel: "maxsim", Variant: variant, Reason: "more than 2^31-1 document tokens"}
		}
		return nil
	}
}

func bindMaxSim(instance string) bool {
	return Bind(kernels.MaxSim, backend.Binding{Kernel: instance, Variant: "simdgroup", Requires: []string{featureReduce, featureMatrix},
		Accept: acceptMaxSim("simdgroup"), Tile: maxSimTiles, Note: "32×32 tiles, 8×8 matrix products"},
		Launcher[kernels.MaxSimArgs]{Stages: []Stage[kernels.MaxSimArgs]{{Threads: maxSimTileThread, Width: 32, Memory: maxSimMemory,
			Geometry: func(_ *kernels.MaxSimArgs, c *backend.Call, g *Geometry) { pairGroups(c, g) }}}}) &&
		Bind(kernels.MaxSim, backend.Binding{Kernel: instance, Variant: "naive", Accept: acceptMaxSim("naive"), Note: "a thread a pair"},
			Launcher[kernels.MaxSimArgs]{Stages: []Stage[kernels.MaxSimArgs]{{Threads: maxSimThreads,
				Geometry: func(_ *kernels.MaxSimArgs, c *backend.Call, g *Geometry) { pairThreads(c, g) }}}})
}

var (
	_ = bindMaxSim("maxsim_f32")
	_ = bindMaxSim("maxsim_bf16")
)

var _ = Bind(kernels.MaxSimScaled, backend.Binding{Kernel: "maxsim_scaled_f8e4m3", Variant: "simdgroup", Requires: []string{featureReduce, featureMatrix},
	Accept: acceptMaxSim("simdgroup"), Tile: maxSimTiles, Note: "widened to f32: 32×32 tiles, 8×8 matrix products"},
	Launcher[kernels.MaxSimScaledArgs]{Stages: []Stage[kernels.MaxSimScaledArgs]{{Threads: maxSimTileThread, Width: 32, Memory: maxSimMemory,
		Geometry: func(_ *kernels.MaxSimScaledArgs, c *backend.Call, g *Geometry) { pairGroups(c, g) }}}})

var _ = Bind(kernels.MaxSimScaled, backend.Binding{Kernel: "maxsim_scaled_f8e4m3", Variant: "naive", Accept: acceptMaxSim("naive"), Note: "widened to f32: a thread a pair"},
	Launcher[kernels.MaxSimScaledArgs]{Stages: []Stage[kernels.MaxSimScaledArgs]{{Threads: maxSimThreads,
		Geometry: func(_ *kernels.MaxSimScaledArgs, c *backend.Call, g *Geometry) { pairThreads(c, g) }}}})
