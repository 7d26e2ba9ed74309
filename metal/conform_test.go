package metal_test

import (
	"testing"

	"github.com/likbench/likbench/backend/conform"
	"github.com/likbench/likbench/internal/testneed"
	"github.com/likbench/likbench/metal"
	"github.com/likbench/likbench/metal/internal/sim"
)

// simulated is the backend over the simulator.
func simulated(t testing.TB, o sim.Order) *metal.Backend {
	t.Helper()
	if err := sim.Available(); err != nil {
		testneed.Skip(t, "clang", err.Error())
	}
	drv, err := sim.New(sim.Config{Order: o})
	if err != nil {
		t.Fatal(err)
	}
	return metal.New(metal.WithDriver(drv))
}

// maxWork keeps the simulator, at about a microsecond a fiber, to seconds.
const maxWork = 3_000_000

// TestConform runs the MSL in the simulator, the fibers of a threadgroup taking turns in three orders.
func TestConform(t *testing.T) {
	for i, o := range sim.Orders {
		t.Run(o.String(), func(t *testing.T) {
			conform.Run(t, conform.Config{Backend: simulated(t, o), MaxWork: maxWork, NoSuite: i > 0, Seed: uint64(i)})
		})
	}
}
