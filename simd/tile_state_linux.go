//go:build amd64 && !noasm

package simd

import (
	"sync"
	"syscall"
)

// tileState asks Linux, once in the life of the process, to keep 8 KiB of tile registers for
// each thread that uses them, and reports whether it does (since 5.16). Signal frames grow by
// that much for threads that are using tiles; Go's signal stacks of 32 KiB hold them, and the
// system refuses where an alternate stack of another runtime would not.
var tileState = sync.OnceValue(func() bool {
	const requestComponent, tileData = 0x1023, 18 // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
	_, _, e := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, requestComponent, tileData, 0)
	return e == 0
})
