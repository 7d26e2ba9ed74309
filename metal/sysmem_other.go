//go:build !darwin && !linux

package metal

// availableMemory is 0: unknown here.
func availableMemory() int64 { return 0 }
