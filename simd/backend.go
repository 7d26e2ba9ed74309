// Package simd is the backend that runs kernels on the processor's vector units.
//
// A device has a [Level], the bundle of instructions its bodies may use, found once when
// the backend is made, and a pool of workers. A kernel body is a value bound with [Bind]:
// it says how many independent tiles a launch has and runs any range of them, so results
// never depend on the number of workers. Memory is Go memory, aligned to cache lines, and
// every launch finishes before it returns.
//
//	d, err := simd.New(simd.WithLevel(simd.AVX2)).Open(0, backend.WithBudget(1<<30))
package simd

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/klauspost/cpuid/v2"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/internal/sysmem"
)

const name = "simd"

// autoRank places the backend after cuda and metal and before host.
const autoRank = 30

func init() { backend.Register(autoRank, New()) }

type simd struct {
	level   Level
	workers int
}

// Option configures New.
type Option func(*simd)

// WithLevel uses no instruction beyond level l, which must not be above [Detected]. It is
// how tests run every body in one process.
func WithLevel(l Level) Option { return func(b *simd) { b.level = l } }

// WithWorkers sets the number of goroutines that a launch may use, the caller's included;
// 0 is one for each processor that Go uses.
func WithWorkers(n int) Option { return func(b *simd) { b.workers = n } }

// New returns the backend at the detected level with all cores, changed by options.
func New(opts ...Option) backend.Backend {
	b := &simd{level: Detected()}
	for _, o := range opts {
		o(b)
	}
	return b
}

func (b *simd) Name() string { return name }

var bound struct {
	sync.Mutex
	bindings []backend.Binding
}

// Bindings lists every variant compiled in, of every architecture, best first per instance.
func (b *simd) Bindings() []backend.Binding {
	vs := variants()
	bound.Lock()
	defer bound.Unlock()
	if len(bound.bindings) != len(vs) {
		bound.bindings = make([]backend.Binding, len(vs))
		for i, v := range vs {
			bound.bindings[i] = v.binding
		}
	}
	return bound.bindings
}

// Probe lists the processor as the one device.
func (b *simd) Probe() ([]backend.Info, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	return []backend.Info{b.info(b.workers)}, nil
}

func (b *simd) check() error {
	for _, l := range Levels() {
		if l == b.level {
			return nil
		}
	}
	return unavailable(fmt.Sprintf("level %v is not within the detected %v", b.level, Detected()))
}

func (b *simd) info(workers int) backend.Info {
	brand := cpuid.CPU.BrandName
	if brand == "" {
		brand = runtime.GOARCH
	}
	return backend.Info{
		Backend: name, Name: fmt.Sprintf("%s (%v)", brand, b.level), Features: features(b.level),
		Memory: sysmem.Total(), Shared: true, Units: workerCount(workers),
	}
}

// workerCount resolves 0 to the processors that Go uses.
func workerCount(n int) int {
	if n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// Open starts the device; ordinal is 0. backend.WithWorkers overrides the backend's count.
func (b *simd) Open(ordinal int, opts ...backend.Option) (backend.Device, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	if ordinal != 0 {
		return nil, unavailable(fmt.Sprintf("no device %d, the processor is device 0", ordinal))
	}
	cfg := backend.Configure(opts)
	workers := b.workers
	if cfg.Workers != 0 {
		workers = cfg.Workers
	}
	return open(b, workerCount(workers), cfg), nil
}
