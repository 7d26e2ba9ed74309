package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/cuda/driver"
)

// trafficEntry reads and writes; it is in the source of the plain loops.
const trafficEntry = "ceiling_traffic"

// traffic is a prepared pass of ceiling_traffic over pairs of buffers.
type traffic struct {
	s       *stream
	args    *ceilingArgs
	call    *driver.Launch
	in, out []*buffer
	next    int
}

// NewTraffic implements backend.TrafficMeter: reads and writes of whole vectors of 16 bytes, in one kernel.
func (d *device) NewTraffic(st backend.Stream, read, write int64, sets int) (backend.Traffic, error) {
	s, ok := st.(*stream)
	if !ok || s.d != d {
		return nil, foreign("traffic", "stream")
	}
	if read < 0 || write < 0 || sets < 1 {
		return nil, &backend.ArgumentError{Kernel: "traffic", Operand: "bytes", Why: fmt.Sprintf("%d read, %d written, %d sets", read, write, sets)}
	}
	t := &traffic{s: s, args: &ceilingArgs{n: CeilDiv(read, 16), repeat: CeilDiv(write, 16)}, call: &driver.Launch{}}
	t.call.Params[0], t.call.NParams, t.call.Words, t.call.Stream = unsafe.Pointer(t.args), 1, 4, s.handle
	err := t.open(max(sets, 1))
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func (t *traffic) open(sets int) error {
	d := t.s.d
	for range sets {
		for _, side := range []struct {
			vectors int64
			list    *[]*buffer
		}{{t.args.n, &t.in}, {t.args.repeat, &t.out}} {
			b, err := d.Alloc(max(side.vectors, 1) * 16)
			if err != nil {
				return err
			}
			*side.list = append(*side.list, b.(*buffer))
		}
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	for _, b := range t.in { // neither zero nor uninitialised: the chip's clock depends on the data
		if err := d.check("cuMemsetD8Async", d.api.Fill(b.address, 0x3f, b.Len(), t.s.handle)); err != nil {
			return err
		}
	}
	return t.load()
}

func (t *traffic) load() error {
	d := t.s.d
	d.tables.Lock()
	defer d.tables.Unlock()
	mod, err := d.module("ceiling", func(format string, args ...any) error {
		return &backend.UnsupportedError{Backend: name, Kernel: trafficEntry, Reason: fmt.Sprintf(format, args...)}
	})
	if err != nil {
		return err
	}
	f, s := d.api.ModuleFunction(mod.handle, trafficEntry)
	t.call.Function = f
	t.call.Grid = [3]uint32{uint32(max(CeilDiv(t.args.n, vectorsPerBlock), CeilDiv(t.args.repeat, vectorsPerBlock), 1)), 1, 1}
	t.call.Block = [3]uint32{256, 1, 1}
	return d.check("cuModuleGetFunction "+trafficEntry, s)
}

// Launch implements backend.Traffic.
func (t *traffic) Launch() error {
	d := t.s.d
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	t.next = (t.next + 1) % len(t.in)
	t.args.in, t.args.out = t.in[t.next].address, t.out[t.next].address
	t.s.busy.Store(true)
	return d.check("cuLaunchKernel", d.api.Launch(t.call))
}

// Close implements backend.Traffic.
func (t *traffic) Close() error {
	var errs []error
	for _, b := range append(t.in, t.out...) {
		errs = append(errs, b.Free())
	}
	t.in, t.out = nil, nil
	return errors.Join(errs...)
}
