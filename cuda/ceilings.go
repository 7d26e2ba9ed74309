package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/cuda/driver"
)

// rateLoop is a loop on registers or shared memory: operations of one pass of a block of 256 threads.
type rateLoop struct {
	name, unit    string
	source, entry string
	requires      string // feature
	perPass       float64
	blocks        int // of a multiprocessor
	note          string
}

// rateLoops are tried in order; the first of a name that the device has is its ceiling.
var rateLoops = []rateLoop{
	{"fma_f32", "FLOP/s", "ceiling", "ceiling_fma_f32", "sm_80", 256 * 16 * 16 * 2, 8, "fma.f32, 16 chains a thread"},
	{"fma_f64", "FLOP/s", "ceiling", "ceiling_fma_f64", "sm_80", 256 * 16 * 8 * 2, 8, "fma.f64, 8 chains a thread"},
	{"max_f32", "op/s", "ceiling", "ceiling_max_f32", "sm_80", 256 * 16 * 16, 8, "max.f32, 16 chains a thread"},
	{"dot_bf16", "FLOP/s", "ceiling_wgmma", "ceiling_dot_bf16_wgmma", "sm_90a", 2 * 16 * 2 * 64 * 128 * 16, 2, "wgmma m64n128k16, f32 sums"},
	{"dot_bf16", "FLOP/s", "ceiling", "ceiling_dot_bf16_mma", "sm_80", 8 * 16 * 8 * 2 * 16 * 8 * 16, 4, "mma.sync m16n8k16, f32 sums"},
	{"dot_f8", "FLOP/s", "ceiling_wgmma", "ceiling_dot_f8_wgmma", "sm_90a", 2 * 16 * 2 * 64 * 128 * 32, 2, "wgmma m64n128k32 e4m3, f32 sums"},
	{"dot_f8", "FLOP/s", "ceiling_f8", "ceiling_dot_f8_mma", "sm_89", 8 * 16 * 8 * 2 * 16 * 8 * 32, 4, "mma.sync m16n8k32 e4m3, f32 sums"},
}

// memoryEntries move bytes; both are in the source of the plain loops.
var memoryEntries = []string{"ceiling_read", "ceiling_copy"}

const (
	// rateSlice is one timed stretch: far above the steps of the device's clock, too short to heat the chip.
	rateSlice = 3 * time.Millisecond
	// rateTries is how often each stretch is repeated; the best counts.
	rateTries = 8
	// memoryBytes is what read goes over and copy reads and writes: far more than any level-2 cache.
	memoryBytes = 1 << 30
	// vectorsPerBlock is how many vectors of 16 bytes a block of ceiling_read and ceiling_copy moves.
	vectorsPerBlock = 2048
	launchTries     = 500
)

// ceilingArgs is struct ceiling_args of ceiling.cuh.
type ceilingArgs struct {
	in, out   driver.Pointer
	n, repeat int64
}

// ceilingMeter measures inside one enter.
type ceilingMeter struct {
	ctx    context.Context
	d      *device
	stream driver.Stream
	event  [2]driver.Event
	args   *ceilingArgs
	call   *driver.Launch
	found  []backend.Ceiling
}

// Ceilings implements backend.CeilingMeter. Rates are the best of several stretches, bandwidths the best of several
// passes, the launch the median time of a launch of nothing and its synchronisation, as the host sees it.
func (d *device) Ceilings(ctx context.Context) ([]backend.Ceiling, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	m := &ceilingMeter{ctx: ctx, d: d, args: &ceilingArgs{}, call: &driver.Launch{}}
	m.call.Params[0], m.call.NParams, m.call.Words = unsafe.Pointer(m.args), 1, 4
	err := m.open()
	if err == nil {
		err = m.measure()
	}
	return m.found, errors.Join(err, m.close())
}

func (m *ceilingMeter) open() error {
	h, s := m.d.api.StreamCreate()
	if err := m.d.check("cuStreamCreate", s); err != nil {
		return err
	}
	m.stream, m.call.Stream = h, h
	for i := range m.event {
		e, s := m.d.api.EventCreate(true)
		if err := m.d.check("cuEventCreate", s); err != nil {
			return err
		}
		m.event[i] = e
	}
	return nil
}

func (m *ceilingMeter) close() error {
	var errs []error
	if m.stream != 0 {
		errs = append(errs, m.d.check("cuStreamDestroy", m.d.api.StreamDestroy(m.stream)))
	}
	for _, e := range m.event {
		if e != 0 {
			errs = append(errs, m.d.check("cuEventDestroy", m.d.api.EventDestroy(e)))
		}
	}
	return errors.Join(errs...)
}

func (m *ceilingMeter) measure() error {
	for i := range rateLoops {
		l := &rateLoops[i]
		if !m.d.card.info.Has(l.requires) || m.has(l.name) {
			continue
		}
		if err := m.rate(l); err != nil {
			return err
		}
	}
	if err := m.bandwidth(); err != nil {
		return err
	}
	return m.launch()
}

func (m *ceilingMeter) has(name string) bool {
	return slices.ContainsFunc(m.found, func(c backend.Ceiling) bool { return c.Name == name })
}

// use makes an entry the one to launch.
func (m *ceilingMeter) use(source, entry string, blocks int64) error {
	m.d.tables.Lock()
	defer m.d.tables.Unlock()
	mod, err := m.d.module(source, func(format string, args ...any) error {
		return &backend.UnsupportedError{Backend: name, Kernel: entry, Reason: fmt.Sprintf(format, args...)}
	})
	if err != nil {
		return err
	}
	f, s := m.d.api.ModuleFunction(mod.handle, entry)
	m.call.Function = f
	m.call.Grid, m.call.Block = [3]uint32{uint32(blocks), 1, 1}, [3]uint32{256, 1, 1}
	return m.d.check("cuModuleGetFunction "+entry, s)
}

// timed is the device time of one launch.
func (m *ceilingMeter) timed() (time.Duration, error) {
	if err := m.ctx.Err(); err != nil {
		return 0, err
	}
	for _, step := range []struct {
		call string
		run  func() driver.Status
	}{
		{"cuEventRecord", func() driver.Status { return m.d.api.EventRecord(m.event[0], m.stream) }},
		{"cuLaunchKernel", func() driver.Status { return m.d.api.Launch(m.call) }},
		{"cuEventRecord", func() driver.Status { return m.d.api.EventRecord(m.event[1], m.stream) }},
		{"cuEventSynchronize", func() driver.Status { return m.d.api.EventSync(m.event[1]) }},
	} {
		if err := m.d.check(step.call, step.run()); err != nil {
			return 0, err
		}
	}
	ms, s := m.d.api.EventElapsed(m.event[0], m.event[1])
	return max(time.Duration(float64(ms)*float64(time.Millisecond)), 1), m.d.check("cuEventElapsedTime", s)
}

// best is the shortest of several timed launches.
func (m *ceilingMeter) best(tries int) (time.Duration, error) {
	var best time.Duration
	for range tries {
		t, err := m.timed()
		if err != nil {
			return 0, err
		}
		if best == 0 || t < best {
			best = t
		}
	}
	return best, nil
}

func (m *ceilingMeter) rate(l *rateLoop) error {
	blocks := int64(m.d.card.info.Units * l.blocks)
	if err := m.use(l.source, l.entry, blocks); err != nil {
		return err
	}
	*m.args = ceilingArgs{repeat: 64}
	t, err := m.best(2)
	if err != nil {
		return err
	}
	m.args.repeat = max(64*int64(rateSlice)/int64(t), 64)
	if t, err = m.best(rateTries); err != nil {
		return err
	}
	m.found = append(m.found, backend.Ceiling{Name: l.name, Unit: l.unit,
		Value: float64(blocks) * float64(m.args.repeat) * l.perPass / t.Seconds(),
		Note:  fmt.Sprintf("%s, %d multiprocessors", l.note, m.d.card.info.Units)})
	return nil
}

// bandwidth measures reading and copying between two halves of a block of memory.
func (m *ceilingMeter) bandwidth() error {
	free, _, s := m.d.api.MemInfo()
	if err := m.d.check("cuMemGetInfo", s); err != nil {
		return err
	}
	bytes := min(memoryBytes, free/8) &^ (16*vectorsPerBlock - 1)
	if bytes == 0 {
		return nil
	}
	p, s := m.d.api.MemAlloc(2 * bytes)
	if err := m.d.check("cuMemAlloc", s); err != nil {
		return err
	}
	err := m.d.check("cuMemsetD8Async", m.d.api.Fill(p, 0x3f, 2*bytes, m.stream))
	for i, entry := range memoryEntries {
		if err != nil {
			break
		}
		err = m.move(entry, ceilingArgs{in: p, out: p + driver.Pointer(bytes), n: bytes / 16}, bytes*int64(1+i))
	}
	return errors.Join(err, m.d.check("cuMemFree", m.d.api.MemFree(p)))
}

func (m *ceilingMeter) move(entry string, args ceilingArgs, moved int64) error {
	if err := m.use("ceiling", entry, args.n/vectorsPerBlock); err != nil {
		return err
	}
	*m.args = args
	t, err := m.best(rateTries)
	if err != nil {
		return err
	}
	m.found = append(m.found, backend.Ceiling{Name: entry[len("ceiling_"):], Unit: "B/s", Value: float64(moved) / t.Seconds(),
		Note: fmt.Sprintf("%s moved, vectors of 16 bytes", backend.FormatBytes(moved))})
	return nil
}

// launch is the median time of a launch of one idle block and its synchronisation.
func (m *ceilingMeter) launch() error {
	if err := m.use("ceiling", "ceiling_fma_f32", 1); err != nil {
		return err
	}
	*m.args = ceilingArgs{}
	took := make([]time.Duration, launchTries)
	for i := range took {
		if err := m.ctx.Err(); err != nil {
			return err
		}
		start := time.Now()
		if err := m.d.check("cuLaunchKernel", m.d.api.Launch(m.call)); err != nil {
			return err
		}
		if err := m.d.check("cuStreamSynchronize", m.d.api.StreamSync(m.stream)); err != nil {
			return err
		}
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	m.found = append(m.found, backend.Ceiling{Name: "launch", Unit: "s", Value: took[launchTries/2].Seconds(),
		Note: fmt.Sprintf("median of %d, launch and synchronisation", launchTries)})
	return nil
}
