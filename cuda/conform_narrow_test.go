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

// narrowly is the suite's configuration on two multiprocessors, where of the forms of maxsim those for much to read run.
func narrowly(t *testing.T, open func() (driver.API, error)) conform.Config {
	for _, l := range []*wgmmaLimits{&maxsimWGMMA, &scaledWGMMA} {
		l.pair = 0
		t.Cleanup(func() { l.pair = pairBytes })
	}
	b := New(WithDriver(func() (driver.API, error) {
		api, err := open()
		return narrow{api, 2}, err
	}))
	return conform.Config{Backend: b, MaxWork: maxWork, NoSuite: true}
}

// TestConformNarrow runs the cases on two multiprocessors: a block has many pieces of work then, and rings and queues
// go round, as with operands that are many times as large.
func TestConformNarrow(t *testing.T) {
	cfg := narrowly(t, driver.Open)
	conform.Run(t, sanitized(t, cfg, narrowly))
}
