// Package metal is the backend for Apple GPUs.
//
// Kernels are embedded as MSL, one flat text a family (objects), and compiled on the device when first loaded, with
// fast arithmetic off. Metal is opened at run time without cgo (mtl); an application that already holds darwinkit
// objects builds with the tag macdriver and passes them with [WithDriver] and [Adopt].
//
// GPU and CPU share memory: transfers are copies by the CPU once the stream has drained, the default budget is what
// the system has available, and devices say Shared. There is no double type, so f64 instances answer ErrUnsupported.
// The Metal Shading Language lets a GPU take subnormal floats for zeros: results that are defined bit for bit agree with
// other backends where no operand and no intermediate result is subnormal.
//
// The kernels were run in a simulator only (metal/internal/sim) and type-checked for macOS; nothing here has been
// measured on hardware.
package metal

import (
	"fmt"
	"sync"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/metal/mtl"
)

const name = "metal"

// autoRank places the backend after cuda and before simd and host.
const autoRank = 20

func init() { backend.Register(autoRank, New()) }

// Option changes how a backend is made.
type Option func(*Backend)

// WithDriver takes Metal from d instead of the system: an application's own objects, or a driver for tests.
func WithDriver(d mtl.Driver) Option {
	return func(b *Backend) { b.open = func() (mtl.Driver, error) { return d, nil } }
}

// withOpen replaces the loader.
func withOpen(open func() (mtl.Driver, error)) Option { return func(b *Backend) { b.open = open } }

// withAvailable replaces the question how much memory the system has left.
func withAvailable(f func() int64) Option { return func(b *Backend) { b.available = f } }

// Backend is the metal backend.
type Backend struct {
	open      func() (mtl.Driver, error)
	available func() int64

	mu     sync.Mutex
	driver mtl.Driver // once it has loaded
}

// New returns the backend over the system's Metal.
func New(opts ...Option) *Backend {
	b := &Backend{open: mtl.Open, available: availableMemory}
	for _, o := range opts {
		o(b)
	}
	return b
}

// Name implements backend.Backend.
func (b *Backend) Name() string { return name }

// Bindings lists what is compiled in.
func (b *Backend) Bindings() []backend.Binding {
	vs := variants()
	out := make([]backend.Binding, len(vs))
	for i, v := range vs {
		out[i] = v.binding
	}
	return out
}

// load opens the driver once; a failure is tried again at the next call.
func (b *Backend) load() (mtl.Driver, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.driver != nil {
		return b.driver, nil
	}
	d, err := b.open()
	if err != nil {
		return nil, err
	}
	b.driver = d
	return d, nil
}

// found is a device with how it was found.
type found struct {
	dev mtl.Device
	how string
}

// devices lists the system's devices, the one to prefer first; the caller releases them.
//
// MTLCreateSystemDefaultDevice answers nil to processes without a window server (ssh, launch daemons, CI) although
// the list may hold a device: then the list decides, low-power devices last.
func (b *Backend) devices() ([]found, error) {
	drv, err := b.load()
	if err != nil {
		return nil, err
	}
	first, err := drv.Default()
	if err != nil {
		return nil, unavailable("the default device cannot be asked for", err)
	}
	list, err := drv.Devices()
	if err != nil {
		release(first)
		return nil, unavailable("the devices cannot be listed", err)
	}
	var out []found
	if first != nil {
		out = append(out, found{first, "default device"})
	}
	how := "from the device list"
	if first == nil {
		how = "from the device list, as the system names no default device"
	}
	for _, low := range []bool{false, true} {
		for _, d := range list {
			i := d.Info()
			if i.LowPower != low {
				continue
			}
			if first != nil && i.Registry == first.Info().Registry {
				d.Release()
				continue
			}
			out = append(out, found{d, how})
		}
	}
	if len(out) == 0 {
		return nil, unavailable("the system names no default device and lists none", nil)
	}
	return out, nil
}

func release(d mtl.Device) {
	if d != nil {
		d.Release()
	}
}

func releaseAll(list []found) {
	for _, f := range list {
		f.dev.Release()
	}
}

// features are the capability words of a device.
const (
	featureReduce = "simd_reduction" // simd_sum and its kind
	featureMatrix = "simd_matrix"    // 8×8 simdgroup_matrix
	featureF64    = "f64"            // no device has it
)

// lacking says what a missing feature means.
var lacking = map[string]string{
	featureReduce: "the GPU has no simdgroup reductions (needs family Apple7 or Mac2)",
	featureMatrix: "the GPU has no simdgroup matrices (needs family Apple7)",
	featureF64:    "the Metal Shading Language has no double type",
}

func info(f found, ordinal int, driver string) backend.Info {
	m := f.dev.Info()
	i := backend.Info{Backend: name, Name: m.Name, Ordinal: ordinal, UUID: fmt.Sprintf("registry-%x", m.Registry),
		Driver: driver + ", " + f.how, Memory: m.WorkingSet, Shared: m.Unified}
	if m.SIMDReduce {
		i.Features = append(i.Features, featureReduce)
	}
	if m.SIMDMatrix {
		i.Features = append(i.Features, featureMatrix)
	}
	return i
}

// Probe implements backend.Backend. Info.Driver says how a device was found.
func (b *Backend) Probe() ([]backend.Info, error) {
	list, err := b.devices()
	if err != nil {
		return nil, err
	}
	defer releaseAll(list)
	out := make([]backend.Info, len(list))
	for i, f := range list {
		out[i] = info(f, i, b.driver.Name())
	}
	return out, nil
}

// Open implements backend.Backend.
func (b *Backend) Open(ordinal int, opts ...backend.Option) (backend.Device, error) {
	list, err := b.devices()
	if err != nil {
		return nil, err
	}
	if ordinal < 0 || ordinal >= len(list) {
		releaseAll(list)
		return nil, unavailable(fmt.Sprintf("there is no device %d, only %d", ordinal, len(list)), nil)
	}
	for i, f := range list {
		if i != ordinal {
			f.dev.Release()
		}
	}
	return newDevice(b, list[ordinal], ordinal, backend.Configure(opts))
}
