package metal

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/conform"
	"github.com/likbench/likbench/backend/kernels/goldentest"
	"github.com/likbench/likbench/metal/internal/sim"
)

// TestGolden runs the public vectors through the MSL in the simulator.
func TestGolden(t *testing.T) {
	b, _ := simulated(t, sim.Orders[0])
	d, err := b.Open(0)
	require.NoError(t, err)
	goldentest.Run(t, d)
	require.NoError(t, d.Close())
}

func FuzzKernels(f *testing.F) {
	b, _ := simulated(f, sim.Orders[0])
	conform.Fuzz(f, conform.Config{Backend: b, MaxWork: maxWork})
}
