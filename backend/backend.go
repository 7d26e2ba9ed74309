package backend

// Backend is one way of running kernels on this machine.
type Backend interface {
	// Name is lower case and stable: it stands in flags and reports.
	Name() string
	// Bindings lists what is compiled in, best variant first per instance. It needs no device.
	Bindings() []Binding
	// Probe lists the devices present. It is cheap, and fails with
	// *UnavailableError saying why there is none.
	Probe() ([]Info, error)
	// Open takes the device with this ordinal as Probe lists it.
	Open(ordinal int, opts ...Option) (Device, error)
}

// Info describes a device.
type Info struct {
	Backend  string   // name of the backend
	Name     string   // what the vendor calls it
	Ordinal  int      // as used in "cuda:1"
	UUID     string   // where the driver has one
	Driver   string   // version of the driver, where there is one
	Features []string // capability words, as used by Binding.Requires
	Memory   int64    // bytes of device memory
	Shared   bool     // the memory is the system's
	Units    int      // multiprocessors, cores
	Cache    int64    // bytes of the last-level cache, 0 = unknown
	Blocked  string   // why the device cannot be opened now, if that is known without opening it
}

// Has reports whether the device has the feature.
func (i *Info) Has(feature string) bool {
	for _, f := range i.Features {
		if f == feature {
			return true
		}
	}
	return false
}

// Missing returns the first required feature that the device lacks, or "".
func (i *Info) Missing(requires []string) string {
	for _, r := range requires {
		if !i.Has(r) {
			return r
		}
	}
	return ""
}

// Binding is one variant of one kernel instance, as compiled in.
type Binding struct {
	Kernel   string            // instance: "maxsim_bf16"
	Variant  string            // "wgmma"
	Requires []string          // feature words of Info.Features
	Accept   func(*Call) error // limits on axes, alignment and optional operands; nil takes all. *UnsupportedError
	Tile     map[string]int64  // axis sizes that conformance must straddle
	Class    string            // variants of one class give the same bits; "" is a class of its own
	Note     string            // for the support table: what this variant is
}

// Option configures Open.
type Option func(*OpenConfig)

// OpenConfig is the result of applying options to the defaults.
type OpenConfig struct {
	Budget  int64 // ceiling for bytes allocated on the device; 0 = none
	Poison  bool  // fill scratch with 0xFF before each launch: used by conformance
	Workers int   // goroutines of a CPU device; 0 = all cores
}

// WithBudget sets a ceiling on the device's allocations. Beyond it Alloc fails
// with an *AllocError that is ErrBudget. 0 is no ceiling; less, as what is left of a sum that
// was used up, allows nothing.
func WithBudget(bytes int64) Option { return func(c *OpenConfig) { c.Budget = bytes } }

// WithPoison fills scratch memory with 0xFF bytes (NaN) before each launch.
func WithPoison() Option { return func(c *OpenConfig) { c.Poison = true } }

// WithWorkers sets the number of workers of a CPU device. Results do not depend on it.
func WithWorkers(n int) Option { return func(c *OpenConfig) { c.Workers = n } }

// Configure applies options to the defaults.
func Configure(opts []Option) OpenConfig {
	var c OpenConfig
	for _, o := range opts {
		o(&c)
	}
	return c
}
