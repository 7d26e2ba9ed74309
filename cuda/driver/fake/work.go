package fake

import (
	"slices"
	"unsafe"

	"github.com/likbench/likbench/cuda/driver"
)

type stream struct {
	capturing bool
	recorded  []op
	launch    Launch // reused, so that a launch allocates nothing
}

// op is one piece of recorded work.
type op func(d *Driver) driver.Status

// MemInfo is the free and total memory of the current context's card.
func (d *Driver) MemInfo() (free, total int64, s driver.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.inContext("MemInfo"); s != driver.Success {
		return 0, 0, s
	}
	c := d.currentDevice()
	return c.Memory - c.Used, c.Memory, driver.Success
}

// MemAlloc takes memory of the current context's card.
func (d *Driver) MemAlloc(bytes int64) (driver.Pointer, driver.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.inContext("MemAlloc"); s != driver.Success {
		return 0, s
	}
	if bytes <= 0 {
		return 0, driver.InvalidValue
	}
	c := d.currentDevice()
	if bytes > c.Memory-c.Used {
		return 0, driver.OutOfMemory
	}
	c.Used += bytes
	b := align256(bytes)
	p := driver.Pointer(base(b))
	d.memory[p] = b
	return p, driver.Success
}

// MemFree gives memory back.
func (d *Driver) MemFree(p driver.Pointer) driver.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.inContext("MemFree"); s != driver.Success {
		return s
	}
	b, ok := d.memory[p]
	if !ok {
		return driver.InvalidValue
	}
	d.currentDevice().Used -= int64(len(b))
	delete(d.memory, p)
	return driver.Success
}

// HostAlloc takes page-locked memory; the device's address of it is its own.
func (d *Driver) HostAlloc(bytes int64) (unsafe.Pointer, driver.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.inContext("HostAlloc"); s != driver.Success {
		return nil, s
	}
	b := align256(bytes)
	d.host[base(b)] = b
	return unsafe.Pointer(unsafe.SliceData(b)), driver.Success
}

// HostFree gives page-locked memory back.
func (d *Driver) HostFree(p unsafe.Pointer) driver.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.inContext("HostFree")
	delete(d.host, uintptr(p))
	return s
}

// HostPointer is the device's address of page-locked memory.
func (d *Driver) HostPointer(p unsafe.Pointer) (driver.Pointer, driver.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return driver.Pointer(uintptr(p)), d.inContext("HostPointer")
}

// do runs work now, or records it while the stream is captured.
func (d *Driver) do(st driver.Stream, o op) driver.Status {
	s := d.streams[st]
	if s == nil {
		return driver.InvalidValue
	}
	if s.capturing {
		s.recorded = append(s.recorded, o)
		return driver.Success
	}
	return o(d)
}

// move copies between two ranges, each of device or host memory.
func (d *Driver) move(method string, dst, src driver.Pointer, bytes int64, st driver.Stream) driver.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.inContext(method); s != driver.Success {
		return s
	}
	if s := d.streams[st]; s != nil && s.capturing {
		return d.do(st, func(d *Driver) driver.Status { return d.moveNow(dst, src, bytes) })
	}
	return d.moveNow(dst, src, bytes)
}

func (d *Driver) moveNow(dst, src driver.Pointer, bytes int64) driver.Status {
	to, from := d.at(dst, bytes), d.at(src, bytes)
	if int64(len(to)) != bytes || int64(len(from)) != bytes {
		return driver.InvalidValue
	}
	copy(to, from)
	return driver.Success
}

// CopyIn copies from page-locked memory.
func (d *Driver) CopyIn(dst driver.Pointer, src unsafe.Pointer, bytes int64, st driver.Stream) driver.Status {
	return d.move("CopyIn", dst, driver.Pointer(uintptr(src)), bytes, st)
}

// CopyOut copies to page-locked memory.
func (d *Driver) CopyOut(dst unsafe.Pointer, src driver.Pointer, bytes int64, st driver.Stream) driver.Status {
	return d.move("CopyOut", driver.Pointer(uintptr(dst)), src, bytes, st)
}

// Copy copies on the card.
func (d *Driver) Copy(dst, src driver.Pointer, bytes int64, st driver.Stream) driver.Status {
	return d.move("Copy", dst, src, bytes, st)
}

// Fill sets bytes.
func (d *Driver) Fill(dst driver.Pointer, value uint8, bytes int64, st driver.Stream) driver.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.inContext("Fill"); s != driver.Success {
		return s
	}
	if s := d.streams[st]; s != nil && s.capturing {
		return d.do(st, func(d *Driver) driver.Status { return d.fillNow(dst, value, bytes) })
	}
	return d.fillNow(dst, value, bytes)
}

func (d *Driver) fillNow(dst driver.Pointer, value uint8, bytes int64) driver.Status {
	b := d.at(dst, bytes)
	if int64(len(b)) != bytes {
		return driver.InvalidValue
	}
	for i := range b {
		b[i] = value
	}
	return driver.Success
}

// StreamCreate makes a stream.
func (d *Driver) StreamCreate() (driver.Stream, driver.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.inContext("StreamCreate"); s != driver.Success {
		return 0, s
	}
	h := driver.Stream(d.next())
	d.streams[h] = &stream{}
	return h, driver.Success
}

// StreamDestroy ends a stream.
func (d *Driver) StreamDestroy(st driver.Stream) driver.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.inContext("StreamDestroy")
	delete(d.streams, st)
	return s
}

// StreamSync has nothing to wait for.
func (d *Driver) StreamSync(st driver.Stream) driver.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.streams[st]; s != nil && s.capturing {
		return driver.CaptureUnsupported
	}
	return d.inContext("StreamSync")
}

// StreamWait has nothing to wait for.
func (d *Driver) StreamWait(driver.Stream, driver.Event) driver.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.inContext("StreamWait")
}

// EventCreate makes an event.
func (d *Driver) EventCreate(bool) (driver.Event, driver.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.inContext("EventCreate"); s != driver.Success {
		return 0, s
	}
	h := driver.Event(d.next())
	d.events[h] = 0
	return h, driver.Success
}

// EventDestroy ends an event.
func (d *Driver) EventDestroy(e driver.Event) driver.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.inContext("EventDestroy")
	delete(d.events, e)
	return s
}

// EventRecord stamps an event; each piece of work takes a microsecond of the fake's clock.
func (d *Driver) EventRecord(e driver.Event, st driver.Stream) driver.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.inContext("EventRecord"); s != driver.Success {
		return s
	}
	d.clock++
	d.events[e] = d.clock
	return driver.Success
}

// EventSync has nothing to wait for.
func (d *Driver) EventSync(driver.Event) driver.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.inContext("EventSync")
}

// EventElapsed is the fake's clock between two events, in milliseconds.
func (d *Driver) EventElapsed(from, to driver.Event) (float32, driver.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.inContext("EventElapsed"); s != driver.Success {
		return 0, s
	}
	return float32(d.events[to]-d.events[from]) / 1000, driver.Success
}

// ModuleLoad takes any image that is not empty.
func (d *Driver) ModuleLoad(image []byte) (driver.Module, driver.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.inContext("ModuleLoad"); s != driver.Success {
		return 0, s
	}
	if len(image) == 0 {
		return 0, driver.InvalidValue
	}
	h := driver.Module(d.next())
	d.modules[h] = true
	return h, driver.Success
}

// ModuleUnload unloads an object.
func (d *Driver) ModuleUnload(m driver.Module) driver.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.inContext("ModuleUnload")
	delete(d.modules, m)
	return s
}

// ModuleFunction finds every entry point.
func (d *Driver) ModuleFunction(m driver.Module, name string) (driver.Function, driver.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.inContext("ModuleFunction"); s != driver.Success {
		return 0, s
	}
	h := driver.Function(d.next())
	d.entries[h] = name
	return h, driver.Success
}

// SetDynamicShared takes any size.
func (d *Driver) SetDynamicShared(driver.Function, int) driver.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.inContext("SetDynamicShared")
}

// Launch runs the Go function of the entry point, or records a copy of its arguments.
func (d *Driver) Launch(l *driver.Launch) driver.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.inContext("Launch"); s != driver.Success {
		return s
	}
	name, ok := d.entries[l.Function]
	if !ok || l.Early && !d.Has(driver.EarlyStart) || l.Grid[0]*l.Grid[1]*l.Grid[2] == 0 || l.Block[0]*l.Block[1]*l.Block[2] == 0 || l.Block[0] > 1024 {
		return driver.InvalidValue
	}
	words := unsafe.Slice((*uint64)(l.Params[0]), l.Words)
	s := d.streams[l.Stream]
	if s == nil {
		return driver.InvalidValue
	}
	run := &s.launch
	if s.capturing {
		run, words = new(Launch), slices.Clone(words)
	}
	run.Entry, run.Words, run.driver = name, words, d
	run.Grid, run.Block, run.Cluster, run.Shared, run.Early = l.Grid, l.Block, l.Cluster, l.Shared, l.Early
	run.Maps = run.Maps[:0]
	for i := 1; i < l.NParams; i++ {
		run.Maps = append(run.Maps, *(*[128]byte)(l.Params[i]))
	}
	if s.capturing {
		s.recorded = append(s.recorded, func(d *Driver) driver.Status { return d.run(run) })
		return driver.Success
	}
	return d.run(run)
}

// run calls the kernel without the lock, so that it can read memory.
func (d *Driver) run(l *Launch) driver.Status {
	if k := d.Kernels[l.Entry]; k != nil {
		d.mu.Unlock()
		k(l)
		d.mu.Lock()
	}
	return driver.Success
}

// EncodeTensorMap checks what the driver checks and writes the description's address and sizes.
func (d *Driver) EncodeTensorMap(out *[128]byte, t *driver.TensorMap) driver.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.call("EncodeTensorMap"); s != driver.Success {
		return s
	}
	if uintptr(unsafe.Pointer(out))%64 != 0 || t.Address%16 != 0 || t.Rank < 1 || t.Rank > 5 {
		return driver.InvalidValue
	}
	for i := range t.Rank {
		if t.Dims[i] == 0 || t.Box[i] == 0 || t.Box[i] > 256 || i > 0 && t.Strides[i-1]%16 != 0 {
			return driver.InvalidValue
		}
	}
	w := (*[16]uint64)(unsafe.Pointer(out))
	w[0], w[1], w[2], w[3] = uint64(t.Address), uint64(t.Rank), t.Dims[0], t.Dims[1]
	return driver.Success
}

// CaptureBegin records a stream's work from here on.
func (d *Driver) CaptureBegin(st driver.Stream) driver.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.inContext("CaptureBegin"); s != driver.Success {
		return s
	}
	d.streams[st].capturing = true
	return driver.Success
}

// CaptureEnd ends recording.
func (d *Driver) CaptureEnd(st driver.Stream) (driver.Graph, driver.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.streams[st]
	ops := s.recorded
	s.capturing, s.recorded = false, nil
	if s := d.inContext("CaptureEnd"); s != driver.Success {
		return 0, s
	}
	h := d.next()
	d.graphs[h] = ops
	return driver.Graph(h), driver.Success
}

// GraphInstantiate makes a graph ready.
func (d *Driver) GraphInstantiate(g driver.Graph) (driver.GraphExec, driver.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.inContext("GraphInstantiate"); s != driver.Success {
		return 0, s
	}
	h := d.next()
	d.graphs[h] = d.graphs[uintptr(g)]
	return driver.GraphExec(h), driver.Success
}

// GraphLaunch runs what was recorded.
func (d *Driver) GraphLaunch(e driver.GraphExec, st driver.Stream) driver.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.inContext("GraphLaunch"); s != driver.Success {
		return s
	}
	for _, o := range d.graphs[uintptr(e)] {
		if s := o(d); s != driver.Success {
			return s
		}
	}
	return driver.Success
}

// GraphExecDestroy ends a graph that was made ready.
func (d *Driver) GraphExecDestroy(e driver.GraphExec) driver.Status {
	return d.endGraph("GraphExecDestroy", uintptr(e))
}

// GraphDestroy ends a graph.
func (d *Driver) GraphDestroy(g driver.Graph) driver.Status {
	return d.endGraph("GraphDestroy", uintptr(g))
}

func (d *Driver) endGraph(method string, h uintptr) driver.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.inContext(method)
	delete(d.graphs, h)
	return s
}
