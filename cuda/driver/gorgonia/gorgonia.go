//go:build gorgonia && linux && (amd64 || arm64)

package gorgonia

import (
	"reflect"
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/likbench/likbench/cuda/driver"
)

// api calls cu where cu has the function, and the run-time table on the same handles where it has not: page-locked
// memory, graphs, clusters, tensor maps, large shared memory, and loading a function before its first launch.
type api struct{ driver.API }

// Open returns the driver.
func Open() (driver.API, error) {
	table, err := driver.Open()
	if err != nil {
		return nil, err
	}
	return api{table}, nil
}

// Context is the handle of a context of cu's.
func Context(c cu.CUContext) driver.Context { return *(*driver.Context)(unsafe.Pointer(&c)) }

// Pointer is the address of memory of cu's.
func Pointer(p cu.DevicePtr) driver.Pointer { return driver.Pointer(p) }

// The handles of cu are structs of one pointer.
func context(c driver.Context) cu.CUContext  { return *(*cu.CUContext)(unsafe.Pointer(&c)) }
func stream(s driver.Stream) cu.Stream       { return *(*cu.Stream)(unsafe.Pointer(&s)) }
func event(e driver.Event) cu.Event          { return *(*cu.Event)(unsafe.Pointer(&e)) }
func module(m driver.Module) cu.Module       { return *(*cu.Module)(unsafe.Pointer(&m)) }
func function(f driver.Function) cu.Function { return *(*cu.Function)(unsafe.Pointer(&f)) }
func fromStream(s cu.Stream) driver.Stream   { return *(*driver.Stream)(unsafe.Pointer(&s)) }
func fromEvent(e cu.Event) driver.Event      { return *(*driver.Event)(unsafe.Pointer(&e)) }
func fromModule(m cu.Module) driver.Module   { return *(*driver.Module)(unsafe.Pointer(&m)) }

// status is the driver's result inside an error of cu, whose type is a number that it does not export.
func status(err error) driver.Status {
	if err == nil {
		return driver.Success
	}
	if v := reflect.ValueOf(err); v.CanInt() {
		return driver.Status(v.Int())
	}
	return driver.Unknown
}

func (api) Path() string { return "gorgonia.org/cu" }

func (api) Push(c driver.Context) driver.Status { return status(cu.PushCurrentCtx(context(c))) }

func (api) Pop() driver.Status {
	_, err := cu.PopCurrentCtx()
	return status(err)
}

func (api) Current() (driver.Context, driver.Status) {
	c, err := cu.CurrentContext()
	return Context(c), status(err)
}

func (api) MemInfo() (free, total int64, s driver.Status) {
	free, total, err := cu.MemInfo()
	return free, total, status(err)
}

func (api) MemAlloc(bytes int64) (driver.Pointer, driver.Status) {
	p, err := cu.MemAlloc(bytes)
	return Pointer(p), status(err)
}

func (api) MemFree(p driver.Pointer) driver.Status { return status(cu.MemFree(cu.DevicePtr(p))) }

func (api) CopyIn(dst driver.Pointer, src unsafe.Pointer, bytes int64, s driver.Stream) driver.Status {
	return status(cu.MemcpyHtoDAsync(cu.DevicePtr(dst), src, bytes, stream(s)))
}

func (api) CopyOut(dst unsafe.Pointer, src driver.Pointer, bytes int64, s driver.Stream) driver.Status {
	return status(cu.MemcpyDtoHAsync(dst, cu.DevicePtr(src), bytes, stream(s)))
}

func (api) Copy(dst, src driver.Pointer, bytes int64, s driver.Stream) driver.Status {
	return status(cu.MemcpyDtoDAsync(cu.DevicePtr(dst), cu.DevicePtr(src), bytes, stream(s)))
}

func (api) Fill(dst driver.Pointer, value uint8, bytes int64, s driver.Stream) driver.Status {
	return status(cu.MemsetD8Async(cu.DevicePtr(dst), value, bytes, stream(s)))
}

func (api) StreamCreate() (driver.Stream, driver.Status) {
	s, err := cu.MakeStream(cu.NonBlocking)
	return fromStream(s), status(err)
}

func (api) StreamDestroy(s driver.Stream) driver.Status {
	h := stream(s)
	return status(h.Destroy())
}

func (api) StreamSync(s driver.Stream) driver.Status { return status(stream(s).Synchronize()) }

func (api) StreamWait(s driver.Stream, e driver.Event) driver.Status {
	return status(stream(s).Wait(event(e), 0))
}

func (api) EventCreate(timing bool) (driver.Event, driver.Status) {
	flags := cu.DisableTiming
	if timing {
		flags = cu.DefaultEvent
	}
	e, err := cu.MakeEvent(flags)
	return fromEvent(e), status(err)
}

func (api) EventDestroy(e driver.Event) driver.Status {
	h := event(e)
	return status(cu.DestroyEvent(&h))
}

func (api) EventRecord(e driver.Event, s driver.Stream) driver.Status {
	return status(event(e).Record(stream(s)))
}

func (api) EventSync(e driver.Event) driver.Status { return status(event(e).Synchronize()) }

func (api) EventElapsed(from, to driver.Event) (float32, driver.Status) {
	ms, err := event(from).Elapsed(event(to))
	return float32(ms), status(err)
}

func (api) ModuleLoad(image []byte) (driver.Module, driver.Status) {
	m, err := cu.LoadData(string(image))
	return fromModule(m), status(err)
}

func (api) ModuleUnload(m driver.Module) driver.Status { return status(module(m).Unload()) }

// params are the addresses of an argument block's words.
type params [96]unsafe.Pointer

var pool = sync.Pool{New: func() any { return new(params) }}

// Launch passes the block of n words as n parameters. cu copies each as 8 bytes into one array, and the driver
// reads the kernel's single struct from the first of them, so it arrives whole. Clusters, early starts and tensor maps, for
// which that does not work, go through the run-time table.
func (a api) Launch(l *driver.Launch) driver.Status {
	if l.NParams > 1 || l.Cluster[0] != 0 || l.Early || l.Words > len(params{}) {
		return a.API.Launch(l)
	}
	p := pool.Get().(*params)
	defer pool.Put(p)
	for i := range l.Words {
		p[i] = unsafe.Add(l.Params[0], 8*i)
	}
	return status(function(l.Function).Launch(int(l.Grid[0]), int(l.Grid[1]), int(l.Grid[2]),
		int(l.Block[0]), int(l.Block[1]), int(l.Block[2]), int(l.Shared), stream(l.Stream), p[:l.Words]))
}
