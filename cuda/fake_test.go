package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/conform"
	"github.com/likbench/likbench/cuda/driver/fake"
)

// TestConformFake runs the whole suite on the fake driver: everything but the device code.
func TestConformFake(t *testing.T) {
	d := fake.New(fake.Hopper(0))
	conform.Run(t, conform.Config{Backend: onFake(d), MaxWork: 1e6})
	require.Equal(t, fake.Counts{Pushes: d.Calls("Push"), Pops: d.Calls("Push")}, d.Counts(), "everything is given back")
	require.EqualValues(t, 0, d.Devices[0].Used)
}
