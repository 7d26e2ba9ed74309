package cuda

import (
	"testing"

	"github.com/likbench/likbench/backend/conform"
	"github.com/likbench/likbench/cuda/driver"
)

// narrow is a driver whose devices have fewer multiprocessors than they have.
type narrow struct {
	driver.API
	units int
}

func (n narrow) DeviceAttribute(d driver.Device, a driver.Attribute) (int, driver.Status) {
	v, s := n.API.DeviceAttribute(d, a)
	if a == driver.MultiprocessorCount {
		v = min(v, n.units)
	}
	return v, s
}

// TestConformNarrow runs the cases on two multiprocessors: a block has many pieces of work then, and rings and queues
// go round, as with operands that are many times as large. Of the forms of maxsim those for much to read run.
func TestConformNarrow(t *testing.T) {
	for _, l := range []*wgmmaLimits{&maxsimWGMMA, &scaledWGMMA} {
		l.pair = 0
		defer func() { l.pair = pairBytes }()
	}
	open := WithDriver(func() (driver.API, error) {
		api, err := driver.Open()
		return narrow{api, 2}, err
	})
	conform.Run(t, conform.Config{Backend: New(open), MaxWork: maxWork, Smoke: testing.Short(), NoSuite: true})
}
