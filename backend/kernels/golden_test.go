package kernels_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/backend/kernels/goldentest"
)

// TestGoldenKernels holds the references against the vectors.
func TestGoldenKernels(t *testing.T) {
	dev, err := host.Backend{}.Open(0)
	require.NoError(t, err)
	goldentest.Run(t, dev)
	require.NoError(t, dev.Close())
}
