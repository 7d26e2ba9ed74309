//go:build race

package simd

import (
	"runtime"
	"unsafe"
)

// The race detector does not see assembly: its wrappers declare what it read and wrote.

func raceRead(p unsafe.Pointer, bytes int64) {
	if bytes > 0 {
		runtime.RaceReadRange(p, int(bytes))
	}
}

func raceWrite(p unsafe.Pointer, bytes int64) {
	if bytes > 0 {
		runtime.RaceWriteRange(p, int(bytes))
	}
}
