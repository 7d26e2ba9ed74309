package benchsuite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/harness"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/internal/sysmem"
)

// Config is a run on one device.
type Config struct {
	Device    backend.Device
	Selection Selection
	Clock     Clock                              // nil = the wall clock
	Seed      uint64                             // added to each case's own
	Progress  func(done, total int, what string) // may be nil
	Row       func(Row)                          // called as each row is finished; may be nil
}

// Run measures the ceilings and every planned row into r. On cancellation it returns the
// context's error; rows finished before stay in r.
func Run(ctx context.Context, cfg Config, r *Report) error {
	if cfg.Clock == nil {
		cfg.Clock = WallClock()
	}
	res, err := Resolution(cfg.Clock)
	if err != nil {
		return err
	}
	r.Clock = float64(res.Nanoseconds())
	items, err := Plan(cfg.Device.Backend(), cfg.Selection)
	if err != nil {
		return err
	}
	if cm, ok := cfg.Device.(backend.CeilingMeter); ok {
		cs, err := cm.Ceilings(ctx)
		if err != nil {
			return err
		}
		for _, c := range cs {
			r.Ceilings = append(r.Ceilings, Ceiling{c.Name, c.Unit, c.Value, c.Note})
		}
	}
	run := &runner{cfg: cfg, report: r, available: sysmem.Available, t: timer{cfg.Clock, res, perRow(cfg.Selection, items)}}
	if run.stream, err = cfg.Device.NewStream(); err != nil {
		return err
	}
	run.drawers = []backend.Stream{run.stream}
	for i := range items {
		if cfg.Progress != nil {
			cfg.Progress(i, len(items), items[i].Instance.Name+"/"+items[i].Case.Name)
		}
		if err := run.item(ctx, &items[i]); err != nil {
			r.Cancelled = ctx.Err() != nil
			return errors.Join(err, run.close())
		}
	}
	if cfg.Progress != nil {
		cfg.Progress(len(items), len(items), "")
	}
	return run.close()
}

type runner struct {
	cfg    Config
	report *Report
	stream backend.Stream
	t      timer

	drawers []backend.Stream // stream and others, see draw

	available func() int64 // bytes of main memory to be had, 0 = unknown
}

func (r *runner) add(row Row) {
	r.report.Rows = append(r.report.Rows, row)
	if r.cfg.Row != nil {
		r.cfg.Row(row)
	}
}

// item times every variant on one case. Only cancellation ends the run.
func (r *runner) item(ctx context.Context, it *Item) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	base := Row{Kernel: it.Instance.Name, Case: it.Case.Name, Backend: r.cfg.Device.Backend().Name(),
		Shared: r.cfg.Device.Info().Shared, Seed: harness.Seed(it.Instance.Name+"/"+it.Case.Name) + r.cfg.Seed}
	if len(it.Bindings) == 0 {
		base.Status, base.Reason = Unsupported, "no variant is compiled in"
		r.add(base)
		return nil
	}
	sets, err := r.build(it, base.Seed)
	if err != nil {
		base.Status, base.Reason = statusOf(err), err.Error()
		r.add(base)
		return nil
	}
	base.Dims = sets[0].Case.Dims
	err = r.variants(ctx, it, base, sets)
	return errors.Join(err, free(sets))
}

// build makes enough operand sets that a rotation leaves nothing in the last-level cache.
func (r *runner) build(it *Item, seed uint64) ([]*harness.Operands, error) {
	info := r.cfg.Device.Info()
	cache := info.Cache
	if cache == 0 {
		cache = 64 << 20
	}
	want := int64(2*cache)/max(it.Bytes, 1) + 1
	// Small operands live in the cache of any real caller too: more than 16 sets only cost time.
	want = min(want, 16)
	if room := r.room(&info); room > 0 {
		if it.Bytes > room {
			return nil, &backend.UnsupportedError{Backend: info.Backend, Kernel: it.Instance.Name,
				Reason: fmt.Sprintf("operands of %s do not fit: %s may be taken", backend.FormatBytes(it.Bytes), backend.FormatBytes(room))}
		}
		want = min(want, room/max(it.Bytes, 1))
	}
	return r.draw(it, seed, int(want))
}

// room is the bytes that operand sets may take, 0 = unknown: half the device's memory. Where
// that is the system's, a quarter of what is available there, since each operand has an image
// of the same size for the reference.
func (r *runner) room(info *backend.Info) int64 {
	if !info.Shared {
		return info.Memory / 2
	}
	if free := r.available(); free > 0 {
		return free / 4
	}
	return info.Memory / 4
}

func statusOf(err error) string {
	if errors.Is(err, backend.ErrUnsupported) {
		return Unsupported
	}
	return Error
}

func (r *runner) variants(ctx context.Context, it *Item, base Row, sets []*harness.Operands) error {
	chosen := r.chosen(it, sets[0])
	for i := range it.Bindings {
		row := base
		row.Variant = it.Bindings[i].Variant
		row.Chosen = row.Variant == chosen
		if r.cfg.Selection.Quick && chosen != "" && !row.Chosen && r.cfg.Selection.Variants == nil {
			continue
		}
		err := r.variant(ctx, it, &row, sets)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			row.Status, row.Reason = statusOf(err), err.Error()
		}
		r.add(row)
	}
	return nil
}

// chosen is the variant that a launch without a wish takes.
func (r *runner) chosen(it *Item, set *harness.Operands) string {
	p, err := it.Kernel.PrepareAny(r.stream, set.Args)
	if err != nil {
		return ""
	}
	defer p.Close()
	return p.Variant()
}

// spoilByte makes a finite and implausible number in every float dtype.
const spoilByte = 0xFB

// spoil overwrites the outputs, so that parity does not see what an earlier variant left.
func (r *runner) spoil(set *harness.Operands) error {
	var piece [64 << 10]byte
	for i := range piece {
		piece[i] = spoilByte
	}
	for i, op := range set.Kernel.Operands() {
		v := set.Kernel.View(set.Args, i)
		if op.Mode != kernel.Out || v.Absent() {
			continue
		}
		for at, n := int64(0), v.Bytes(); at < n; at += int64(len(piece)) {
			if err := r.stream.Upload(v.Buf, v.Off+at, piece[:min(n-at, int64(len(piece)))]); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxParity is the reference's multiply-adds per row of a default run.
const maxParity = 2e7

func (r *runner) variant(ctx context.Context, it *Item, row *Row, sets []*harness.Operands) error {
	var end func() int64
	if p, ok := r.cfg.Device.(backend.PeakScoper); ok {
		end = p.PeakScope()
		defer end() // on failures; a second call does nothing
	}
	p, err := it.Kernel.PrepareAny(r.stream, sets[0].Args, kernel.WithVariant(row.Variant))
	if err != nil {
		return err
	}
	defer p.Close()
	row.Class, row.Sets = p.Class(), len(sets)
	if err := r.spoil(sets[0]); err != nil {
		return err
	}
	if err := p.LaunchAny(sets[0].Args); err != nil {
		return err
	}
	if err := r.stream.Sync(); err != nil {
		return err
	}
	limit := maxParity
	switch {
	case r.cfg.Selection.Full:
		limit = 0 // the harness's own
	case r.cfg.Selection.Quick:
		limit = maxParity / 8
	}
	res, err := sets[0].CompareSample(limit)
	var wrong *harness.MismatchError
	if errors.As(err, &wrong) {
		row.Status, row.Reason = Failed, err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	row.ErrorOf = finite(res.Worst)
	if err := r.time(ctx, p, row, sets); err != nil {
		return err
	}
	row.PeakMB = float64(sets[0].Bytes()) / 1e6
	if end != nil {
		row.PeakMB += float64(end()) / 1e6
	}
	row.Status = OK
	r.rates(it, row)
	return r.plain(ctx, it, row)
}

// plain times moving the compulsory bytes of a memory-bound row, where the device can.
func (r *runner) plain(ctx context.Context, it *Item, row *Row) (err error) {
	m, ok := r.cfg.Device.(backend.TrafficMeter)
	if !ok || !memoryBound(row.BoundBy) || !row.Chosen {
		return nil
	}
	tr, err := m.NewTraffic(r.stream, int64(it.Cost.Read), int64(it.Cost.Write), row.Sets)
	if err != nil {
		row.Reason = "no plain move beside it: " + err.Error() // the row's own time stands
		return nil
	}
	defer func() { err = errors.Join(err, tr.Close()) }()
	// By the same operation as the row's own time: single launches where those are long.
	op := r.t.wallOp(r.stream, tr.Launch)
	if row.Wall.Median < float64(longOp.Nanoseconds()) {
		op = r.t.deviceOp(r.stream, r.batch(row), tr.Launch)
	}
	ns, err := r.t.run(ctx, op)
	if err != nil {
		return err
	}
	row.PlainNS = Summarize(ns)
	row.OfPlain = finite(row.PlainNS.Median / row.DeviceNS.Median)
	return nil
}

func memoryBound(ceiling string) bool {
	return ceiling == "read" || ceiling == "copy" || ceiling == "copy_nt"
}

// batch is the launches between two events.
func (r *runner) batch(row *Row) int {
	n := int(float64(r.t.budget.Nanoseconds()) / row.Wall.Median / (2 * minRepeats))
	return min(max(n, 1), backToBack)
}

func (r *runner) time(ctx context.Context, p kernel.Launcher, row *Row, sets []*harness.Operands) error {
	at := 0
	launch := func() error {
		at++
		if at == len(sets) {
			at = 0
		}
		return p.LaunchAny(sets[at].Args)
	}
	wall, err := r.t.run(ctx, r.t.wallOp(r.stream, launch))
	if err != nil {
		return err
	}
	row.Wall = Summarize(wall)
	if row.Wall.Median >= float64(longOp.Nanoseconds()) {
		row.DeviceNS = row.Wall
		return nil
	}
	dev, err := r.t.run(ctx, r.t.deviceOp(r.stream, r.batch(row), launch))
	if err != nil {
		return err
	}
	row.DeviceNS = Summarize(dev)
	return nil
}

// rates turns times into rates and the share of the measured bound.
func (r *runner) rates(it *Item, row *Row) {
	ns := row.DeviceNS.Median
	row.GFLOPS = finite(it.Cost.FLOP / ns)
	row.GBS = finite((it.Cost.Read + it.Cost.Write) / ns)
	unit := it.Cost.Unit
	if unit == "" {
		unit = "fma_f32"
	}
	memory := "read"
	if it.Cost.Write > it.Cost.Read/8 {
		memory = "copy"
		if _, ok := r.report.Ceiling("copy_nt"); ok {
			memory = "copy_nt"
		}
	}
	for _, b := range []struct {
		name string
		work float64
	}{{unit, it.Cost.FLOP}, {memory, it.Cost.Read + it.Cost.Write}} {
		c, ok := r.report.Ceiling(b.name)
		if !ok || c.Value <= 0 {
			continue
		}
		if t := b.work / c.Value * float64(time.Second); t > row.BoundNS {
			row.BoundNS, row.BoundBy = t, b.name
		}
	}
	row.Share = finite(row.BoundNS / ns)
}

// String is one line for logs.
func (r *Row) String() string {
	if r.Status != OK {
		return fmt.Sprintf("%s/%s %s: %s: %s", r.Kernel, r.Case, r.Variant, r.Status, r.Reason)
	}
	return fmt.Sprintf("%s/%s %s: %.4g ms", r.Kernel, r.Case, r.Variant, r.DeviceNS.Median/1e6)
}
