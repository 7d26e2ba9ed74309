// Package cuda is the backend for NVIDIA GPUs. The driver library is opened at run time, so a program that
// imports this package builds and starts anywhere, without a toolkit and without cgo; where there is no driver,
// Probe says which places were tried.
//
// Kernels are compiled ahead of time for the architectures named in the manifest and embedded; a device newer
// than those gets their PTX, which its driver compiles. A variant is a value bound with [Bind].
//
//	d, err := cuda.New().Open(0, backend.WithBudget(8<<30))
//
// Every call sets the device's context on the calling thread and puts back what was there, so any goroutine may
// call, and a caller's own use of the driver on the same thread is not disturbed.
package cuda

import (
	"fmt"
	"sync"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/cuda/driver"
)

const name = "cuda"

// autoRank places the backend before metal, simd and host.
const autoRank = 10

func init() { backend.Register(autoRank, New()) }

type cuda struct {
	open     func() (driver.API, error) // once
	objects  *objects
	variants func() []*variant // what is bound, best first per instance

	mu       sync.Mutex
	bindings []backend.Binding // of variants
}

// Option configures New.
type Option func(*cuda)

// WithDriver uses another implementation of the driver; open is called once, when it is first needed.
func WithDriver(open func() (driver.API, error)) Option {
	return func(b *cuda) { b.open = sync.OnceValues(open) }
}

// New returns the backend over the driver library of this system.
func New(opts ...Option) backend.Backend { return newBackend(opts) }

func newBackend(opts []Option) *cuda {
	b := &cuda{open: sync.OnceValues(driver.Open), objects: builtIn(), variants: variants}
	for _, o := range opts {
		o(b)
	}
	return b
}

// Name is "cuda".
func (b *cuda) Name() string { return name }

// Bindings lists every variant compiled in, best first per instance.
func (b *cuda) Bindings() []backend.Binding {
	vs := b.variants()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.bindings) != len(vs) {
		b.bindings = make([]backend.Binding, len(vs))
		for i, v := range vs {
			b.bindings[i] = v.binding
		}
	}
	return b.bindings
}

// Probe lists the devices without making a context on any.
func (b *cuda) Probe() ([]backend.Info, error) {
	api, err := b.open()
	if err != nil {
		return nil, err
	}
	n, s := api.DeviceCount()
	if err := driver.Check("cuDeviceGetCount", s); err != nil {
		return nil, &backend.UnavailableError{Backend: name, Reason: "cannot count devices", Err: err}
	}
	infos := make([]backend.Info, n)
	for i := range n {
		c, err := describe(api, i)
		if err != nil {
			return nil, err
		}
		infos[i] = c.info
	}
	return infos, nil
}

// card is what is known of a device before a context is made on it.
type card struct {
	info       backend.Info
	handle     driver.Device
	capability capability
	shared     int   // most dynamic shared memory of a block, bytes
	l2         int64 // bytes
}

// describe reads the properties of a device.
func describe(api driver.API, ordinal int) (card, error) {
	c := card{info: backend.Info{Backend: name, Ordinal: ordinal}}
	var err error
	fail := func(call string, s driver.Status) {
		if err == nil && s != driver.Success {
			err = unusable(ordinal, s.Words(), driver.Check(call, s))
		}
	}
	attr := func(a driver.Attribute) int {
		v, s := api.DeviceAttribute(c.handle, a)
		fail("cuDeviceGetAttribute", s)
		return v
	}
	var s driver.Status
	c.handle, s = api.DeviceGet(ordinal)
	fail("cuDeviceGet", s)
	if err != nil {
		return c, err
	}
	c.info.Name, s = api.DeviceName(c.handle)
	fail("cuDeviceGetName", s)
	uuid, s := api.DeviceUUID(c.handle)
	fail("cuDeviceGetUuid", s)
	c.info.UUID = fmt.Sprintf("GPU-%x-%x-%x-%x-%x", uuid[:4], uuid[4:6], uuid[6:8], uuid[8:10], uuid[10:])
	v, s := api.Version()
	fail("cuDriverGetVersion", s)
	c.info.Driver = fmt.Sprintf("CUDA %d.%d", v/1000, v%1000/10)
	c.info.Memory, s = api.DeviceTotalMem(c.handle)
	fail("cuDeviceTotalMem", s)
	c.info.Units = attr(driver.MultiprocessorCount)
	c.info.Shared = attr(driver.Integrated) != 0
	c.capability = capability{attr(driver.ComputeMajor), attr(driver.ComputeMinor)}
	c.info.Features = c.capability.features()
	c.shared = attr(driver.SharedPerBlockOptin)
	c.l2 = int64(attr(driver.L2CacheBytes))
	switch {
	case attr(driver.ComputeMode) == driver.ModeProhibited:
		c.info.Blocked = "compute mode is prohibited"
	case c.capability.number() < 80:
		c.info.Blocked = fmt.Sprintf("compute capability %v, needs 8.0", c.capability)
	}
	return c, err
}

// Open makes a context on one device, and on no other.
func (b *cuda) Open(ordinal int, opts ...backend.Option) (backend.Device, error) {
	api, err := b.open()
	if err != nil {
		return nil, err
	}
	n, s := api.DeviceCount()
	if err := driver.Check("cuDeviceGetCount", s); err != nil {
		return nil, &backend.UnavailableError{Backend: name, Reason: "cannot count devices", Err: err}
	}
	if ordinal < 0 || ordinal >= n {
		return nil, &backend.UnavailableError{Backend: name, Reason: fmt.Sprintf("no device %d, there are %d", ordinal, n)}
	}
	c, err := describe(api, ordinal)
	if err != nil {
		return nil, err
	}
	if c.info.Blocked != "" {
		return nil, unusable(ordinal, c.info.Blocked, nil)
	}
	ctx, s := api.PrimaryRetain(c.handle)
	if s != driver.Success {
		return nil, unusable(ordinal, s.Words(), driver.Check("cuDevicePrimaryCtxRetain", s))
	}
	d := newDevice(b, api, c, ctx, backend.Configure(opts))
	d.release = func() driver.Status { return api.PrimaryRelease(c.handle) }
	if err := d.roomy(); err != nil {
		d.release()
		return nil, err
	}
	return d, nil
}

// Share returns a device that works in a context of the caller's, on memory of either. Close leaves the context
// alone. The context must outlive the device.
func Share(api driver.API, ordinal int, ctx driver.Context, opts ...backend.Option) (backend.Device, error) {
	b := newBackend([]Option{WithDriver(func() (driver.API, error) { return api, nil })})
	c, err := describe(api, ordinal)
	if err != nil {
		return nil, err
	}
	if ctx == 0 {
		return nil, unusable(ordinal, "no context to share", nil)
	}
	return newDevice(b, api, c, ctx, backend.Configure(opts)), nil
}
