package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/kernels/goldentest"
)

// TestGoldenOnDevice runs the public vectors on the first device.
func TestGoldenOnDevice(t *testing.T) {
	d := onDevice(t)
	goldentest.Run(t, d)
	require.NoError(t, d.Close())
}
