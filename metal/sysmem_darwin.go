package metal

import (
	"os"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// hostVMInfo64 is HOST_VM_INFO64; the statistics begin with the page counts free, active, inactive and wired.
const hostVMInfo64 = 4

// availableMemory is the bytes of free and inactive pages, which the system can give without swapping; 0 = unknown.
// https://developer.apple.com/documentation/kernel/1502863-host_statistics64
func availableMemory() int64 {
	lib, err := purego.Dlopen("/usr/lib/libSystem.B.dylib", purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return 0
	}
	self, err := purego.Dlsym(lib, "mach_host_self")
	if err != nil {
		return 0
	}
	statistics, err := purego.Dlsym(lib, "host_statistics64")
	if err != nil {
		return 0
	}
	port, _, _ := purego.SyscallN(self)
	info := new([128]uint32) // longer than any version of the struct
	count := new(uint32)
	*count = uint32(len(info))
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(info)
	pin.Pin(count)
	if r, _, _ := purego.SyscallN(statistics, port, hostVMInfo64, uintptr(unsafe.Pointer(info)), uintptr(unsafe.Pointer(count))); int32(r) != 0 {
		return 0
	}
	return (int64(info[0]) + int64(info[2])) * int64(os.Getpagesize())
}
