// Package fake is a driver in Go memory, for tests of the backend's host code on machines without a GPU. Device
// memory is Go memory at its own address, work runs when it is enqueued, and a kernel is a Go function. It keeps
// one stack of contexts per thread and refuses calls that need a context where none is current, so that a
// backend which forgets to set one fails here as it would on the device. Any call can be told to fail.
package fake

import (
	"sync"
	"unsafe"

	"github.com/likbench/likbench/cuda/driver"
)

// Device describes one card.
type Device struct {
	Name         string
	UUID         [16]byte
	Major, Minor int
	Units        int
	Memory       int64 // bytes in all
	Used         int64 // bytes taken by others
	Mode         int   // driver.ModeProhibited, …
	Refuse       driver.Status
}

// Hopper is a card with everything.
func Hopper(ordinal int) Device {
	return Device{Name: "Fake H200", UUID: [16]byte{0xfa, 15: byte(ordinal)}, Major: 9, Units: 132, Memory: 1 << 37}
}

// Kernel is a kernel in Go. words is the argument block; maps are the encoded tensor maps.
type Kernel func(l *Launch)

// Launch is what a kernel sees.
type Launch struct {
	Entry   string
	Words   []uint64
	Maps    [][128]byte
	Grid    [3]uint32
	Block   [3]uint32
	Cluster [3]uint32
	Shared  uint32
	Early   bool
	driver  *Driver
}

// Bytes is device memory as a kernel reads it, from an address to the end of its allocation.
func (l *Launch) Bytes(address uint64) []byte {
	l.driver.mu.Lock()
	defer l.driver.mu.Unlock()
	return l.driver.at(driver.Pointer(address), -1)
}

// Driver is a driver.API. The exported fields are set before use.
type Driver struct {
	Devices []Device
	Number  int               // version; 0 is 12.8
	Lacks   []driver.Feature  // optional parts that are missing
	Kernels map[string]Kernel // by entry point; one that is not listed does nothing

	mu       sync.Mutex
	faults   map[string]*fault
	calls    map[string]int
	contexts map[driver.Context]*context
	threads  map[int][]driver.Context
	memory   map[driver.Pointer][]byte
	host     map[uintptr][]byte
	streams  map[driver.Stream]*stream
	events   map[driver.Event]uint64
	modules  map[driver.Module]bool
	entries  map[driver.Function]string
	graphs   map[uintptr][]op
	handle   uintptr
	clock    uint64
	lost     driver.Status
}

var _ driver.API = (*Driver)(nil)

type context struct {
	device int
	users  int
}

type fault struct {
	status driver.Status
	skip   int
	times  int // 0: for ever
	sticky bool
}

// New returns a driver with these cards.
func New(devices ...Device) *Driver {
	return &Driver{
		Devices: devices, Kernels: map[string]Kernel{},
		faults: map[string]*fault{}, calls: map[string]int{}, contexts: map[driver.Context]*context{},
		threads: map[int][]driver.Context{}, memory: map[driver.Pointer][]byte{}, host: map[uintptr][]byte{},
		streams: map[driver.Stream]*stream{}, events: map[driver.Event]uint64{}, modules: map[driver.Module]bool{},
		entries: map[driver.Function]string{}, graphs: map[uintptr][]op{}, handle: 0x1000,
	}
}

// Fail makes a method answer s after skip more calls, times times (0: for ever).
func (d *Driver) Fail(method string, s driver.Status, skip, times int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults[method] = &fault{status: s, skip: skip, times: times}
}

// Lose makes a method answer s, and every call after it too, as a card does after a fault.
func (d *Driver) Lose(method string, s driver.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults[method] = &fault{status: s, sticky: true}
}

// Heal ends all failures.
func (d *Driver) Heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.faults)
	d.lost = driver.Success
}

// Counts is the state that tests look at.
type Counts struct {
	Contexts, Streams, Events, Modules, Graphs, Host, Buffers int
	Bytes                                                     int64
	Pushes, Pops                                              int
}

// Counts reports what is live, and contexts pushed and popped so far.
func (d *Driver) Counts() Counts {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := Counts{Contexts: len(d.contexts), Streams: len(d.streams), Events: len(d.events), Modules: len(d.modules),
		Graphs: len(d.graphs), Host: len(d.host), Buffers: len(d.memory), Pushes: d.calls["Push"], Pops: d.calls["Pop"]}
	for _, b := range d.memory {
		c.Bytes += int64(len(b))
	}
	return c
}

// Calls is how often a method was called.
func (d *Driver) Calls(method string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[method]
}

// ContextsOn counts the contexts on one card.
func (d *Driver) ContextsOn(ordinal int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, c := range d.contexts {
		if c.device == ordinal {
			n++
		}
	}
	return n
}

// call counts a call and decides its fate. The caller holds the lock.
func (d *Driver) call(method string) driver.Status {
	d.calls[method]++
	if d.lost != driver.Success {
		return d.lost
	}
	f := d.faults[method]
	if f == nil {
		return driver.Success
	}
	if f.skip > 0 {
		f.skip--
		return driver.Success
	}
	if f.times > 0 {
		if f.times--; f.times == 0 {
			delete(d.faults, method)
		}
	}
	if f.sticky {
		d.lost = f.status
	}
	return f.status
}

// inContext is call for methods that need a current context.
func (d *Driver) inContext(method string) driver.Status {
	if s := d.call(method); s != driver.Success {
		return s
	}
	stack := d.threads[thread()]
	if len(stack) == 0 || d.contexts[stack[len(stack)-1]] == nil {
		return driver.InvalidContext
	}
	return driver.Success
}

func (d *Driver) next() uintptr {
	d.handle += 0x10
	return d.handle
}

// Path names the fake.
func (d *Driver) Path() string { return "fake" }

// Has reports what Lacks does not list.
func (d *Driver) Has(f driver.Feature) bool {
	for _, l := range d.Lacks {
		if l == f {
			return false
		}
	}
	return true
}

// Version is Number.
func (d *Driver) Version() (int, driver.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Number == 0 {
		return 12080, d.call("Version")
	}
	return d.Number, d.call("Version")
}

// DeviceCount counts the cards.
func (d *Driver) DeviceCount() (int, driver.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.Devices), d.call("DeviceCount")
}

// DeviceGet returns a card.
func (d *Driver) DeviceGet(ordinal int) (driver.Device, driver.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.call("DeviceGet"); s != driver.Success {
		return 0, s
	}
	if ordinal < 0 || ordinal >= len(d.Devices) {
		return 0, driver.InvalidDevice
	}
	return driver.Device(ordinal), driver.Success
}

// DeviceName is the card's name.
func (d *Driver) DeviceName(dev driver.Device) (string, driver.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Devices[dev].Name, d.call("DeviceName")
}

// DeviceUUID is the card's UUID.
func (d *Driver) DeviceUUID(dev driver.Device) ([16]byte, driver.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Devices[dev].UUID, d.call("DeviceUUID")
}

// DeviceAttribute reads a property.
func (d *Driver) DeviceAttribute(dev driver.Device, a driver.Attribute) (int, driver.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.call("DeviceAttribute"); s != driver.Success {
		return 0, s
	}
	c := &d.Devices[dev]
	switch a {
	case driver.MultiprocessorCount:
		return c.Units, driver.Success
	case driver.ComputeMode:
		return c.Mode, driver.Success
	case driver.ComputeMajor:
		return c.Major, driver.Success
	case driver.ComputeMinor:
		return c.Minor, driver.Success
	case driver.L2CacheBytes:
		return 1 << 20, driver.Success
	case driver.SharedPerBlockOptin:
		return 227 << 10, driver.Success
	case driver.Integrated:
		return 0, driver.Success
	}
	return 0, driver.InvalidValue
}

// DeviceTotalMem is the card's memory.
func (d *Driver) DeviceTotalMem(dev driver.Device) (int64, driver.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Devices[dev].Memory, d.call("DeviceTotalMem")
}

// PrimaryRetain makes or shares the card's context.
func (d *Driver) PrimaryRetain(dev driver.Device) (driver.Context, driver.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.call("PrimaryRetain"); s != driver.Success {
		return 0, s
	}
	if c := &d.Devices[dev]; c.Refuse != driver.Success {
		return 0, c.Refuse
	}
	if d.Devices[dev].Mode == driver.ModeProhibited {
		return 0, driver.DeviceUnavailable
	}
	for h, c := range d.contexts {
		if c.device == int(dev) && c.users > 0 {
			c.users++
			return h, driver.Success
		}
	}
	h := driver.Context(d.next())
	d.contexts[h] = &context{device: int(dev), users: 1}
	return h, driver.Success
}

// PrimaryRelease ends the context with its last user; a lost card comes back.
func (d *Driver) PrimaryRelease(dev driver.Device) driver.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.call("PrimaryRelease")
	for h, c := range d.contexts {
		if c.device != int(dev) || c.users == 0 {
			continue
		}
		if c.users--; c.users == 0 {
			delete(d.contexts, h)
			d.lost = driver.Success
		}
	}
	return s
}

// NewContext is a caller's own context on a card, as an application that lives on the driver has.
func (d *Driver) NewContext(ordinal int) driver.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := driver.Context(d.next())
	d.contexts[h] = &context{device: ordinal}
	return h
}

// Push makes a context current on this thread.
func (d *Driver) Push(c driver.Context) driver.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.call("Push"); s != driver.Success {
		return s
	}
	if d.contexts[c] == nil {
		return driver.InvalidContext
	}
	t := thread()
	d.threads[t] = append(d.threads[t], c)
	return driver.Success
}

// Pop undoes a Push. It works on a lost card.
func (d *Driver) Pop() driver.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls["Pop"]++
	t := thread()
	stack := d.threads[t]
	if len(stack) == 0 {
		return driver.InvalidContext
	}
	d.threads[t] = stack[:len(stack)-1]
	return driver.Success
}

// Current is this thread's context.
func (d *Driver) Current() (driver.Context, driver.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	stack := d.threads[thread()]
	if len(stack) == 0 {
		return 0, d.call("Current")
	}
	return stack[len(stack)-1], d.call("Current")
}

// currentDevice is the card of this thread's context. The caller holds the lock and knows that there is one.
func (d *Driver) currentDevice() *Device {
	stack := d.threads[thread()]
	return &d.Devices[d.contexts[stack[len(stack)-1]].device]
}

// at is n bytes of memory at an address, the rest of the allocation for -1; nil outside of any.
func (d *Driver) at(p driver.Pointer, n int64) []byte {
	b := d.memory[p]
	if b == nil {
		b = d.inside(uintptr(p))
	}
	if n > int64(len(b)) {
		return nil
	}
	if n >= 0 {
		b = b[:n]
	}
	return b
}

// inside looks for the allocation, on the card or on the host, that an address falls into.
func (d *Driver) inside(p uintptr) []byte {
	for start, b := range d.memory {
		if p >= uintptr(start) && p < uintptr(start)+uintptr(len(b)) {
			return b[p-uintptr(start):]
		}
	}
	for start, b := range d.host {
		if p >= start && p < start+uintptr(len(b)) {
			return b[p-start:]
		}
	}
	return nil
}

// align256 is a slice of n bytes whose address is a multiple of 256, as the driver's are.
func align256(n int64) []byte {
	b := make([]byte, n+256)
	skip := -uintptr(unsafe.Pointer(&b[0])) & 255
	return b[skip : skip+uintptr(n) : skip+uintptr(n)]
}

func base(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
