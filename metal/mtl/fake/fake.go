// Package fake is an Objective-C run time with just enough of Metal in memory, for tests of host code: it counts
// references and autorelease pools, fails on request, and copies but computes nothing.
package fake

import (
	"fmt"
	"sync"

	"github.com/likbench/likbench/metal/mtl"
)

// Device describes one device of the fake system.
type Device struct {
	Name       string
	LowPower   bool
	NoSIMD     bool  // of a family without simdgroup functions
	MaxBuffer  int64 // 0 = 1 GiB
	WorkingSet int64 // 0 = 4 GiB
}

// Config is a fake system.
type Config struct {
	NoDefault    bool // MTLCreateSystemDefaultDevice returns nil
	Devices      []Device
	CompileError string // NewLibrary fails with this text
	NoFunction   bool   // Pipeline fails: the library lacks the entry
	CommandError int64  // code that every command buffer ends with
	BufferBytes  int64  // memory of all devices; 0 = no limit
	Width        int    // of a simdgroup; 0 = 32
	MaxThreads   int    // of a pipeline; 0 = 1024
}

// Counts are what happened so far.
type Counts struct {
	Live         int // objects not deallocated
	Pushes       int
	Pops         int
	Unpooled     int // objects autoreleased on a thread without a pool: they would leak
	WrongPops    int // pools popped on another thread, or not the innermost
	Overreleases int // messages to deallocated objects
	Dispatches   int
	Commits      int
}

// Runtime implements mtl.Runtime. It is safe for concurrent use.
type Runtime struct {
	mu        sync.Mutex
	config    Config
	selectors []string
	objects   map[uintptr]*object
	next      uintptr
	pools     map[int][]*pool // by thread
	memory    map[uintptr][]byte
	used      int64
	counts    Counts
	devices   []uintptr
	last      mtl.Dispatch // geometry of the last launch
}

type pool struct {
	token   uintptr
	objects []uintptr
}

type object struct {
	class  string
	refs   int
	text   string
	items  []uintptr
	dev    *Device
	at     uintptr // contents
	bytes  int64
	work   []func() // of a command buffer, run at commit
	fail   bool
	parent *object // command buffer of an encoder
}

// New returns a run time for a system.
func New(c Config) *Runtime {
	r := &Runtime{config: c, objects: map[uintptr]*object{}, next: 0x1000, pools: map[int][]*pool{}, memory: map[uintptr][]byte{}}
	for i := range c.Devices {
		r.devices = append(r.devices, r.add(&object{class: "MTLDevice", dev: &c.Devices[i]}))
	}
	return r
}

// Counts reports what happened.
func (r *Runtime) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts
	c.Live = len(r.objects)
	return c
}

// SetCommandError changes the code that command buffers end with; 0 is success.
func (r *Runtime) SetCommandError(code int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.config.CommandError = code
}

// LastDispatch is the geometry of the last launch.
func (r *Runtime) LastDispatch() (groups, threads mtl.Size) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last.Groups, r.last.ThreadsGroup
}

func (r *Runtime) add(o *object) uintptr {
	r.next += 16
	o.refs = 1
	r.objects[r.next] = o
	return r.next
}

// Name is "fake".
func (r *Runtime) Name() string { return "fake" }

// Class returns a number for a class object.
func (r *Runtime) Class(name string) uintptr {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, o := range r.objects {
		if o.class == "class "+name {
			return id
		}
	}
	return r.add(&object{class: "class " + name})
}

// Selector numbers selectors from 1.
func (r *Runtime) Selector(name string) uintptr {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, s := range r.selectors {
		if s == name {
			return uintptr(i + 1)
		}
	}
	r.selectors = append(r.selectors, name)
	return uintptr(len(r.selectors))
}

// PushPool opens a pool of this thread.
func (r *Runtime) PushPool() uintptr {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Pushes++
	r.next += 16
	t := thread()
	r.pools[t] = append(r.pools[t], &pool{token: r.next})
	return r.next
}

// PopPool releases what the pool holds.
func (r *Runtime) PopPool(token uintptr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Pops++
	t := thread()
	stack := r.pools[t]
	if len(stack) == 0 || stack[len(stack)-1].token != token {
		r.counts.WrongPops++
		return
	}
	top := stack[len(stack)-1]
	r.pools[t] = stack[:len(stack)-1]
	for _, id := range top.objects {
		r.release(id)
	}
}

func (r *Runtime) autorelease(id uintptr) uintptr {
	stack := r.pools[thread()]
	if len(stack) == 0 {
		r.counts.Unpooled++
		return id
	}
	top := stack[len(stack)-1]
	top.objects = append(top.objects, id)
	return id
}

func (r *Runtime) release(id uintptr) {
	o := r.objects[id]
	if o == nil {
		r.counts.Overreleases++
		return
	}
	if o.refs--; o.refs > 0 {
		return
	}
	delete(r.objects, id)
	if o.at != 0 {
		r.used -= o.bytes
		delete(r.memory, o.at)
	}
	for _, i := range o.items {
		r.release(i)
	}
}

// DefaultDevice is the first device, retained, or 0.
func (r *Runtime) DefaultDevice() uintptr {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.config.NoDefault || len(r.devices) == 0 {
		return 0
	}
	r.objects[r.devices[0]].refs++
	return r.devices[0]
}

// AllDevices is a new array of the devices.
func (r *Runtime) AllDevices() uintptr {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.devices {
		r.objects[d].refs++
	}
	return r.add(&object{class: "NSArray", items: append([]uintptr(nil), r.devices...)})
}

// NewText is a new string.
func (r *Runtime) NewText(s string) uintptr {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.add(&object{class: "NSString", text: s})
}

// Text reads a string.
func (r *Runtime) Text(id uintptr) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o := r.objects[id]; o != nil {
		return o.text
	}
	return ""
}

// Bytes is the memory of a buffer.
func (r *Runtime) Bytes(address uintptr, n int64) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.memory[address][:n]
}

// Words gives no address: the fake reads no memory of its callers.
func (r *Runtime) Words([]byte) uintptr { return 1 }

// ErrorSlot: an error object is stored under the slot's own number.
func (r *Runtime) ErrorSlot(f func(slot uintptr)) uintptr {
	r.mu.Lock()
	slot := r.next + 16
	r.next = slot
	r.mu.Unlock()
	f(slot)
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.objects[slot]
	if o == nil {
		return 0
	}
	return slot
}

// failure stores an autoreleased NSError under the slot's own number.
func (r *Runtime) failure(slot uintptr, text string) uintptr {
	r.objects[slot] = &object{class: "NSError", text: text, refs: 1}
	r.autorelease(slot)
	return 0
}

// Float64 answers the times of a command buffer.
func (r *Runtime) Float64(_, selector uintptr) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.selectors[selector-1] == "GPUEndTime" {
		return 2
	}
	return 1
}

// Sizes records a launch.
func (r *Runtime) Sizes(id, _ uintptr, groups, threads mtl.Size) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.objects[id] == nil {
		r.counts.Overreleases++
	}
	r.counts.Dispatches++
	r.last = mtl.Dispatch{Groups: groups, ThreadsGroup: threads}
}

// Send answers a message.
func (r *Runtime) Send(id, selector, a, b, c, d, e uintptr) uintptr {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := r.selectors[selector-1]
	o := r.objects[id]
	if o == nil {
		r.counts.Overreleases++
		return 0
	}
	h := handlers[name]
	if h == nil {
		panic(fmt.Sprintf("fake: no answer to %s", name))
	}
	return h(r, &message{id: id, o: o, a: a, b: b, c: c, d: d, e: e})
}
