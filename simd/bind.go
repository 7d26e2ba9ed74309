package simd

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// Body is a variant as data: how many independent tiles a launch has, and what runs over
// a range of them. The device splits the tiles among its workers, so no closure is made
// per launch and the bits of a result do not depend on the number of workers: a tile must
// not depend on another, and Finish combines in a fixed order.
type Body[A any] struct {
	// Tiles counts the tiles of a launch. A tile should be worth some 20 µs: one tile
	// runs on the caller's goroutine.
	Tiles func(*A, *backend.Call) int64
	// Start, if any, runs once before the tiles, on the caller's goroutine. It may do all of
	// them, and says so by setting Task.Lo to Task.Hi.
	Start func(*Task, *A)
	// Run does the tiles [t.Lo, t.Hi). It is called many times, by several workers at once.
	Run func(*Task, *A)
	// Finish, if any, runs once after all tiles, on the caller's goroutine.
	Finish func(*Task, *A)
	// Workspace is the bytes of Task.Scratch; nil is none. Monotone in every axis.
	Workspace func(*backend.Call) int64
	// Local is the bytes of Task.Local, of each worker; nil is none. Monotone in every axis.
	Local func(*backend.Call) int64
}

// Task is what one worker sees of a launch.
type Task struct {
	Call    *backend.Call
	Lo, Hi  int64  // tiles to run; in Start and Finish all of them
	Scratch []byte // workspace of the launch, shared by its workers; 64-byte aligned, not cleared
	Local   []byte // this worker's own; 64-byte aligned, not cleared
	tag     int
	status  *statusWord
}

// Fail sets the stream's status word: code is 1 to 15 as the kernel declares (15: offset
// out of range), operand its position in declaration order, index the flat element. The
// largest word wins, so that the report does not depend on the order of workers.
func (t *Task) Fail(code, operand int, index int64) {
	t.status.raise(code, operand, t.tag, index)
}

// variant is a body without its type.
type variant struct {
	binding   backend.Binding
	tiles     func(*backend.Call) int64
	start     func(*Task)
	run       func(*Task)
	finish    func(*Task)
	workspace func(*backend.Call) int64
	local     func(*backend.Call) int64
	clone     func(args any) any // a copy of the operand struct, for graphs
	kernel    kernel.Info
	tag       int // position in order of binding: names the variant in the status word
}

var table struct {
	sync.Mutex
	byTag    []*variant // append-only, filled at initialisation
	variants []*variant // the same, sorted
	sorted   bool
}

// Bind adds a variant of one instance of k. A body with the wrong operand struct does not
// compile; an instance that k does not have, a second variant of that name or a body
// without Tiles or Run panics at initialisation.
func Bind[A any](k *kernel.Kernel[A], b backend.Binding, body Body[A]) bool {
	if !slices.ContainsFunc(k.Instances(), func(i kernel.Instance) bool { return i.Name == b.Kernel }) {
		panic(fmt.Sprintf("simd: %s is no instance of %s", b.Kernel, k.Name()))
	}
	if body.Tiles == nil || body.Run == nil {
		panic(fmt.Sprintf("simd: %s/%s has no Tiles or no Run", b.Kernel, b.Variant))
	}
	v := &variant{
		binding:   b,
		tiles:     func(c *backend.Call) int64 { return body.Tiles(c.Args.(*A), c) },
		start:     typed(body.Start),
		run:       typed(body.Run),
		finish:    typed(body.Finish),
		workspace: body.Workspace,
		local:     body.Local,
		clone: func(args any) any {
			c := *args.(*A)
			return &c
		},
		kernel: k,
	}
	table.Lock()
	defer table.Unlock()
	for _, o := range table.variants {
		if o.binding.Kernel == b.Kernel && o.binding.Variant == b.Variant {
			panic(fmt.Sprintf("simd: %s/%s bound twice", b.Kernel, b.Variant))
		}
	}
	v.tag = len(table.byTag)
	table.byTag = append(table.byTag, v)
	table.variants, table.sorted = append(table.variants, v), false
	return true
}

// tagged is the kernel of a variant by its tag.
func tagged(tag int) kernel.Info {
	table.Lock()
	defer table.Unlock()
	return table.byTag[tag].kernel
}

// typed gives f its operand struct back; nil stays nil.
func typed[A any](f func(*Task, *A)) func(*Task) {
	if f == nil {
		return nil
	}
	return func(t *Task) { f(t, t.Call.Args.(*A)) }
}

// variants lists what is bound, by instance, the most demanding first.
func variants() []*variant {
	table.Lock()
	defer table.Unlock()
	if !table.sorted {
		slices.SortStableFunc(table.variants, func(a, b *variant) int {
			if c := strings.Compare(a.binding.Kernel, b.binding.Kernel); c != 0 {
				return c
			}
			if c := better(a.binding.Requires, b.binding.Requires); c != 0 {
				return c
			}
			return strings.Compare(a.binding.Variant, b.binding.Variant)
		})
		table.sorted = true
	}
	return table.variants
}

// Pointer is the address of the first element of an operand, nil if it is absent or
// empty. The kernel layer has checked that the view lies inside its buffer.
func Pointer(v *backend.View) unsafe.Pointer {
	b, ok := v.Buf.(*buffer)
	if !ok || v.Off >= int64(len(b.data)) {
		return nil
	}
	return unsafe.Pointer(&b.data[v.Off])
}

// Slice is an operand's memory as elements of type T, gaps between strided rows included;
// nil if it is absent or empty. Element (i, j) of a matrix is at i*v.RowStride()+j.
func Slice[T any](v *backend.View) []T {
	p := Pointer(v)
	if p == nil {
		return nil
	}
	n := v.Bytes() / int64(unsafe.Sizeof(*new(T)))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(p), n)
}

// Words views scratch bytes as elements of type T. Scratch is 64-byte aligned, so offsets
// that are multiples of the element size stay aligned.
func Words[T any](b []byte) []T {
	n := len(b) / int(unsafe.Sizeof(*new(T)))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// align64 rounds a byte count up to a cache line.
func align64(n int64) int64 { return (n + 63) &^ 63 }
