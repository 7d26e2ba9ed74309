package fake

type message struct {
	id            uintptr
	o             *object
	a, b, c, d, e uintptr
}

func flag(b bool) uintptr {
	if b {
		return 1
	}
	return 0
}

func either(v, otherwise int64) uintptr {
	if v != 0 {
		return uintptr(v)
	}
	return uintptr(otherwise)
}

func nothing(*Runtime, *message) uintptr { return 0 }

// handlers are the answers to messages, called with the lock held.
var handlers = map[string]func(*Runtime, *message) uintptr{
	"retain":         func(r *Runtime, m *message) uintptr { m.o.refs++; return m.id },
	"release":        func(r *Runtime, m *message) uintptr { r.release(m.id); return 0 },
	"new":            func(r *Runtime, m *message) uintptr { return r.add(&object{class: m.o.class}) },
	"count":          func(r *Runtime, m *message) uintptr { return uintptr(len(m.o.items)) },
	"objectAtIndex:": func(r *Runtime, m *message) uintptr { return m.o.items[m.a] },

	"name":                         func(r *Runtime, m *message) uintptr { return r.autorelease(r.add(&object{text: m.o.dev.Name})) },
	"registryID":                   func(r *Runtime, m *message) uintptr { return m.id },
	"isLowPower":                   func(r *Runtime, m *message) uintptr { return flag(m.o.dev.LowPower) },
	"hasUnifiedMemory":             func(r *Runtime, m *message) uintptr { return 1 },
	"isRemovable":                  nothing,
	"maxBufferLength":              func(r *Runtime, m *message) uintptr { return either(m.o.dev.MaxBuffer, 1<<30) },
	"recommendedMaxWorkingSetSize": func(r *Runtime, m *message) uintptr { return either(m.o.dev.WorkingSet, 4<<30) },
	"maxThreadgroupMemoryLength":   func(r *Runtime, m *message) uintptr { return 32 << 10 },
	"supportsFamily:":              func(r *Runtime, m *message) uintptr { return flag(!m.o.dev.NoSIMD) },

	"newCommandQueue":              func(r *Runtime, m *message) uintptr { return r.add(&object{class: "MTLCommandQueue"}) },
	"newSharedEvent":               func(r *Runtime, m *message) uintptr { return r.add(&object{class: "MTLSharedEvent"}) },
	"newBufferWithLength:options:": (*Runtime).newBuffer,
	"contents":                     func(r *Runtime, m *message) uintptr { return m.o.at },

	"setFastMathEnabled:": nothing, "setLanguageVersion:": nothing, "setConstantValue:type:atIndex:": nothing,
	"newLibraryWithSource:options:error:": func(r *Runtime, m *message) uintptr {
		if r.config.CompileError != "" {
			return r.failure(m.c, r.config.CompileError)
		}
		return r.add(&object{class: "MTLLibrary"})
	},
	"newFunctionWithName:constantValues:error:": func(r *Runtime, m *message) uintptr {
		if r.config.NoFunction {
			return r.failure(m.c, "no function "+r.objects[m.a].text)
		}
		return r.add(&object{class: "MTLFunction"})
	},
	"newComputePipelineStateWithFunction:error:": func(r *Runtime, m *message) uintptr {
		return r.add(&object{class: "MTLComputePipelineState"})
	},
	"threadExecutionWidth":          func(r *Runtime, m *message) uintptr { return either(int64(r.config.Width), 32) },
	"maxTotalThreadsPerThreadgroup": func(r *Runtime, m *message) uintptr { return either(int64(r.config.MaxThreads), 1024) },
	"staticThreadgroupMemoryLength": nothing,
	"commandBuffer":                 func(r *Runtime, m *message) uintptr { return r.autorelease(r.add(&object{class: "MTLCommandBuffer"})) },
	"computeCommandEncoder": func(r *Runtime, m *message) uintptr {
		return r.autorelease(r.add(&object{class: "MTLComputeCommandEncoder"}))
	},
	"blitCommandEncoder":                  (*Runtime).newBlit,
	"endEncoding":                         nothing,
	"setComputePipelineState:":            (*Runtime).borrow,
	"setBuffer:offset:atIndex:":           (*Runtime).borrow,
	"setBytes:length:atIndex:":            nothing,
	"setThreadgroupMemoryLength:atIndex:": nothing,
	"copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:": (*Runtime).copy,
	"encodeSignalEvent:value:":                                     (*Runtime).borrow,
	"encodeWaitForEvent:value:":                                    (*Runtime).borrow,
	"commit":                                                       (*Runtime).commit,
	"waitUntilCompleted":                                           nothing,
	"status": func(r *Runtime, m *message) uintptr {
		if m.o.fail {
			return 5 // MTLCommandBufferStatusError
		}
		return 4 // MTLCommandBufferStatusCompleted
	},
	"error": func(r *Runtime, m *message) uintptr {
		return r.autorelease(r.add(&object{class: "NSError", text: "the command buffer failed"}))
	},
	"code": func(r *Runtime, m *message) uintptr { return uintptr(r.config.CommandError) },
	"domain": func(r *Runtime, m *message) uintptr {
		return r.autorelease(r.add(&object{text: "MTLCommandBufferErrorDomain"}))
	},
	"localizedDescription": func(r *Runtime, m *message) uintptr { return r.autorelease(r.add(&object{text: m.o.text})) },
}

func (r *Runtime) newBuffer(m *message) uintptr {
	n := int64(m.a)
	if r.config.BufferBytes > 0 && r.used+n > r.config.BufferBytes {
		return 0
	}
	r.used += n
	r.next += 16
	at := r.next
	r.memory[at] = make([]byte, n)
	return r.add(&object{class: "MTLBuffer", at: at, bytes: n})
}

// newBlit makes an encoder whose copies join the work of its command buffer.
func (r *Runtime) newBlit(m *message) uintptr {
	return r.autorelease(r.add(&object{class: "MTLBlitCommandEncoder", parent: m.o}))
}

// borrow counts a message whose argument is a deallocated object.
func (r *Runtime) borrow(m *message) uintptr {
	if r.objects[m.a] == nil {
		r.counts.Overreleases++
	}
	return 0
}

func (r *Runtime) copy(m *message) uintptr {
	src, dst := r.objects[m.a], r.objects[m.c]
	if src == nil || dst == nil {
		r.counts.Overreleases++
		return 0
	}
	m.o.parent.work = append(m.o.parent.work, func() {
		copy(r.memory[dst.at][m.d:m.d+m.e], r.memory[src.at][m.b:m.b+m.e])
	})
	return 0
}

func (r *Runtime) commit(m *message) uintptr {
	r.counts.Commits++
	for _, w := range m.o.work {
		w()
	}
	m.o.work = nil
	m.o.fail = r.config.CommandError != 0
	return 0
}
