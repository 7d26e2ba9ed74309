package mtl

import (
	"encoding/binary"
	"sync"
)

// Numbers of Apple's enumerations.
const (
	storageShared = 0         // MTLResourceStorageModeShared, default cache mode, hazards tracked
	language24    = 2<<16 | 4 // MTLLanguageVersion2_4: the newest that every driver here can name
	typeUint      = 33        // MTLDataTypeUInt
	familyApple7  = 1007      // MTLGPUFamilyApple7: M1 and A14
	familyMac2    = 2002      // MTLGPUFamilyMac2
	statusError   = 5         // MTLCommandBufferStatusError
	maxBytes      = 4096      // setBytes takes no more
)

// New returns the driver that sends messages through rt.
func New(rt Runtime) Driver { return &driver{newMessenger(rt)} }

type driver struct{ m *messenger }

func (d *driver) Name() string { return d.m.rt.Name() }

// Default: the function follows the create rule, so the device is ours.
// https://developer.apple.com/documentation/metal/mtlcreatesystemdefaultdevice()
func (d *driver) Default() (Device, error) {
	var dev Device
	d.m.pooled(func() {
		if id := d.m.rt.DefaultDevice(); id != 0 {
			dev = &device{object{m: d.m, id: id}}
		}
	})
	return dev, nil
}

// Devices: the array follows the copy rule and is ours; its elements are borrowed and retained here.
// https://developer.apple.com/documentation/metal/mtlcopyalldevices()
func (d *driver) Devices() ([]Device, error) {
	var list []Device
	d.m.pooled(func() {
		array := d.m.rt.AllDevices()
		if array == 0 {
			return
		}
		for i, n := uintptr(0), d.m.send(array, "count"); i < n; i++ {
			list = append(list, &device{object{m: d.m, id: d.m.retain(d.m.send(array, "objectAtIndex:", i))}})
		}
		d.m.release(array)
	})
	return list, nil
}

// object is a retained Objective-C object.
type object struct {
	m    *messenger
	id   uintptr
	once sync.Once
}

// Release gives up the reference; later calls do nothing.
func (o *object) Release() {
	o.once.Do(func() { o.m.pooled(func() { o.m.release(o.id) }) })
}

type device struct{ object }

// Info reads properties; the name is borrowed.
// https://developer.apple.com/documentation/metal/mtldevice
func (d *device) Info() (i Info) {
	d.m.pooled(func() {
		flag := func(s string) bool { return d.m.send(d.id, s)&0xff != 0 } // BOOL is one byte
		family := func(n uintptr) bool { return d.m.send(d.id, "supportsFamily:", n)&0xff != 0 }
		i = Info{
			Name:     d.m.rt.Text(d.m.send(d.id, "name")),
			Registry: uint64(d.m.send(d.id, "registryID")),
			LowPower: flag("isLowPower"), Unified: flag("hasUnifiedMemory"), Removable: flag("isRemovable"),
			MaxBuffer:         int64(d.m.send(d.id, "maxBufferLength")),
			WorkingSet:        int64(d.m.send(d.id, "recommendedMaxWorkingSetSize")),
			ThreadgroupMemory: int64(d.m.send(d.id, "maxThreadgroupMemoryLength")),
			SIMDMatrix:        family(familyApple7),
		}
		i.SIMDReduce = i.SIMDMatrix || family(familyMac2)
	})
	return i
}

// NewQueue: a "new" method, so the queue is ours.
// https://developer.apple.com/documentation/metal/mtldevice/makecommandqueue()
func (d *device) NewQueue() (Queue, error) {
	id := d.make("newCommandQueue")
	if id == 0 {
		return nil, &Error{Call: "newCommandQueue", Text: "the device has no more queues"}
	}
	return &queue{object{m: d.m, id: id}}, nil
}

func (d *device) make(selector string, words ...uintptr) (id uintptr) {
	d.m.pooled(func() { id = d.m.send(d.id, selector, words...) })
	return id
}

// NewBuffer: a "new" method, so the buffer is ours; contents is borrowed and lives as long as the buffer.
// https://developer.apple.com/documentation/metal/mtldevice/makebuffer(length:options:)
func (d *device) NewBuffer(bytes int64) (Buffer, error) {
	b := &buffer{object: object{m: d.m}}
	var at uintptr
	d.m.pooled(func() {
		if b.id = d.m.send(d.id, "newBufferWithLength:options:", uintptr(max(bytes, 1)), storageShared); b.id != 0 {
			at = d.m.send(b.id, "contents")
		}
	})
	if b.id == 0 || at == 0 {
		return nil, &Error{Call: "newBufferWithLength", Domain: CommandDomain, Code: CommandOutOfMemory, Text: "the system refused the memory"}
	}
	b.bytes = d.m.rt.Bytes(at, bytes)
	return b, nil
}

// NewEvent: a "new" method, so the event is ours.
// https://developer.apple.com/documentation/metal/mtldevice/makesharedevent()
func (d *device) NewEvent() (Event, error) {
	id := d.make("newSharedEvent")
	if id == 0 {
		return nil, &Error{Call: "newSharedEvent", Text: "the device has no more events"}
	}
	return &object{m: d.m, id: id}, nil
}

// NewLibrary: options and library come from "new" methods and are ours; an error is autoreleased. A library together
// with an error means that the compiler warned.
// https://developer.apple.com/documentation/metal/mtldevice/makelibrary(source:options:)
func (d *device) NewLibrary(source string) (Library, error) {
	l := &library{object: object{m: d.m}, device: d}
	var failed *Error
	d.m.pooled(func() {
		text := d.m.rt.NewText(source)
		defer d.m.release(text)
		options := d.m.send(d.m.rt.Class("MTLCompileOptions"), "new")
		defer d.m.release(options)
		d.m.send(options, "setFastMathEnabled:", 0)
		d.m.send(options, "setLanguageVersion:", language24)
		e := d.m.rt.ErrorSlot(func(slot uintptr) {
			l.id = d.m.send(d.id, "newLibraryWithSource:options:error:", text, options, slot)
		})
		if l.id == 0 {
			failed = d.m.failure("newLibraryWithSource", e)
		}
	})
	if failed != nil {
		return nil, failed
	}
	return l, nil
}

type buffer struct {
	object
	bytes []byte
}

func (b *buffer) Bytes() []byte { return b.bytes }

type library struct {
	object
	device *device
}

// Pipeline: constant values, function and pipeline come from "new" methods and are ours; the first two are given up
// here, since the pipeline keeps what it needs.
// https://developer.apple.com/documentation/metal/mtllibrary/makefunction(name:constantvalues:)
// https://developer.apple.com/documentation/metal/mtldevice/makecomputepipelinestate(function:)
func (l *library) Pipeline(entry string, constants []uint32) (Pipeline, error) {
	p := &pipeline{object: object{m: l.m}}
	var failed *Error
	l.m.pooled(func() {
		name := l.m.rt.NewText(entry)
		defer l.m.release(name)
		values := l.m.send(l.m.rt.Class("MTLFunctionConstantValues"), "new")
		defer l.m.release(values)
		var word [4]byte
		for i, c := range constants {
			binary.NativeEndian.PutUint32(word[:], c)
			l.m.send(values, "setConstantValue:type:atIndex:", l.m.rt.Words(word[:]), typeUint, uintptr(i))
		}
		var fn uintptr
		e := l.m.rt.ErrorSlot(func(slot uintptr) {
			fn = l.m.send(l.id, "newFunctionWithName:constantValues:error:", name, values, slot)
		})
		if fn == 0 {
			failed = l.m.failure("newFunctionWithName "+entry, e)
			return
		}
		defer l.m.release(fn)
		e = l.m.rt.ErrorSlot(func(slot uintptr) {
			p.id = l.m.send(l.device.id, "newComputePipelineStateWithFunction:error:", fn, slot)
		})
		if p.id == 0 {
			failed = l.m.failure("newComputePipelineStateWithFunction "+entry, e)
			return
		}
		p.width = int(l.m.send(p.id, "threadExecutionWidth"))
		p.threads = int(l.m.send(p.id, "maxTotalThreadsPerThreadgroup"))
		p.static = int64(l.m.send(p.id, "staticThreadgroupMemoryLength"))
	})
	if failed != nil {
		return nil, failed
	}
	return p, nil
}

// pipeline properties: https://developer.apple.com/documentation/metal/mtlcomputepipelinestate
type pipeline struct {
	object
	width, threads int
	static         int64
}

func (p *pipeline) Width() int          { return p.width }
func (p *pipeline) MaxThreads() int     { return p.threads }
func (p *pipeline) StaticMemory() int64 { return p.static }
