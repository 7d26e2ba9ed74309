package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/conform"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/cuda/driver"
	"github.com/likbench/likbench/cuda/driver/fake"
)

// TestConformFake runs the whole suite on the fake driver: everything but the device code.
func TestConformFake(t *testing.T) {
	d := fake.New(fake.Hopper(0))
	conform.Run(t, conform.Config{Backend: onFake(d), MaxWork: 1e6})
	require.Equal(t, fake.Counts{Pushes: d.Calls("Push"), Pops: d.Calls("Push")}, d.Counts(), "everything is given back")
	require.EqualValues(t, 0, d.Devices[0].Used)
}

// TestBindingsFake runs the real bindings on the fake driver, with the reference in the place of each entry: their
// geometry is one that a driver takes, their tensor maps are ones it encodes, and every declared case finds a
// variant. The first cases in the plain layout, since a reference that runs at every stage must not be in place.
func TestBindingsFake(t *testing.T) {
	for _, card := range []fake.Device{fake.Hopper(0), {Name: "Fake A100", Major: 8, Units: 108, Memory: 1 << 36}} {
		t.Run(card.Name, func(t *testing.T) {
			d := fake.New(card)
			for _, v := range variants() {
				k, in := kernel.Find(v.binding.Kernel)
				for i := range v.stages {
					d.Kernels[v.stages[i].entry] = reference(k, in)
				}
			}
			b := New(WithDriver(func() (driver.API, error) { return d, nil }))
			conform.Run(t, conform.Config{Backend: b, MaxWork: 1e6, Smoke: true, NoSuite: true})
		})
	}
}
