package metal

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/internal/meter"
	"github.com/likbench/likbench/metal/mtl"
)

// ceilingPlan is how much a measurement does.
type ceilingPlan struct {
	groups int64         // threadgroups of a rate loop
	repeat int64         // passes of the first stretch
	slice  time.Duration // of a timed stretch
	tries  int           // of each; the best counts
	bytes  int64         // that read goes over, and copy reads and writes
}

// ceilingsOnHardware: as many threadgroups as fill the largest Apple GPU (80 cores of 1024 threads) twice and more;
// stretches far above the clock's steps, too short to heat the chip; more bytes than any system cache holds.
var ceilingsOnHardware = ceilingPlan{groups: 1024, repeat: 64, slice: 3 * time.Millisecond, tries: 8, bytes: 256 << 20}

// Sizes of src/ceiling/ceiling.h.
const (
	ceilingThreads  = 256
	ceilingChains   = 16
	ceilingMatrices = 8
	ceilingVectors  = 8
	vectorBytes     = 16
	launchTries     = 200
)

// rateLoop is a loop on registers: operations of one pass of a threadgroup.
type rateLoop struct {
	name, unit, entry, requires string
	perPass                     float64
	note                        string
}

// matrixFLOP is one pass of a threadgroup: each of 8 simdgroups adds 8 products of 8×8 matrices.
const matrixFLOP = ceilingThreads / 32 * ceilingMatrices * 2 * 8 * 8 * 8

var rateLoops = []rateLoop{
	{"fma_f32", "FLOP/s", "ceiling_fma_f32", "", ceilingThreads * ceilingChains * 2, "fma, 16 chains a thread"},
	{"max_f32", "op/s", "ceiling_max_f32", "", ceilingThreads * ceilingChains, "max, 16 chains a thread"},
	{"dot_bf16", "FLOP/s", "ceiling_matrix_f32", featureMatrix, matrixFLOP, "8×8 simdgroup matrices in f32: bf16 is widened"},
	{"dot_f8", "FLOP/s", "ceiling_matrix_f32", featureMatrix, matrixFLOP, "8×8 simdgroup matrices in f32: 8-bit floats are widened"},
}

// ceilingEntries lists the entry points that no binding names.
func ceilingEntries() []string {
	names := []string{"ceiling_read", "ceiling_copy", "ceiling_nothing"}
	for _, l := range rateLoops {
		if !slices.Contains(names, l.entry) {
			names = append(names, l.entry)
		}
	}
	return names
}

// ceilingMeter measures with a queue of its own.
type ceilingMeter struct {
	ctx     context.Context
	d       *device
	plan    ceilingPlan
	queue   mtl.Queue
	memory  [2]mtl.Buffer
	tickets [2]meter.Ticket
	loaded  map[string]mtl.Pipeline
	found   []backend.Ceiling
}

// Ceilings implements backend.CeilingMeter, from the device times of command buffers; the launch is the host's time of
// an empty kernel and its completion.
func (d *device) Ceilings(ctx context.Context) ([]backend.Ceiling, error) {
	return d.ceilings(ctx, ceilingsOnHardware)
}

func (d *device) ceilings(ctx context.Context, plan ceilingPlan) ([]backend.Ceiling, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	m := &ceilingMeter{ctx: ctx, d: d, plan: plan, loaded: map[string]mtl.Pipeline{}}
	err := m.open()
	if err == nil {
		err = m.measure()
	}
	return m.found, errors.Join(err, m.close())
}

func (m *ceilingMeter) open() error {
	var err error
	if m.queue, err = m.d.dev.NewQueue(); err != nil {
		return driverError(err, "")
	}
	for i := range m.memory {
		mem, t, err := m.d.memory.Allocate(m.plan.bytes)
		if err != nil {
			return err
		}
		m.memory[i], m.tickets[i] = mem, t
		clear(mem.Bytes()) // pages exist before anything is timed
	}
	return nil
}

func (m *ceilingMeter) close() error {
	var errs []error
	for i, mem := range m.memory {
		if mem != nil {
			errs = append(errs, m.d.memory.Release(mem, m.tickets[i]))
		}
	}
	for _, p := range m.loaded {
		p.Release()
	}
	if m.queue != nil {
		m.queue.Release()
	}
	return errors.Join(errs...)
}

func (m *ceilingMeter) measure() error {
	for i := range rateLoops {
		l := &rateLoops[i]
		if l.requires != "" && !m.d.info.Has(l.requires) {
			continue
		}
		if err := m.rate(l); err != nil {
			return err
		}
	}
	groups := CeilDiv(m.plan.bytes, vectorBytes*ceilingVectors*ceilingThreads)
	for _, b := range []struct {
		name, entry string
		moved       int64
	}{{"read", "ceiling_read", m.plan.bytes}, {"copy", "ceiling_copy", 2 * m.plan.bytes}} {
		t, err := m.best(b.entry, groups, 0, m.plan.tries)
		if err != nil {
			return err
		}
		m.add(b.name, "B/s", float64(b.moved)/t, backend.FormatBytes(b.moved)+" of shared memory")
	}
	return m.launch()
}

func (m *ceilingMeter) add(name, unit string, value float64, note string) {
	m.found = append(m.found, backend.Ceiling{Name: name, Unit: unit, Value: value, Note: note})
}

// rate times a short stretch, then stretches of the plan's length.
func (m *ceilingMeter) rate(l *rateLoop) error {
	t, err := m.best(l.entry, m.plan.groups, m.plan.repeat, 2)
	if err != nil {
		return err
	}
	repeat := max(int64(float64(m.plan.repeat)*m.plan.slice.Seconds()/t), m.plan.repeat)
	if t, err = m.best(l.entry, m.plan.groups, repeat, m.plan.tries); err != nil {
		return err
	}
	m.add(l.name, l.unit, l.perPass*float64(m.plan.groups*repeat)/t, l.note)
	return nil
}

// best is the shortest of several launches, in seconds on the device.
func (m *ceilingMeter) best(entry string, groups, repeat int64, tries int) (float64, error) {
	best := 0.0
	for range tries {
		t, err := m.run(entry, groups, repeat)
		if err != nil {
			return 0, err
		}
		if t = max(t, 1e-9); best == 0 || t < best { // a clock that shows nothing gives no infinite rate
			best = t
		}
	}
	return best, nil
}

func (m *ceilingMeter) run(entry string, groups, repeat int64) (float64, error) {
	if err := m.ctx.Err(); err != nil {
		return 0, err
	}
	p, err := m.pipeline(entry)
	if err != nil {
		return 0, err
	}
	c, err := m.queue.CommandBuffer()
	if err != nil {
		return 0, driverError(err, "")
	}
	defer c.Release()
	args := binary.LittleEndian.AppendUint64(nil, uint64(m.plan.bytes/vectorBytes))
	args = binary.LittleEndian.AppendUint64(args, uint64(repeat))
	err = c.Dispatch(&mtl.Dispatch{Pipeline: p, Buffers: []mtl.Bound{{Buffer: m.memory[0]}, {Buffer: m.memory[1]}}, Bytes: args,
		Groups: mtl.Size{X: uint64(groups), Y: 1, Z: 1}, ThreadsGroup: mtl.Size{X: ceilingThreads, Y: 1, Z: 1}})
	if err == nil {
		err = c.Commit()
	}
	if err == nil {
		err = c.Wait()
	}
	if err != nil {
		return 0, driverError(err, entry)
	}
	start, end := c.Times()
	return end - start, nil
}

func (m *ceilingMeter) pipeline(entry string) (mtl.Pipeline, error) {
	if p := m.loaded[entry]; p != nil {
		return p, nil
	}
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	p, err := m.d.pipeline(entry)
	if err == nil {
		m.loaded[entry] = p
	}
	return p, err
}

// launch is the median host time of an empty kernel and its completion.
func (m *ceilingMeter) launch() error {
	times := make([]time.Duration, launchTries)
	for i := range times {
		t0 := time.Now()
		if _, err := m.run("ceiling_nothing", 1, 0); err != nil {
			return err
		}
		times[i] = time.Since(t0)
	}
	slices.Sort(times)
	m.add("launch", "s", times[len(times)/2].Seconds(), "empty kernel in a command buffer of its own, and its completion")
	return nil
}
