package mtl

import "runtime"

type queue struct{ object }

// CommandBuffer: autoreleased, retained here. It retains the resources that it uses.
// https://developer.apple.com/documentation/metal/mtlcommandqueue/makecommandbuffer()
func (q *queue) CommandBuffer() (CommandBuffer, error) {
	c := &commandBuffer{object: object{m: q.m}}
	q.m.pooled(func() { c.id = q.m.retain(q.m.send(q.id, "commandBuffer")) })
	if c.id == 0 {
		return nil, &Error{Call: "commandBuffer", Text: "the queue gave none"}
	}
	return c, nil
}

// commandBuffer keeps the encoder that is open: one compute encoder serves successive launches, and the serial
// dispatch type makes each see the writes of those before.
type commandBuffer struct {
	object
	compute uintptr // retained
}

// encoder opens the compute encoder: autoreleased, retained here.
// https://developer.apple.com/documentation/metal/mtlcommandbuffer/makecomputecommandencoder()
func (c *commandBuffer) encoder() error {
	if c.compute != 0 {
		return nil
	}
	if c.compute = c.m.retain(c.m.send(c.id, "computeCommandEncoder")); c.compute == 0 {
		return &Error{Call: "computeCommandEncoder", Text: "the command buffer gave none"}
	}
	return nil
}

// end closes the open encoder; a command buffer may have one at a time.
// https://developer.apple.com/documentation/metal/mtlcommandencoder/endencoding()
func (c *commandBuffer) end() {
	if c.compute != 0 {
		c.m.send(c.compute, "endEncoding")
		c.m.release(c.compute)
		c.compute = 0
	}
}

// Dispatch: pipeline and buffers are borrowed and retained by the command buffer; bytes are copied.
// https://developer.apple.com/documentation/metal/mtlcomputecommandencoder
func (c *commandBuffer) Dispatch(d *Dispatch) (err error) {
	if len(d.Bytes) > maxBytes {
		return &Error{Call: "setBytes", Text: "more than 4096 bytes", Code: int64(len(d.Bytes))}
	}
	c.m.pooled(func() {
		if err = c.encoder(); err != nil {
			return
		}
		c.m.send(c.compute, "setComputePipelineState:", d.Pipeline.(*pipeline).id)
		for i := range d.Buffers {
			c.m.send(c.compute, "setBuffer:offset:atIndex:", d.Buffers[i].Buffer.(*buffer).id, uintptr(d.Buffers[i].Offset), uintptr(i))
		}
		if len(d.Bytes) > 0 {
			c.m.send(c.compute, "setBytes:length:atIndex:", c.m.rt.Words(d.Bytes), uintptr(len(d.Bytes)), uintptr(len(d.Buffers)))
		}
		if d.Dynamic > 0 {
			c.m.send(c.compute, "setThreadgroupMemoryLength:atIndex:", uintptr(d.Dynamic), 0)
		}
		c.m.rt.Sizes(c.compute, c.m.sel["dispatchThreadgroups:threadsPerThreadgroup:"], d.Groups, d.ThreadsGroup)
	})
	runtime.KeepAlive(d)
	return err
}

// Copy: the blit encoder is autoreleased and ends here; buffers are borrowed.
// https://developer.apple.com/documentation/metal/mtlblitcommandencoder/copy(from:sourceoffset:to:destinationoffset:size:)
func (c *commandBuffer) Copy(dst Buffer, dstOff int64, src Buffer, srcOff, n int64) (err error) {
	c.m.pooled(func() {
		c.end()
		blit := c.m.send(c.id, "blitCommandEncoder")
		if blit == 0 {
			err = &Error{Call: "blitCommandEncoder", Text: "the command buffer gave none"}
			return
		}
		c.m.send(blit, "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:",
			src.(*buffer).id, uintptr(srcOff), dst.(*buffer).id, uintptr(dstOff), uintptr(n))
		c.m.send(blit, "endEncoding")
	})
	return err
}

// Signal: the event is borrowed and retained by the command buffer.
// https://developer.apple.com/documentation/metal/mtlcommandbuffer/encodesignalevent(_:value:)
func (c *commandBuffer) Signal(e Event, value uint64) error {
	c.m.pooled(func() {
		c.end()
		c.m.send(c.id, "encodeSignalEvent:value:", e.(*object).id, uintptr(value))
	})
	return nil
}

// WaitFor: the event is borrowed and retained by the command buffer.
// https://developer.apple.com/documentation/metal/mtlcommandbuffer/encodewaitforevent(_:value:)
func (c *commandBuffer) WaitFor(e Event, value uint64) error {
	c.m.pooled(func() {
		c.end()
		c.m.send(c.id, "encodeWaitForEvent:value:", e.(*object).id, uintptr(value))
	})
	return nil
}

// Commit: https://developer.apple.com/documentation/metal/mtlcommandbuffer/commit()
func (c *commandBuffer) Commit() error {
	c.m.pooled(func() {
		c.end()
		c.m.send(c.id, "commit")
	})
	return nil
}

// Wait blocks the thread instead of installing a completion handler: a handler would run on a thread of the system's
// that has no pool of ours. The error is borrowed from the command buffer.
// https://developer.apple.com/documentation/metal/mtlcommandbuffer/waituntilcompleted()
func (c *commandBuffer) Wait() error {
	var failed *Error
	c.m.pooled(func() {
		c.m.send(c.id, "waitUntilCompleted")
		if c.m.send(c.id, "status") == statusError {
			failed = c.m.failure("commandBuffer", c.m.send(c.id, "error"))
		}
	})
	if failed != nil {
		return failed
	}
	return nil
}

// Times: https://developer.apple.com/documentation/metal/mtlcommandbuffer/gpustarttime
func (c *commandBuffer) Times() (start, end float64) {
	c.m.pooled(func() {
		start = c.m.rt.Float64(c.id, c.m.sel["GPUStartTime"])
		end = c.m.rt.Float64(c.id, c.m.sel["GPUEndTime"])
	})
	return start, end
}

// Release ends an open encoder first: one that is deallocated while open is an error in Metal.
func (c *commandBuffer) Release() {
	c.once.Do(func() {
		c.m.pooled(func() {
			c.end()
			c.m.release(c.id)
		})
	})
}
