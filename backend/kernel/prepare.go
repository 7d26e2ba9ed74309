package kernel

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"

	"github.com/likbench/likbench/backend"
)

// Fallback counts launches that ran the reference on the host because the device does not
// support the kernel. It is safe for concurrent use.
type Fallback struct {
	mu    sync.Mutex
	count map[FallbackReason]int64
}

// FallbackReason is a kernel instance and why it fell back.
type FallbackReason struct{ Kernel, Reason string }

// FallbackCount is one row of a Fallback.
type FallbackCount struct {
	FallbackReason
	Launches int64
}

func (f *Fallback) add(r FallbackReason) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == nil {
		f.count = map[FallbackReason]int64{}
	}
	f.count[r]++
}

// Counts lists the launches by kernel and reason.
func (f *Fallback) Counts() []FallbackCount {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []FallbackCount
	for r, n := range f.count {
		out = append(out, FallbackCount{r, n})
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i].Kernel < out[j].Kernel || out[i].Kernel == out[j].Kernel && out[i].Reason < out[j].Reason
	})
	return out
}

type config struct {
	variant  string
	fallback *Fallback
}

// Option changes how a launch is prepared.
type Option func(*config)

// WithVariant asks for one variant; another is never taken instead.
func WithVariant(name string) Option { return func(c *config) { c.variant = name } }

// WithHostFallback runs the reference on the host where the device answers ErrUnsupported,
// and counts each such launch in f.
func WithHostFallback(f *Fallback) Option { return func(c *config) { c.fallback = f } }

// Launcher is an untyped prepared launch, for the harness.
type Launcher interface {
	Instance() string
	Variant() string // "" for a host fallback
	Class() string
	LaunchAny(args any) error
	Close() error
}

// Prepared is a kernel instance and variant bound to one stream. It belongs to one
// goroutine. Launch allocates nothing.
type Prepared[A any] struct {
	k        *Kernel[A]
	s        backend.Stream
	prog     backend.Program
	binding  *backend.Binding
	instance string
	call     backend.Call
	resolved bool // call is that of a launch that resolved
	fallback *Fallback
	reason   string
	release  func()
	closed   bool
}

// Prepare chooses the variant for operands like largest (dtypes, attributes, and sizes at
// their largest) and reserves its scratch. The variant is the first binding whose
// requirements the device has and whose Accept passes.
func (k *Kernel[A]) Prepare(s backend.Stream, largest *A, opts ...Option) (*Prepared[A], error) {
	var cfg config
	for _, o := range opts {
		o(&cfg)
	}
	p := &Prepared[A]{k: k, s: s}
	var err error
	if p.instance, err = k.resolve(largest, &p.call); err != nil {
		return nil, err
	}
	if err := k.sameDevice(s.Device(), &p.call); err != nil {
		return nil, err
	}
	err = p.choose(cfg.variant)
	if err != nil {
		if cfg.fallback == nil || !errors.Is(err, backend.ErrUnsupported) {
			return nil, err
		}
		p.fallback, p.reason = cfg.fallback, err.Error()
		return p, nil
	}
	if n := p.prog.Workspace(&p.call); n > 0 {
		if r, ok := s.(backend.ScratchReserver); ok {
			if p.release, err = r.ReserveScratch(n); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

func (p *Prepared[A]) choose(variant string) error {
	dev := p.s.Device()
	be := dev.Backend()
	var refused []error
	bs := be.Bindings()
	for i := range bs {
		b := &bs[i]
		if b.Kernel != p.instance || variant != "" && b.Variant != variant {
			continue
		}
		prog, err := dev.Load(b.Kernel, b.Variant)
		if err == nil && b.Accept != nil {
			err = b.Accept(&p.call)
		}
		if err == nil {
			p.prog, p.binding = prog, b
			return nil
		}
		if !errors.Is(err, backend.ErrUnsupported) {
			return err
		}
		refused = append(refused, err)
	}
	return unsupported(be.Name(), p.instance, variant, refused)
}

// unsupported is the one error for a kernel that no variant takes, with every reason.
func unsupported(name, instance, variant string, refused []error) error {
	switch len(refused) {
	case 0:
		return &backend.UnsupportedError{Backend: name, Kernel: instance, Variant: variant, Reason: "not compiled in"}
	case 1:
		return refused[0]
	}
	var reasons []string
	for _, err := range refused {
		var u *backend.UnsupportedError
		if errors.As(err, &u) {
			reasons = append(reasons, u.Variant+": "+u.Reason)
		} else {
			reasons = append(reasons, err.Error())
		}
	}
	return &backend.UnsupportedError{Backend: name, Kernel: instance, Variant: variant, Reason: strings.Join(reasons, "; ")}
}

// sameDevice refuses operands of another device.
func (k *Kernel[A]) sameDevice(d backend.Device, c *backend.Call) error {
	for i := range k.operands {
		if b := c.Operands[i].Buf; b != nil && b.Device() != d {
			return k.wrong(i, "", "belongs to another device", 0, 0)
		}
	}
	return nil
}

// Variant is the chosen variant, "" for a host fallback.
func (p *Prepared[A]) Variant() string {
	if p.binding == nil {
		return ""
	}
	return p.binding.Variant
}

// Class names the set of variants with equal bits that the chosen one belongs to.
func (p *Prepared[A]) Class() string {
	if p.binding == nil {
		return "reference"
	}
	if p.binding.Class == "" {
		return p.binding.Variant
	}
	return p.binding.Class
}

// Instance is the kernel with its dtypes.
func (p *Prepared[A]) Instance() string { return p.instance }

// Launch runs with operands a: other buffers and sizes up to the prepared ones are fine,
// other dtypes are not. It reads a before it returns and keeps nothing of it.
func (p *Prepared[A]) Launch(a *A) error {
	if p.closed {
		return p.afterClose()
	}
	if !p.resolved || !p.k.again(a, p.s.Device(), &p.call) {
		if err := p.resolve(a); err != nil {
			return err
		}
	}
	if p.fallback != nil {
		p.fallback.add(FallbackReason{p.instance, p.reason})
		return hostRun(p.s, p.k, a)
	}
	if p.binding.Accept != nil {
		if err := p.binding.Accept(&p.call); err != nil {
			return err
		}
	}
	return p.s.Launch(p.prog, &p.call)
}

// resolve fills the call for operands a, of which nothing is known.
func (p *Prepared[A]) resolve(a *A) error {
	p.resolved = false
	inst, err := p.k.resolve(a, &p.call)
	if err != nil {
		return err
	}
	if inst != p.instance {
		return &backend.ArgumentError{Kernel: p.k.spec.Name, Why: "prepared for " + p.instance + ", launched with operands of " + inst}
	}
	if err := p.k.sameDevice(p.s.Device(), &p.call); err != nil {
		return err
	}
	p.resolved = p.k.fixed
	return nil
}

// LaunchAny is Launch for the harness.
func (p *Prepared[A]) LaunchAny(args any) error { return p.Launch(args.(*A)) }

func (p *Prepared[A]) afterClose() error {
	return fmt.Errorf("kernel: %s: prepared launch: %w", p.instance, backend.ErrClosed)
}

// Close gives the reserved scratch back.
func (p *Prepared[A]) Close() error {
	if p.closed {
		return p.afterClose()
	}
	p.closed = true
	if p.release != nil {
		p.release()
	}
	return nil
}

// Launch is Prepare, Launch and Close in one: convenient, allocates.
func (k *Kernel[A]) Launch(s backend.Stream, a *A, opts ...Option) error {
	p, err := k.Prepare(s, a, opts...)
	if err != nil {
		return err
	}
	if err := p.Launch(a); err != nil {
		p.Close()
		return err
	}
	return p.Close()
}

// PrepareAny is Prepare for the harness.
func (k *Kernel[A]) PrepareAny(s backend.Stream, args any, opts ...Option) (Launcher, error) {
	p, err := k.Prepare(s, args.(*A), opts...)
	if err != nil {
		return nil, err
	}
	return p, nil
}
