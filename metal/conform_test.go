package metal

import (
	"flag"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/conform"
	"github.com/likbench/likbench/internal/testneed"
	"github.com/likbench/likbench/metal/internal/sim"
	"github.com/likbench/likbench/metal/mtl"
)

// simulated is the backend over the simulator.
func simulated(t testing.TB, o sim.Order) (*Backend, mtl.Driver) {
	t.Helper()
	if err := sim.Available(); err != nil {
		testneed.Skip(t, "clang", err.Error())
	}
	drv, err := sim.New(sim.Config{Order: o})
	require.NoError(t, err)
	return New(WithDriver(drv)), drv
}

// maxWork keeps the simulator, at about a microsecond a fiber, to seconds.
const maxWork = 3_000_000

// TestConform runs the MSL in the simulator, the fibers of a threadgroup taking turns in three orders. It also holds the
// threadgroup memory that kernels took against what their bindings state, and every entry runs.
func TestConform(t *testing.T) {
	whole := !strings.Contains(flag.Lookup("test.run").Value.String(), "/") // a filter may leave kernels out
	for i, o := range sim.Orders {
		t.Run(o.String(), func(t *testing.T) {
			b, drv := simulated(t, o)
			conform.Run(t, conform.Config{Backend: b, MaxWork: maxWork, NoSuite: i > 0, Seed: uint64(i)})
			taken := sim.ThreadgroupMemory(drv)
			for _, v := range variants() {
				for _, s := range v.stages {
					n, ran := taken[s.entry]
					require.True(t, ran || !whole, "no case runs %s", s.entry)
					if ran {
						require.LessOrEqual(t, n, s.memory, "threadgroup memory of %s", s.entry)
						require.Less(t, s.memory-n, int64(512), "threadgroup memory of %s is overstated", s.entry)
					}
				}
			}
		})
	}
}

// TestConformOnHardware runs the suite on this machine's GPU: "metal" among LIKBENCH_REQUIRE demands one.
func TestConformOnHardware(t *testing.T) {
	conform.Run(t, conform.Config{Backend: New()})
}
