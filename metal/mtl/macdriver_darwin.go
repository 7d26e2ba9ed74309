//go:build darwin && cgo && macdriver

package mtl

import (
	"runtime"
	"unsafe"

	"github.com/progrium/darwinkit/macos/metal"
	"github.com/progrium/darwinkit/objc"
)

// Macdriver returns the driver over a device that the application holds as a darwinkit object: the only device that
// it lists. The device, and every buffer given to [MacdriverBuffer], stays the application's and must outlive the
// driver's use of it; a device that the application keeps beyond an autorelease pool must be retained by it.
//
// Objects that the driver makes are released by their Release. Class methods of darwinkit return autoreleased objects
// and protocol methods whose selector begins with new return retained ones; the code below relies on both.
func Macdriver(device metal.DeviceObject) Driver { return macDriver{device} }

// MacdriverBuffer wraps a buffer of the application, in shared storage, for a device opened over [Macdriver].
// Release leaves it alone.
// https://developer.apple.com/documentation/metal/mtlbuffer/contents()
func MacdriverBuffer(b metal.BufferObject) Buffer {
	m := &macBuffer{obj: b, borrowed: true}
	objc.WithAutoreleasePool(func() { m.bytes = unsafe.Slice((*byte)(b.Contents()), int(b.Length())) })
	return m
}

type macDriver struct{ device metal.DeviceObject }

func (d macDriver) Name() string               { return "macdriver" }
func (d macDriver) Default() (Device, error)   { return &macDevice{d.device}, nil }
func (d macDriver) Devices() ([]Device, error) { return []Device{&macDevice{d.device}}, nil }

// macDevice borrows the application's device.
type macDevice struct{ obj metal.DeviceObject }

func (d *macDevice) Release() {}

// https://developer.apple.com/documentation/metal/mtldevice
func (d *macDevice) Info() (i Info) {
	objc.WithAutoreleasePool(func() {
		i = Info{Name: d.obj.Name(), Registry: d.obj.RegistryID(), LowPower: d.obj.IsLowPower(), Unified: d.obj.HasUnifiedMemory(),
			Removable: d.obj.IsRemovable(), MaxBuffer: int64(d.obj.MaxBufferLength()), WorkingSet: int64(d.obj.RecommendedMaxWorkingSetSize()),
			ThreadgroupMemory: int64(d.obj.MaxThreadgroupMemoryLength()), SIMDMatrix: d.obj.SupportsFamily(metal.GPUFamilyApple7)}
		i.SIMDReduce = i.SIMDMatrix || d.obj.SupportsFamily(metal.GPUFamilyMac2)
	})
	return i
}

// macFailure reads an NSError that the callee autoreleased; call it inside the pool.
func macFailure(call string, slot unsafe.Pointer) *Error {
	if slot == nil {
		return &Error{Call: call, Text: "no object and no reason"}
	}
	o := objc.ObjectFrom(slot)
	return &Error{Call: call, Code: int64(objc.Call[int](o, objc.Sel("code"))), Domain: objc.Call[string](o, objc.Sel("domain")),
		Text: objc.Call[string](o, objc.Sel("localizedDescription"))}
}

// macSlot is memory for an NSError that stays in place while a callee writes it.
type macSlot struct {
	p   *unsafe.Pointer
	pin runtime.Pinner
}

func newMacSlot() *macSlot {
	s := &macSlot{p: new(unsafe.Pointer)}
	s.pin.Pin(s.p)
	return s
}

func (s *macSlot) address() unsafe.Pointer { return unsafe.Pointer(s.p) }
func (s *macSlot) free()                   { s.pin.Unpin() }

// macObject releases once.
type macObject struct {
	obj      objc.Object
	released bool
}

func (o *macObject) Release() {
	if !o.released && !o.obj.IsNil() {
		o.released = true
		objc.WithAutoreleasePool(o.obj.Release)
	}
}

// https://developer.apple.com/documentation/metal/mtldevice/makecommandqueue()
func (d *macDevice) NewQueue() (Queue, error) {
	q := &macQueue{}
	objc.WithAutoreleasePool(func() { q.queue = d.obj.NewCommandQueue() })
	if q.queue.IsNil() {
		return nil, &Error{Call: "newCommandQueue", Text: "the device has no more queues"}
	}
	q.obj = q.queue.Object
	return q, nil
}

// https://developer.apple.com/documentation/metal/mtldevice/makebuffer(length:options:)
func (d *macDevice) NewBuffer(bytes int64) (Buffer, error) {
	b := &macBuffer{}
	objc.WithAutoreleasePool(func() {
		b.obj = d.obj.NewBufferWithLengthOptions(uint(max(bytes, 1)), metal.ResourceStorageModeShared)
		if !b.obj.IsNil() {
			b.bytes = unsafe.Slice((*byte)(b.obj.Contents()), int(bytes))
		}
	})
	if b.obj.IsNil() {
		return nil, &Error{Call: "newBufferWithLength", Domain: CommandDomain, Code: CommandOutOfMemory, Text: "the system refused the memory"}
	}
	return b, nil
}

// https://developer.apple.com/documentation/metal/mtldevice/makesharedevent()
func (d *macDevice) NewEvent() (Event, error) {
	e := &macEvent{}
	objc.WithAutoreleasePool(func() { e.obj = d.obj.NewSharedEvent().Object })
	if e.obj.IsNil() {
		return nil, &Error{Call: "newSharedEvent", Text: "the device has no more events"}
	}
	return e, nil
}

// https://developer.apple.com/documentation/metal/mtldevice/makelibrary(source:options:)
func (d *macDevice) NewLibrary(source string) (Library, error) {
	l := &macLibrary{device: d}
	var failed *Error
	slot := newMacSlot()
	defer slot.free()
	objc.WithAutoreleasePool(func() {
		options := metal.NewCompileOptions()
		options.SetFastMathEnabled(false)
		options.SetLanguageVersion(metal.LanguageVersion2_4)
		l.lib = d.obj.NewLibraryWithSourceOptionsError(source, options, slot.address())
		if l.lib.IsNil() {
			failed = macFailure("newLibraryWithSource", *slot.p)
		}
	})
	if failed != nil {
		return nil, failed
	}
	l.obj = l.lib.Object
	return l, nil
}

type macEvent struct{ macObject }

type macBuffer struct {
	obj      metal.BufferObject
	bytes    []byte
	borrowed bool
	released bool
}

func (b *macBuffer) Bytes() []byte { return b.bytes }

func (b *macBuffer) Release() {
	if !b.borrowed && !b.released {
		b.released = true
		objc.WithAutoreleasePool(b.obj.Release)
	}
}

type macLibrary struct {
	macObject
	lib    metal.LibraryObject
	device *macDevice
}

// https://developer.apple.com/documentation/metal/mtldevice/makecomputepipelinestate(function:)
func (l *macLibrary) Pipeline(entry string, constants []uint32) (Pipeline, error) {
	p := &macPipeline{}
	var failed *Error
	slot := newMacSlot()
	defer slot.free()
	objc.WithAutoreleasePool(func() {
		values := metal.NewFunctionConstantValues()
		for i := range constants {
			values.SetConstantValueTypeAtIndex(unsafe.Pointer(&constants[i]), metal.DataTypeUInt, uint(i))
		}
		fn := l.lib.NewFunctionWithNameConstantValuesError(entry, values, slot.address())
		if fn.IsNil() {
			failed = macFailure("newFunctionWithName "+entry, *slot.p)
			return
		}
		defer fn.Release()
		p.state = l.device.obj.NewComputePipelineStateWithFunctionError(fn, slot.address())
		if p.state.IsNil() {
			failed = macFailure("newComputePipelineStateWithFunction "+entry, *slot.p)
			return
		}
		p.width = int(p.state.ThreadExecutionWidth())
		p.threads = int(p.state.MaxTotalThreadsPerThreadgroup())
		p.static = int64(p.state.StaticThreadgroupMemoryLength())
	})
	if failed != nil {
		return nil, failed
	}
	p.obj = p.state.Object
	return p, nil
}

type macPipeline struct {
	macObject
	state          metal.ComputePipelineStateObject
	width, threads int
	static         int64
}

func (p *macPipeline) Width() int          { return p.width }
func (p *macPipeline) MaxThreads() int     { return p.threads }
func (p *macPipeline) StaticMemory() int64 { return p.static }

type macQueue struct {
	macObject
	queue metal.CommandQueueObject
}

// CommandBuffer: autoreleased, retained here.
// https://developer.apple.com/documentation/metal/mtlcommandqueue/makecommandbuffer()
func (q *macQueue) CommandBuffer() (CommandBuffer, error) {
	c := &macCommandBuffer{}
	objc.WithAutoreleasePool(func() {
		c.cb = q.queue.CommandBuffer()
		if !c.cb.IsNil() {
			c.cb.Retain()
		}
	})
	if c.cb.IsNil() {
		return nil, &Error{Call: "commandBuffer", Text: "the queue gave none"}
	}
	c.obj = c.cb.Object
	return c, nil
}

type macCommandBuffer struct {
	macObject
	cb      metal.CommandBufferObject
	compute metal.ComputeCommandEncoderObject // retained while open
}

// end closes the open encoder; endEncoding is declared on the common protocol only.
func (c *macCommandBuffer) end() {
	if !c.compute.IsNil() {
		metal.CommandEncoderObject{Object: c.compute.Object}.EndEncoding()
		c.compute.Release()
		c.compute = metal.ComputeCommandEncoderObject{}
	}
}

// https://developer.apple.com/documentation/metal/mtlcomputecommandencoder
func (c *macCommandBuffer) Dispatch(d *Dispatch) (err error) {
	if len(d.Bytes) > maxBytes {
		return &Error{Call: "setBytes", Text: "more than 4096 bytes", Code: int64(len(d.Bytes))}
	}
	objc.WithAutoreleasePool(func() {
		if c.compute.IsNil() {
			c.compute = c.cb.ComputeCommandEncoder()
			if c.compute.IsNil() {
				err = &Error{Call: "computeCommandEncoder", Text: "the command buffer gave none"}
				return
			}
			c.compute.Retain()
		}
		c.compute.SetComputePipelineState(d.Pipeline.(*macPipeline).state)
		for i, b := range d.Buffers {
			c.compute.SetBufferOffsetAtIndex_(b.Buffer.(*macBuffer).obj, uint(b.Offset), uint(i))
		}
		if len(d.Bytes) > 0 {
			c.compute.SetBytesLengthAtIndex(unsafe.Pointer(unsafe.SliceData(d.Bytes)), uint(len(d.Bytes)), uint(len(d.Buffers)))
		}
		if d.Dynamic > 0 {
			c.compute.SetThreadgroupMemoryLengthAtIndex(uint(d.Dynamic), 0)
		}
		c.compute.DispatchThreadgroupsThreadsPerThreadgroup(macSize(d.Groups), macSize(d.ThreadsGroup))
	})
	return err
}

func macSize(s Size) metal.Size { return metal.Size{Width: s.X, Height: s.Y, Depth: s.Z} }

// https://developer.apple.com/documentation/metal/mtlblitcommandencoder
func (c *macCommandBuffer) Copy(dst Buffer, dstOff int64, src Buffer, srcOff, n int64) (err error) {
	objc.WithAutoreleasePool(func() {
		c.end()
		blit := c.cb.BlitCommandEncoder()
		if blit.IsNil() {
			err = &Error{Call: "blitCommandEncoder", Text: "the command buffer gave none"}
			return
		}
		blit.CopyFromBufferSourceOffsetToBufferDestinationOffsetSize(src.(*macBuffer).obj, uint(srcOff), dst.(*macBuffer).obj, uint(dstOff), uint(n))
		metal.CommandEncoderObject{Object: blit.Object}.EndEncoding()
	})
	return err
}

// https://developer.apple.com/documentation/metal/mtlcommandbuffer/encodesignalevent(_:value:)
func (c *macCommandBuffer) Signal(e Event, value uint64) error {
	objc.WithAutoreleasePool(func() {
		c.end()
		c.cb.EncodeSignalEventValue(metal.EventObject{Object: e.(*macEvent).obj}, value)
	})
	return nil
}

// https://developer.apple.com/documentation/metal/mtlcommandbuffer/encodewaitforevent(_:value:)
func (c *macCommandBuffer) WaitFor(e Event, value uint64) error {
	objc.WithAutoreleasePool(func() {
		c.end()
		c.cb.EncodeWaitForEventValue(metal.EventObject{Object: e.(*macEvent).obj}, value)
	})
	return nil
}

// https://developer.apple.com/documentation/metal/mtlcommandbuffer/commit()
func (c *macCommandBuffer) Commit() error {
	objc.WithAutoreleasePool(func() {
		c.end()
		c.cb.Commit()
	})
	return nil
}

// https://developer.apple.com/documentation/metal/mtlcommandbuffer/waituntilcompleted()
func (c *macCommandBuffer) Wait() error {
	var failed *Error
	objc.WithAutoreleasePool(func() {
		c.cb.WaitUntilCompleted()
		if c.cb.Status() == metal.CommandBufferStatusError {
			failed = macFailure("commandBuffer", c.cb.Error().Ptr())
		}
	})
	if failed != nil {
		return failed
	}
	return nil
}

// https://developer.apple.com/documentation/metal/mtlcommandbuffer/gpustarttime
func (c *macCommandBuffer) Times() (start, end float64) {
	objc.WithAutoreleasePool(func() { start, end = float64(c.cb.GPUStartTime()), float64(c.cb.GPUEndTime()) })
	return start, end
}

// Release ends an open encoder first: one that is deallocated while open is an error in Metal.
func (c *macCommandBuffer) Release() {
	objc.WithAutoreleasePool(c.end)
	c.macObject.Release()
}
