package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// pinned is the one compiler version whose output is committed. Its cubins have the form that every driver
// since CUDA 12 loads.
const pinned = "12.8.93"

// nvrtc is the runtime compiler, opened from the wheel.
type nvrtc struct {
	include []string

	createProgram  func(prog *uintptr, src, name string, n int32, headers, names uintptr) int32
	destroyProgram func(prog *uintptr) int32
	compileProgram func(prog uintptr, n int32, options **byte) int32
	logSize        func(prog uintptr, n *uint64) int32
	log            func(prog uintptr, b *byte) int32
	ptxSize        func(prog uintptr, n *uint64) int32
	ptx            func(prog uintptr, b *byte) int32
	cubinSize      func(prog uintptr, n *uint64) int32
	cubin          func(prog uintptr, b *byte) int32
	errorString    func(code int32) string
}

// openNVRTC opens the compiler below a folder that fetch.sh filled.
func openNVRTC(toolkit string) (*nvrtc, error) {
	info := filepath.Join(toolkit, "nvidia_cuda_nvrtc_cu12-"+pinned+".dist-info")
	if !exists(info) {
		return nil, fmt.Errorf("no nvrtc %s in %s: run cuda/_gen/fetch.sh", pinned, toolkit)
	}
	lib := filepath.Join(toolkit, "nvidia/cuda_nvrtc/lib/libnvrtc.so.12")
	h, err := purego.Dlopen(lib, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, err
	}
	n := &nvrtc{include: []string{
		"-I" + filepath.Join(toolkit, "nvidia/cuda_runtime/include"),
		"-I" + filepath.Join(toolkit, "nvidia/cuda_nvcc/include"),
	}}
	for _, f := range []struct {
		name string
		fn   any
	}{
		{"nvrtcCreateProgram", &n.createProgram}, {"nvrtcDestroyProgram", &n.destroyProgram},
		{"nvrtcCompileProgram", &n.compileProgram}, {"nvrtcGetErrorString", &n.errorString},
		{"nvrtcGetProgramLogSize", &n.logSize}, {"nvrtcGetProgramLog", &n.log},
		{"nvrtcGetPTXSize", &n.ptxSize}, {"nvrtcGetPTX", &n.ptx},
		{"nvrtcGetCUBINSize", &n.cubinSize}, {"nvrtcGetCUBIN", &n.cubin},
	} {
		purego.RegisterLibFunc(f.fn, h, f.name)
	}
	return n, nil
}

// compile returns the object and the compiler's log. The log is returned with an error as well.
func (n *nvrtc) compile(name, code, target string, options []string) (object []byte, log string, err error) {
	var prog uintptr
	if rc := n.createProgram(&prog, code, name, 0, 0, 0); rc != 0 {
		return nil, "", fmt.Errorf("%s: create: %s", name, n.errorString(rc))
	}
	defer n.destroyProgram(&prog)
	options = append([]string{"--gpu-architecture=" + target}, options...)
	options = append(options, n.include...)
	c := make([]*byte, len(options))
	for i, o := range options {
		b := append([]byte(o), 0)
		c[i] = unsafe.SliceData(b)
	}
	rc := n.compileProgram(prog, int32(len(c)), &c[0])
	var size uint64
	n.logSize(prog, &size)
	if size > 1 {
		b := make([]byte, size)
		n.log(prog, &b[0])
		log = strings.TrimRight(string(b), "\x00")
	}
	if rc != 0 {
		return nil, log, fmt.Errorf("%s: %s: %s", name, target, n.errorString(rc))
	}
	sizeOf, get := n.cubinSize, n.cubin
	if strings.HasPrefix(target, "compute_") {
		sizeOf, get = n.ptxSize, n.ptx
	}
	if rc := sizeOf(prog, &size); rc != 0 || size == 0 {
		return nil, log, fmt.Errorf("%s: %s: object of %d bytes: %s", name, target, size, n.errorString(rc))
	}
	object = make([]byte, size)
	if rc := get(prog, &object[0]); rc != 0 {
		return nil, log, fmt.Errorf("%s: %s: %s", name, target, n.errorString(rc))
	}
	if strings.HasPrefix(target, "compute_") {
		object = []byte(strings.TrimRight(string(object), "\x00"))
	}
	return object, log, nil
}
