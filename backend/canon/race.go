//go:build race

package canon

import (
	"runtime"
	"unsafe"
)

// raceRead tells the race detector what the assembly reads.
func raceRead(x []float32) {
	if len(x) > 0 {
		runtime.RaceReadRange(unsafe.Pointer(&x[0]), 4*len(x))
	}
}
