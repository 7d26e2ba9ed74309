package cuda

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

const (
	tiledThreads = 256
	tiledTokens  = 256
	tiledSpills  = "division of work, once a segment; none in the loop over documents"
)

var maxsimTiled = tileLimits{kernel: "maxsim_f32", variant: "tiled", bytes: 4, operands: []int{0, 2}, winner: 7}

var _ = Bind(kernels.MaxSim, backend.Binding{
	Kernel: "maxsim_f32", Variant: "tiled", Requires: []string{"sm_80"}, Class: "fma_chain",
	Tile: map[string]int64{"tq": 32, "td": tiledTokens, "d": 32}, Accept: tiledAccept,
	Note: "register tiles on the ordinary units, the bits of naive; d a multiple of 4",
}, Launcher[kernels.MaxSimArgs]{
	Source: "maxsim_tiled", Spills: tiledSpills,
	Stages: []Stage[kernels.MaxSimArgs]{tiledStage("r32", 32, false), tiledStage("r32w", 32, true), tiledStage("r64", 64, false), tiledStage("r64w", 64, true)},
})

func tiledAccept(c *backend.Call) error {
	if c.Attrs[0] != 0 {
		return maxsimTiled.refuse("normalisation")
	}
	return maxsimTiled.accept(c)
}

// tiledStage is the form for blocks of the given query rows; the dynamic shared memory is two stages of 128 bytes
// of K of both sides.
func tiledStage(name string, rows int64, winner bool) Stage[kernels.MaxSimArgs] {
	shared := 2 * (int(rows) + tiledTokens) * 128
	return Stage[kernels.MaxSimArgs]{Name: name, Shared: shared, Geometry: func(a *kernels.MaxSimArgs, c *backend.Call, g *Geometry) {
		g.Line(int64(g.Units)*2, tiledThreads)
		g.Shared = uint32(shared)
		short, wants := a.QueryOff.Total <= 32, !c.Operands[7].Absent()
		g.Skip = short != (rows == 32) || wants != winner || c.Axes[axisND] == 0 || c.Axes[axisNQ] == 0 && !wants
	}}
}
